#include "api/admission.h"

<<<<<<< HEAD
#include "core/log.h"
=======
#include <grp.h>
#include <pwd.h>
#include <sql/admin.h>
>>>>>>> main

namespace cigri::api {
namespace {

<<<<<<< HEAD
constexpr char kTitle[] = "Admission rule error";

Fault ToApi(const jdl::Fault& f) { return {f.line, f.column, f.key, f.message, f.hint}; }

// Rules may change what a campaign is, not whose it is nor how much.
nlohmann::json WithoutFrozen(nlohmann::json campaign) {
  for (const char* key : {"id", "user", "jobs"}) campaign.erase(key);
  return campaign;
}

// What a rule cannot see stays as it was.
void KeepParameters(jdl::Campaign& to, jdl::Campaign& from) {
  to.source = from.source;
  to.count = from.count;
  to.params = std::move(from.params);
  to.format = from.format;
  to.columns = from.columns;
=======
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
>>>>>>> main
}

}  // namespace

<<<<<<< HEAD
void RequireNoFaults(const std::vector<jdl::Fault>& faults, const std::string& title) {
  if (faults.empty()) return;
  std::vector<Fault> list;
  for (const auto& f : faults) list.push_back(ToApi(f));
  const auto& first = faults.front();
  std::string message =
      "Error submitting campaign: " + (first.key.empty() ? "" : first.key + ": ") + first.message;
  if (faults.size() > 1) message += " (and " + std::to_string(faults.size() - 1) + " more)";
  throw ApiError(400, title, message, first.hint, std::move(list));
}

std::string NoteOf(const jdl::Fault& warning) {
  std::string note = (warning.key.empty() ? "" : warning.key + ": ") + warning.message;
  return warning.hint.empty() ? note : note + " (" + warning.hint + ")";
}

Admitted Admit(const Context& context, const Facts& facts, jdl::Campaign campaign,
               std::int64_t jobs) {
  nlohmann::json seen = jdl::ToJson(campaign);
  seen["jobs"] = jobs;
  seen["user"] = facts.user.at("name");
  const auto verdict = rules::Admit(facts.rules, seen, facts.user, facts.grid, context.rule_limits);
  if (!verdict.ok()) {
    if (verdict.outcome == rules::Outcome::kBroken) log::error("admission: {}", verdict.message);
    const bool broken = verdict.outcome == rules::Outcome::kBroken;
    throw ApiError(
        400, kTitle, verdict.message,
        broken ? "tell the grid's operators: the rule is broken, not your campaign" : "");
  }
  Admitted out{std::move(campaign), verdict.notes, verdict.changes};
  if (verdict.campaign == seen) return out;
  auto again = jdl::FromJson(WithoutFrozen(verdict.campaign), facts.defaults);
  RequireNoFaults(again.faults, kTitle);
  KeepParameters(again.campaign, out.campaign);
  out.campaign = std::move(again.campaign);
  return out;
=======
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
  return admission;
}

void InstallShippedRules(db::Tx& tx) {
  tx.Exec(sql::admin::kActAs, "cigri");
  for (const auto& rule : rules::ShippedRules())
    tx.Exec(sql::admin::kInstallRule, rule.name, rule.title, rule.code, rule.priority,
            std::string(rules::ToString(rule.mode)));
>>>>>>> main
}

}  // namespace cigri::api
