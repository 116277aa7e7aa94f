#include "db/conninfo.h"

#include <libpq-fe.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>

#include "core/text.h"
#include "db/deadline.h"

namespace cigri::db {
namespace {

using Keywords = std::map<std::string, std::string>;
struct FreeOptions {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};

// What `conninfo` itself says, without the environment.
Keywords KeywordsOf(const std::string& conninfo) {
  Keywords keywords;
  const std::unique_ptr<PQconninfoOption, FreeOptions> options(
      PQconninfoParse(conninfo.c_str(), nullptr));
  for (const auto* option = options.get(); option != nullptr && option->keyword != nullptr;
       ++option)
    if (option->val != nullptr) keywords[option->keyword] = option->val;
  return keywords;
}

std::string Quoted(const std::string& value) {
  std::string quoted = "'";
  for (const char c : value) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

bool NamesSeveralHosts(const Keywords& keywords) {
  for (const char* keyword : {"host", "hostaddr"}) {
    const auto given = keywords.find(keyword);
    if (given != keywords.end() && given->second.find(',') != std::string::npos) return true;
  }
  const char* host = std::getenv("PGHOST");
  return host != nullptr && std::string(host).find(',') != std::string::npos;
}

std::string Written(const Keywords& keywords) {
  std::string whole;
  for (const auto& [keyword, value] : keywords)
    whole += (whole.empty() ? "" : " ") + keyword + "=" + Quoted(value);
  return whole;
}

std::mutex g_last_mutex;
std::string g_last_server;

std::string LastServer() {
  const std::lock_guard lock(g_last_mutex);
  return g_last_server;
}

}  // namespace

std::string WithConnectionDefaults(const std::string& conninfo) {
  Keywords keywords = KeywordsOf(conninfo);
  if (keywords.empty() && !conninfo.empty()) return conninfo;
  keywords.insert({{"connect_timeout", "3"},
                   {"keepalives_idle", "10"},
                   {"keepalives_interval", "5"},
                   {"keepalives_count", "3"},
                   {"tcp_user_timeout", "10000"}});
  if (NamesSeveralHosts(keywords)) keywords.insert({"target_session_attrs", "read-write"});
  return Written(keywords);
}

std::string WithEnvironment(const std::string& conninfo) {
  Keywords keywords = KeywordsOf(conninfo);
  if (keywords.empty() && !conninfo.empty()) return conninfo;
  const std::unique_ptr<PQconninfoOption, FreeOptions> options(PQconndefaults());
  for (const auto* option = options.get(); option != nullptr && option->keyword != nullptr;
       ++option) {
    const char* value = option->envvar == nullptr ? nullptr : std::getenv(option->envvar);
    if (value != nullptr && *value != '\0') keywords.insert({option->keyword, value});
  }
  return Written(keywords);
}

void NoteSession(const std::string& server) {
  const std::lock_guard lock(g_last_mutex);
  g_last_server = server;
}

std::vector<Server> ServersOf(const std::string& conninfo) {
  Keywords keywords = KeywordsOf(conninfo);
  const auto hosts = Split(keywords["host"], ',');
  auto ports = Split(keywords["port"], ',');
  if (ports.size() == 1) ports.resize(hosts.size(), ports[0]);
  if (hosts.size() != ports.size() || keywords.count("hostaddr") != 0) return {};
  const std::chrono::seconds timeout(std::atoi(keywords["connect_timeout"].c_str()));
  std::vector<Server> servers;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    keywords["host"] = hosts[i];
    keywords["port"] = ports[i];
    servers.push_back({hosts[i], ports[i], Written(keywords), timeout});
  }
  return servers;
}

std::string LastServerFirst(const std::string& conninfo) {
  auto servers = ServersOf(conninfo);
  const std::string last = LastServer();
  const auto is_last = [&](const Server& server) {
    return ServerName(server.host, server.port) == last;
  };
  if (std::is_partitioned(servers.begin(), servers.end(), is_last)) return conninfo;
  std::stable_partition(servers.begin(), servers.end(), is_last);
  std::vector<std::string> hosts, ports;
  for (const auto& server : servers) {
    hosts.push_back(server.host);
    ports.push_back(server.port);
  }
  Keywords keywords = KeywordsOf(conninfo);
  keywords["host"] = Join(hosts, ",");
  keywords["port"] = Join(ports, ",");
  return Written(keywords);
}

std::vector<std::string> EnvironmentOf(const std::string& conninfo) {
  const std::unique_ptr<PQconninfoOption, FreeOptions> options(
      PQconninfoParse(conninfo.c_str(), nullptr));
  std::vector<std::string> lines;
  for (const auto* option = options.get(); option != nullptr && option->keyword != nullptr;
       ++option)
    if (option->val != nullptr && option->envvar != nullptr)
      lines.push_back(std::string(option->envvar) + "=" + option->val);
  // Of a name that is there twice, getenv() finds the first.
  for (char** line = environ; *line != nullptr; ++line) lines.emplace_back(*line);
  return lines;
}

}  // namespace cigri::db
