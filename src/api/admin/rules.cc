// Admission rules: /admin/rules. A rule that does not compile cannot be saved here; one that was
// broken by hand in SQL is shown with its fault.
#include <sql/admission_rules.h>
#include <sql/campaigns.h>
#include <sql/grid.h>

#include "api/admin/admin.h"
#include "api/submit/admission.h"
#include "core/text.h"

namespace cigri::api {
namespace {

using nlohmann::json;

constexpr int kMostTried = 200;  // campaigns of a trial: each is a run of a child

std::string NameOfRule(const std::string& name) { return "admission rule \"" + name + "\""; }

void CheckCode(const std::string& code) {
  const auto fault = rules::CompileFault(code);
  if (!fault) return;
  Fault at{.line = 0, .column = 0, .key = "code", .message = *fault, .hint = ""};
  if (StartsWith(*fault, "line ")) {
    at.line = std::atoi(fault->c_str() + 5);
    at.column = 1;
  }
  throw ApiError(400, "Admission rule error", "the rule does not compile: " + *fault,
                 "nothing was saved", {at});
}

std::optional<std::string> ModeOf(const json& body) {
  auto mode = OptionalText(body, "mode");
  if (mode && !rules::ModeFromString(*mode))
    throw BadRequest("unknown mode \"" + *mode + "\"", "possible: enforce, warn, off");
  return mode;
}

json WithFault(json rule) {
  if (const auto fault = rules::CompileFault(rule.at("code"))) rule["fault"] = *fault;
  return rule;
}

Reply ListRules(Context& context, const Request&) {
  return context.Transact([](db::Tx& tx) { return Items(tx.Exec(sql::kListRules)); });
}

Reply ShowRule(Context& context, const Request& request) {
  const std::string name = request.Word("name");
  return Reply::Json(WithFault(context.Transact(
      [&](db::Tx& tx) { return TheRow(tx.Exec(sql::kShowRule, name), NameOfRule(name)); })));
}

Reply New(Context& context, const Request& request) {
  const json body = ObjectBody(request, {"name", "title", "code", "priority", "mode"});
  const std::string name = TextOf(body, "name"), code = TextOf(body, "code");
  const std::string mode = ModeOf(body).value_or("enforce");
  CheckCode(code);
  const json row = TransactChecked(context, [&](db::Tx& tx) {
    const auto rows =
        tx.Exec(sql::kAddRule, name, OptionalText(body, "title").value_or(""), code,
                OptionalInt(body, "priority").value_or(100), mode, request.caller.user);
    if (rows.empty()) throw ApiError(409, "Conflict", NameOfRule(name) + " exists already");
    return TheRow(rows, name);
  });
  return Reply::Json(row, 201);
}

Reply ChangeRule(Context& context, const Request& request) {
  const json body = ObjectBody(request, {"title", "code", "priority", "mode", "version"});
  const std::string name = request.Word("name");
  const auto code = OptionalText(body, "code"), mode = ModeOf(body);
  if (code) CheckCode(*code);
  return Reply::Json(TransactChecked(context, [&](db::Tx& tx) {
    const auto rows = tx.Exec(sql::kChangeRule, name, OptionalText(body, "title"), code,
                              OptionalInt(body, "priority"), mode, OptionalInt(body, "version"),
                              request.caller.user);
    if (!rows.empty()) return TheRow(rows, name);
    const json now = TheRow(tx.Exec(sql::kShowRule, name), NameOfRule(name));
    throw ApiError(409, "Conflict",
                   NameOfRule(name) + " was changed meanwhile by " +
                       now.at("updated_by").get<std::string>() + " (version " +
                       now.at("version").dump() + ")",
                   "look at it with `gridadmin rule show " + name + "` and edit it again");
  }));
}

Reply RemoveRule(Context& context, const Request& request) {
  const std::string name = request.Word("name");
  context.Transact([&](db::Tx& tx) {
    if (tx.Exec(sql::kRemoveRule, name) == 0) throw NotFound(NameOfRule(name));
  });
  return Reply::Json({{"removed", name}});
}

Reply RuleHistory(Context& context, const Request& request) {
  return context.Transact([&](db::Tx& tx) {
    const auto rows = tx.Exec(sql::kRuleHistory, request.Word("name"));
    MustHave(rows, NameOfRule(request.Word("name")));
    return Items(rows);
  });
}

Reply Revert(Context& context, const Request& request) {
  const json body = ObjectBody(request, {"version"});
  const auto version = OptionalInt(body, "version");
  if (!version) throw BadRequest("\"version\" is missing");
  const std::string name = request.Word("name");
  return Reply::Json(TransactChecked(context, [&](db::Tx& tx) {
    const auto old = tx.Exec(sql::kRuleVersion, name, *version);
    MustHave(old, "version " + std::to_string(*version) + " of " + NameOfRule(name));
    const auto code = old[0].code;
    CheckCode(code);
    // The mode is not restored: an old text that comes back is not put into force by it.
    const std::optional<std::string> keep;
    return TheRow(tx.Exec(sql::kChangeRule, name, keep, code, old[0].priority, keep,
                          std::optional<int>(), request.caller.user),
                  NameOfRule(name));
  }));
}

json VerdictJson(const rules::Verdict& v) {
  json runs = json::array();
  for (const auto& run : v.runs)
    runs.push_back({{"id", run.id}, {"name", run.name}, {"ms", run.ms}});
  const char* outcomes[] = {"ok", "refused", "broken"};
  return {{"verdict", outcomes[static_cast<int>(v.outcome)]},
          {"message", v.message},
          {"notes", v.notes},
          {"changes", v.changes},
          {"campaign", v.campaign},
          {"runs", runs}};
}

// Runs one rule as it is stored, as if it were in force, on a campaign that is not submitted.
Reply Test(Context& context, const Request& request) {
  const json body = ObjectBody(request, {"campaign", "user"});
  const std::string name = request.Word("name"), user = TextOf(body, "user");
  if (!body.contains("campaign") || !body["campaign"].is_object())
    throw BadRequest("\"campaign\" must be a campaign as rules see it");
  json campaign = body["campaign"];
  campaign["user"] = user;
  Admission admission;
  const json row = context.Transact([&](db::Tx& tx) {
    admission = LoadAdmission(tx, user);
    return TheRow(tx.Exec(sql::kShowRule, name), NameOfRule(name));
  });
  rules::Rule rule;
  rule.id = row.at("id");
  rule.name = name;
  rule.code = row.at("code");
  admission.rules = {rule};
  return Reply::Json(VerdictJson(admission.Admit(campaign)));
}

// One campaign as the rules saw it when it came; its user is as he is today.
json AsRulesSee(const sql::PastCampaignsRow& row) {
  json seen = json::parse(row.jdl);
  seen["type"] = seen.value("jobs_type", "default");
  seen.erase("jobs_type");
  seen["user"] = row.grid_user;
  seen["jobs"] = row.nb_params;
  return seen;
}

// What a rule, as stored or as "code", would have said to the last campaigns. Nothing is changed.
Reply Trial(Context& context, const Request& request) {
  const json body = ObjectBody(request, {"code", "last"});
  const int last = OptionalInt(body, "last").value_or(50);
  if (last < 1 || last > kMostTried)
    throw BadRequest("\"last\" must be 1 to " + std::to_string(kMostTried));
  const std::string name = request.Word("name");
  const auto code = OptionalText(body, "code");
  if (code) CheckCode(*code);
  rules::Rule rule;
  rule.name = name;
  std::map<std::string, Admission> users;
  const auto past = context.Read([&](db::Tx& tx) {
    const json row = TheRow(tx.Exec(sql::kShowRule, name), NameOfRule(name));
    rule.id = row.at("id");
    rule.code = code.value_or(row.at("code"));
    const auto rows = tx.Exec(sql::kPastCampaigns, last);
    for (const auto& campaign : rows)
      if (users.count(campaign.grid_user) == 0)
        users[campaign.grid_user] = LoadAdmission(tx, campaign.grid_user);
    return rows;
  });
  json items = json::array();
  std::map<std::string, int> counts = {{"ok", 0}, {"changed", 0}, {"refused", 0}, {"broken", 0}};
  for (const auto& campaign : past) {
    Admission& admission = users[campaign.grid_user];
    admission.rules = {rule};
    const auto verdict = VerdictJson(admission.Admit(AsRulesSee(campaign)));
    std::string word = verdict["verdict"];
    if (word == "ok" && !(verdict["changes"].empty() && verdict["notes"].empty())) word = "changed";
    ++counts[word];
    if (word == "ok") continue;
    items.push_back({{"campaign", campaign.id},
                     {"name", campaign.name},
                     {"user", campaign.grid_user},
                     {"verdict", word},
                     {"message", verdict["message"]},
                     {"changes", verdict["changes"]},
                     {"notes", verdict["notes"]}});
  }
  return Reply::Json({{"tried", past.size()}, {"counts", counts}, {"items", std::move(items)}});
}

}  // namespace

void AddRuleRoutes(Router& router) {
  router.GetLive("/admin/rules", ListRules, Access::kOperator);
  router.Post("/admin/rules", New, Access::kOperator);
  router.Get("/admin/rules/{name:text}", ShowRule, Access::kOperator);
  router.Patch("/admin/rules/{name:text}", ChangeRule, Access::kOperator);
  router.Delete("/admin/rules/{name:text}", RemoveRule, Access::kOperator);
  router.Get("/admin/rules/{name:text}/history", RuleHistory, Access::kOperator);
  router.Post("/admin/rules/{name:text}/revert", Revert, Access::kOperator);
  router.Post("/admin/rules/{name:text}/test", Test, Access::kOperator);
  router.Post("/admin/rules/{name:text}/trial", Trial, Access::kOperator);
}

}  // namespace cigri::api
