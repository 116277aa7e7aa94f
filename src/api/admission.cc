#include "api/admission.h"

#include <grp.h>
#include <pwd.h>
#include <sql/admin.h>

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

json UserFacts(db::Tx& tx, const std::string& user) {
  json facts = json::parse(tx.Exec(sql::admin::kUserFacts, user)[0][0].as<std::string>());
  facts["name"] = user;
  facts["groups"] = GroupsOf(user);
  return facts;
}

}  // namespace

Admission LoadAdmission(db::Tx& tx, const std::string& user) {
  Admission admission;
  for (const auto& row : tx.Exec(sql::admin::kLoadRules)) {
    rules::Rule rule;
    rule.id = row[0].as<std::int64_t>();
    rule.name = row[1].as<std::string>();
    rule.code = row[2].as<std::string>();
    rule.priority = row[3].as<int>();
    rule.mode = rules::ModeFromString(row[4].as<std::string>()).value();
    admission.rules.push_back(std::move(rule));
  }
  admission.user = UserFacts(tx, user);
  admission.grid = json::parse(tx.Exec(sql::admin::kGridFacts)[0][0].as<std::string>());
  admission.told_broken = tx.Exec(sql::admin::kAnyRuleBroken)[0][0].as<bool>();
  return admission;
}

void InstallShippedRules(db::Tx& tx) {
  tx.Exec(sql::admin::kActAs, "cigri");
  for (const auto& rule : rules::ShippedRules())
    tx.Exec(sql::admin::kInstallRule, rule.name, rule.title, rule.code, rule.priority,
            std::string(rules::ToString(rule.mode)));
}

}  // namespace cigri::api
