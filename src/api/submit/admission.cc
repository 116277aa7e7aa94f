#include "api/submit/admission.h"

#include <grp.h>
#include <pwd.h>
#include <sql/admission_rules.h>
#include <sql/events.h>
#include <sql/grid.h>

namespace cigri::api {
namespace {

using nlohmann::json;

std::string GroupName(gid_t gid) {
  char buffer[16384];
  group row{}, *found = nullptr;
  if (getgrgid_r(gid, &row, buffer, sizeof buffer, &found) == 0 && found != nullptr)
    return row.gr_name;
  return std::to_string(gid);
}

// Groups on the API's host; none for users that only exist elsewhere.
json GroupsOf(const std::string& user) {
  char buffer[16384];
  passwd row{}, *found = nullptr;
  json names = json::array();
  if (getpwnam_r(user.c_str(), &row, buffer, sizeof buffer, &found) != 0 || found == nullptr)
    return names;
  std::vector<gid_t> gids(1024);
  int n = static_cast<int>(gids.size());
  if (getgrouplist(user.c_str(), row.pw_gid, gids.data(), &n) < 0) n = 0;
  for (int i = 0; i < n; ++i) names.push_back(GroupName(gids[static_cast<std::size_t>(i)]));
  return names;
}

json UserInfo(db::Tx& tx, const std::string& user) {
  json info = json::parse(tx.One(sql::kUserFactsForRules, user).item);
  info["name"] = user;
  info["groups"] = GroupsOf(user);
  return info;
}

}  // namespace

Admission LoadAdmission(db::Tx& tx, const std::string& user) {
  Admission admission;
  for (const auto& row : tx.Exec(sql::kLoadRules)) {
    rules::Rule rule;
    rule.id = row.id;
    rule.name = row.name;
    rule.code = row.code;
    rule.priority = row.priority;
    rule.mode = rules::ModeFromString(row.mode).value();
    admission.rules.push_back(std::move(rule));
  }
  admission.user = UserInfo(tx, user);
  admission.grid = json::parse(tx.One(sql::kGridFactsForRules).item);
  admission.reported_broken = tx.One(sql::kAnyRuleBroken).any;
  return admission;
}

void InstallShippedRules(db::Tx& tx) {
  tx.Exec(sql::kSetAuditUser, "cigri");
  for (const auto& rule : rules::ShippedRules())
    tx.Exec(sql::kInstallRule, rule.name, rule.title, rule.code, rule.priority,
            std::string(rules::ToString(rule.mode)));
}

}  // namespace cigri::api
