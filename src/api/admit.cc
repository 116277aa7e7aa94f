#include "api/admit.h"

#include "core/log.h"

namespace cigri::api {
namespace {

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

Admitted Admit(const Context& context, const Facts& facts, jdl::Campaign campaign,
               std::int64_t jobs) {
  nlohmann::json seen = jdl::ToJson(campaign);
  seen["jobs"] = jobs;
  const auto& [list, user, grid] = facts.admission;
  seen["user"] = user.at("name");
  const auto verdict = rules::Admit(list, seen, user, grid, context.rule_limits);
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
}

}  // namespace cigri::api
