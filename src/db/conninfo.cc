#include "db/conninfo.h"

#include <libpq-fe.h>

#include <cstdlib>
#include <map>
#include <memory>

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
  std::string whole;
  for (const auto& [keyword, value] : keywords)
    whole += (whole.empty() ? "" : " ") + keyword + "=" + Quoted(value);
  return whole;
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
