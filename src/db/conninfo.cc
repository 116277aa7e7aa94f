#include "db/conninfo.h"

#include <libpq-fe.h>

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

void NoteSession(const std::string& server) {
  const std::lock_guard lock(g_last_mutex);
  g_last_server = server;
}

std::string LikelyServersFirst(const std::string& conninfo) {
  Keywords keywords = KeywordsOf(conninfo);
  const auto hosts = Split(keywords["host"], ',');
  auto ports = Split(keywords["port"], ',');
  if (ports.size() == 1) ports.resize(hosts.size(), ports[0]);
  if (hosts.size() < 2 || ports.size() != hosts.size() || keywords.count("hostaddr") != 0)
    return conninfo;  // nothing to choose, or libpq's message says what is wrong
  std::vector<std::pair<std::string, std::string>> servers;
  for (std::size_t i = 0; i < hosts.size(); ++i) servers.emplace_back(hosts[i], ports[i]);
  const std::string last = LastServer();
  const auto place = [&](const auto& server) {
    const auto name = ServerName(server.first, server.second);
    return WasSilent(name) ? 2 : name == last ? 0 : 1;
  };
  const auto before = [&](const auto& a, const auto& b) { return place(a) < place(b); };
  if (std::is_sorted(servers.begin(), servers.end(), before)) return conninfo;
  std::stable_sort(servers.begin(), servers.end(), before);
  std::vector<std::string> ordered_hosts, ordered_ports;
  for (const auto& [host, port] : servers) {
    ordered_hosts.push_back(host);
    ordered_ports.push_back(port);
  }
  keywords["host"] = Join(ordered_hosts, ",");
  keywords["port"] = Join(ordered_ports, ",");
  return Written(keywords);
}

void ExportConninfo(const std::string& conninfo) {
  const std::unique_ptr<PQconninfoOption, FreeOptions> options(
      PQconninfoParse(conninfo.c_str(), nullptr));
  for (const auto* option = options.get(); option != nullptr && option->keyword != nullptr;
       ++option)
    if (option->val != nullptr && option->envvar != nullptr)
      setenv(option->envvar, option->val, 1);
}

}  // namespace cigri::db
