#include "api/submit/admit.h"

#include <algorithm>

#include "core/log.h"
#include "core/text.h"
#include "db/events.h"

namespace cigri::api {
namespace {

constexpr char kTitle[] = "Admission rule error";

Fault ToApi(const jdl::Fault& f) { return {f.line, f.column, f.key, f.message, f.hint}; }

// A campaign as rules see it: with its user, its size, and `type` for what a JDL calls jobs_type.
nlohmann::json ForRules(const jdl::Campaign& campaign, const std::string& user, std::int64_t jobs) {
  nlohmann::json seen = jdl::ToJson(campaign);
  seen["type"] = campaign.type;
  seen.erase("jobs_type");
  seen["user"] = user;
  seen["jobs"] = jobs;
  return seen;
}

nlohmann::json FromRules(nlohmann::json campaign) {
  if (campaign.contains("type")) campaign["jobs_type"] = campaign["type"];
  for (const char* key : {"type", "id", "user", "jobs"}) campaign.erase(key);
  return campaign;
}

// What a rule cannot see stays as it was.
void KeepParameters(jdl::Campaign& to, jdl::Campaign& from) {
  to.source = from.source;
  to.count = from.count;
  to.params = std::move(from.params);
  to.format = from.format;
  to.columns = from.columns;
}

// GRID-39: a campaign of no group would wait indefinitely.
void RequireGroup(const GridInfo& info, const jdl::Campaign& campaign) {
  if (!info.sla_groups) return;
  const auto& groups = *info.sla_groups;
  if (std::find(groups.begin(), groups.end(), campaign.sla_group) != groups.end()) return;
  const std::string what = campaign.sla_group.empty()
                               ? "is missing: this grid shares by groups"
                               : "\"" + campaign.sla_group + "\" is no group";
  RequireNoFaults({{0, 0, "sla_group", what, "one of: " + Join(groups, ", ")}});
}

void ReportBroken(Context& context, const rules::Verdict& verdict) {
  log::error("admission: {}", verdict.message);
  context.Transact([&](db::Tx& tx) {
    db::RaiseEvent(tx, {.cls = "cluster",
                        .code = "RULE_BROKEN",
                        .message = ValidUtf8(verdict.message),
                        .fingerprint = std::to_string(verdict.rule_id)});
  });
}

}  // namespace

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

void RequireMayGive(const Request& request, const GridInfo& info, int before, int after) {
  if (request.caller.is_operator || after <= std::max(before, info.user_priority)) return;
  throw ApiError(403, "Forbidden",
                 "priority " + std::to_string(after) + " is more than you may give",
                 "up to " + std::to_string(std::max(before, info.user_priority)) +
                     " is allowed; operators give more (gridmod -p)");
}

Admitted Admit(Context& context, const GridInfo& info, jdl::Campaign campaign, std::int64_t jobs) {
  const auto& [list, user, grid, reported_broken] = info.admission;
  const auto seen = ForRules(campaign, user.at("name"), jobs);
  const auto verdict = rules::Admit(list, seen, user, grid, context.rule_limits);
  if (!verdict.ok()) {
    const bool broken = verdict.outcome == rules::Outcome::kBroken;
    if (broken) ReportBroken(context, verdict);
    throw ApiError(
        400, kTitle, verdict.message,
        broken ? "tell the grid's operators: the rule is broken, not your campaign" : "");
  }
  if (reported_broken)
    context.Transact([](db::Tx& tx) { db::CloseEvents(tx, "api", {.codes = {"RULE_BROKEN"}}); });
  Admitted out{std::move(campaign), verdict.notes, verdict.changes};
  if (verdict.campaign == seen) {
    RequireGroup(info, out.campaign);
    return out;
  }
  auto again = jdl::FromJson(FromRules(verdict.campaign), info.defaults);
  RequireNoFaults(again.faults, kTitle);
  RequireGroup(info, again.campaign);
  KeepParameters(again.campaign, out.campaign);
  out.campaign = std::move(again.campaign);
  return out;
}

}  // namespace cigri::api
