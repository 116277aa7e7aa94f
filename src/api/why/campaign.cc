// Why a campaign gets no more: its own rows first, then the metascheduler's reasons
// (docs/policies.md lists their codes).
#include <sql/placements.h>
#include <sql/reasons.h>
#include <sql/tasks.h>

#include <cmath>

#include "api/read/campaigns.h"
#include "api/why/why.h"
#include "core/text.h"
#include "policy/why.h"

namespace cigri::api {
namespace {

using nlohmann::json;

// The strongest cause for which a placement gets nothing, whatever the policy says; or nothing.
std::optional<Explanation> BlockReason(const sql::ShowPlacementsRow& row, std::int64_t campaign) {
  const std::string name = row.name, id = std::to_string(campaign);
  if (!row.enabled) return Explanation{name + " is disabled by the operators", ""};
  if (row.drained)
    return Explanation{name + " is drained by " + row.drained_by.value_or("an operator") + ": " +
                           row.drain_reason.value_or(""),
                       ""};
  if (row.held_since)
    return Explanation{"held on " + name + ": " + row.held_why.value_or("its first jobs failed"),
                       "fix it, then close the event: gridevents -c " + id + " -f"};
  if (row.failing_since)
    return Explanation{name + " does not answer: " + row.error.value_or("no reason given"), ""};
  if (row.black_hole_until)
    return Explanation{
        name + " is excluded for it for a while: its jobs ended too fast or failed there", ""};
  if (row.mode == "observe")
    return Explanation{name + " is only observed: nothing is sent there", ""};
  if (row.stress >= row.stress_limit) return Explanation{name + " is under stress", ""};
  return std::nullopt;
}

std::string TasksWait(std::int64_t n) { return Pluralize(n, "task waits", "tasks wait"); }

Explanation Over(const Numbers& n, const std::string& id) {
  std::string message = "it is over: " + std::to_string(n.done) + " of " + Tasks(n.total) + " done";
  if (n.not_run > 0) message += ", " + Pluralize(n.not_run, "parameter") + " not run (test)";
  if (n.failed == 0) return {message, ""};
  return {message + ", " + std::to_string(n.failed) + " failed",
          "gridstat -c " + id + " shows why; gridsub --retry-failed " + id + " runs them again"};
}

// States that leave nothing to decide.
std::optional<Explanation> Settled(const sql::ListCampaignsRow& row, const Numbers& n,
                                   const std::string& id) {
  const std::string state = row.state, wanted = row.wanted;
  const std::string why = row.state_reason.value_or("");
  const std::string because = why.empty() ? "" : ": " + why;
  if (state == "terminated") return Over(n, id);
  if (wanted == "cancelled")
    return Explanation{
        "it is cancelled" + because +
            (n.InFlight() > 0 ? "; " + Jobs(n.InFlight()) + " still to be killed" : ""),
        ""};
  if (state == "paused" && wanted == "in_treatment") {
    if (why.find("fault of the cluster") != std::string::npos)
      return Explanation{"it is stopped" + because,
                         "wait: it goes on then; the cluster's operator sees the fault. When it is "
                         "repaired, gridevents -c " +
                             id + " -f lets it go on at once"};
    const bool prologue = why.find("prologue failed") != std::string::npos;
    return Explanation{"it is stopped" + because,
                       "fix it (gridsub -c " + id + " --set " +
                           (prologue ? "'prologue=[\"...\"]'" : "exec_file=...") +
                           "), then gridevents -c " + id + " -f"};
  }
  if (wanted == "paused" || state == "paused")
    return Explanation{"it is paused" + because, "griddel -r " + id + " resumes it"};
  if (row.finishing) return Explanation{"all its tasks have ended; its epilogues run", ""};
  if (row.priority == 0)
    return Explanation{"it is suspended: its priority is 0, nothing new is sent" +
                           (n.InFlight() > 0 ? "; " + Jobs(n.InFlight()) + " still in flight" : ""),
                       "gridmod -c " + id + " -p normal lets it go on"};
  if (n.waiting > 0) return std::nullopt;
  if (n.InFlight() > 0)
    return Explanation{"nothing of it waits to be sent: " + Jobs(n.running) + " running, " +
                           std::to_string(n.InFlight() - n.running) + " in the clusters' queues",
                       ""};
  return Explanation{"all its tasks have ended; the updator is about to close it", ""};
}

// It waits, and the metascheduler has given no reason (yet). `retry`: why the next of its tasks
// that were sent before are sent again.
Explanation Waiting(const sql::ListCampaignsRow& row, const Numbers& n,
                    const std::vector<Explanation>& blocks, std::size_t placements,
                    const std::string& retry) {
  if (row.state_reason) return {*row.state_reason, ""};
  if (!blocks.empty() && blocks.size() == placements) return blocks[0];
  if (n.InFlight() > 0)
    return {"it runs: " + Jobs(n.InFlight()) + " in flight, " + TasksWait(n.waiting) + " for room",
            ""};
  return {TasksWait(n.waiting) + " for the next cycle" +
              (retry.empty() ? "" : "; of those that are sent again: " + retry),
          ""};
}

// Wider than all of its clusters, or longer than jobs live on any: no waiting helps.
std::optional<std::string> NeverFits(const json& reasons, std::size_t placements) {
  for (const char* code : {"TOO_MANY_SLOTS", "SHORT_SURVIVAL"}) {
    std::size_t n = 0;
    double need = 0, most = 0, probe = 0;
    const bool wide = std::string(code) == "TOO_MANY_SLOTS";
    for (const auto& reason : reasons) {
      if (reason["code"] != code) continue;
      const json& numbers = reason["numbers"];
      need = std::max(need, numbers.value(wide ? "slots of a job" : "needs, s", 0.0));
      most =
          std::max(most, numbers.value(wide ? "slots of the cluster" : "median survival, s", 0.0));
      if (const double at = numbers.value("next probe", 0.0); at > 0)
        probe = probe > 0 ? std::min(probe, at) : at;
      ++n;
    }
    if (n == 0 || n < placements || placements < 2) continue;
    return wide ? "one job needs " + Pluralize(std::llround(need), "slot") +
                      " and no cluster of it has more than " + std::to_string(std::llround(most))
                : "a job needs " + HumanDuration(need) +
                      " and on no cluster of it do jobs live longer "
                      "than " +
                      HumanDuration(most) + " as a rule" +
                      (probe > 0 ? "; the next probe goes at " + ClockTime(probe) : "");
  }
  return std::nullopt;
}

const json* MainReason(const json& reasons) {
  const json* chosen = nullptr;
  for (const auto& reason : reasons)
    if (chosen == nullptr || (reason["main"] == true && (*chosen)["main"] == false))
      chosen = &reason;
  return chosen;
}

// A reader who can do nothing is shown what to wait for.
std::string OrWait(const json& reason) {
  if (const std::string action = reason["action"]; !action.empty()) return action;
  if (reason["expected"].is_string())
    return "nothing to do but wait: " + reason["expected"].get<std::string>();
  return "nothing to do but wait";
}

// Held everywhere, paused or over beats every reason of the metascheduler; then its main one.
Explanation MainOf(const sql::ListCampaignsRow& row, const Numbers& n, const json& reasons,
                   const std::vector<Explanation>& blocks, std::size_t placements,
                   const std::string& id, const std::string& retry) {
  if (const auto settled = Settled(row, n, id)) return *settled;
  const json* chosen = MainReason(reasons);
  if (chosen == nullptr || (!blocks.empty() && blocks.size() == placements))
    return Waiting(row, n, blocks, placements, retry);
  std::string message = TasksWait(n.waiting);
  if (n.InFlight() > 0)
    message += " while " + Pluralize(n.InFlight(), "job is", "jobs are") + " in flight";
  const auto never = NeverFits(reasons, placements);
  return {message + ": " + never.value_or((*chosen)["message"].get<std::string>()),
          OrWait(*chosen)};
}

// Jobs that a cluster says are starting or running, and that give no sign of it; "" when there are
// none.
std::string UnresponsiveOn(const sql::ShowPlacementsRow& row) {
  const auto n = row.unresponsive;
  if (n == 0) return "";
  return Jobs(n) + " on " + row.name + (n == 1 ? " is" : " are") +
         " said to be starting or running and " + (n == 1 ? "gives" : "give") +
         " no sign of it for " + HumanDuration(row.unresponsive_s.value_or(0)) +
         ": killed and sent again if that lasts";
}

// A cluster that is away explains why what is on it does not move, and why nothing goes there,
// whatever the main reason is.
std::string ClustersAway(const std::vector<sql::ShowPlacementsRow>& placements,
                         std::int64_t campaign, const std::string& said) {
  std::string out;
  for (const auto& row : placements) {
    if (row.enabled && !row.drained && !row.failing_since) continue;
    const auto block = BlockReason(row, campaign);
    if (!block || said.find(block->message) != said.npos) continue;
    out += "; " + block->message;
    if (row.running > 0) out += " (" + Jobs(row.running) + " there)";
  }
  return out;
}

json PlacementWhy(const sql::ShowPlacementsRow& row, const std::string& state, const json& reasons,
                  std::int64_t campaign) {
  json placement = {{"name", row.name},
                    {"running", row.running},
                    {"queued", row.launching + row.submitted + row.remote_waiting},
                    {"granted", row.granted},
                    {"done", row.done},
                    {"job_ratio", OrNull(row.job_ratio)},
                    {"rate", OrNull(row.rate)},
                    {"polled_ago", OrNull(row.polled_ago)},
                    {"ends", EndsOf(state, row.end_low, row.end_high)},
                    {"walltime_s", row.walltime_s},
                    {"asked_walltime_s", OrNull(row.asked_walltime_s)},
                    {"common_inputs", OrNull(row.staged)},
                    {"transfer_s", OrNull(row.transfer_s)},
                    {"message", nullptr}};
  if (const auto block = BlockReason(row, campaign)) {
    placement["message"] = block->message;
    placement["action"] = block->action;
  } else if (const auto unresponsive = UnresponsiveOn(row); !unresponsive.empty()) {
    placement["message"] = unresponsive;
  }
  placement["reasons"] = json::array();
  for (const auto& reason : reasons)
    if (reason["cluster_id"] == row.id) placement["reasons"].push_back(reason);
  return placement;
}

// What admission rules took away at submission is a limit too, and no decision knows of it.
json RulesSaid(const sql::ListCampaignsRow& row) {
  json said = json::array();
  for (const auto& note : json::parse(row.notes))
    if (note.is_object() && note.value("by", "") == "admission rules")
      said.push_back(note.value("text", ""));
  return said;
}

// A campaign that comes after another one waits for it from its submission on; the first decision
// that says so comes later.
std::optional<StoredReason> PredecessorOf(db::Tx& tx, std::int64_t campaign) {
  const auto rows = tx.Exec(sql::kPredecessorsOf, campaign);
  if (rows.empty()) return std::nullopt;
  policy::Campaign waits;
  waits.id = campaign;
  waits.after = rows[0].after.value_or(0);
  waits.after_failed = rows[0].after_failed.value_or(0);
  waits.failed_tasks = static_cast<int>(rows[0].failed_tasks);
  const auto reason = *policy::PredecessorReason(waits);
  return StoredReason{0, std::nullopt, std::string(policy::ToString(reason.code)),
                      policy::ReasonTexts::Numbers(reason).dump(), rows[0].since};
}

json Reasons(db::Tx& tx, const std::vector<sql::ShowPlacementsRow>& placements,
             std::int64_t campaign, policy::Reader reader) {
  const auto texts = TextsFor(placements);
  std::vector<int> clusters;
  std::map<std::int64_t, double> rates;
  for (const auto& row : placements) {
    clusters.push_back(static_cast<int>(row.id));
    rates[clusters.back()] = row.rate.value_or(0);
  }
  const Outlook outlook(tx, clusters);
  json reasons = json::array();
  const auto add = [&](const StoredReason& row) {
    json reason = ReasonJson(texts, row, campaign, reader);
    reason["expected"] = outlook.Of(reason, rates[row.cluster_id]);
    reasons.push_back(std::move(reason));
  };
  for (const auto& row : tx.Exec(sql::kCurrentReasons, campaign)) add(StoredReason::Of(row));
  if (!reasons.empty()) return reasons;
  if (const auto predecessor = PredecessorOf(tx, campaign)) add(*predecessor);
  return reasons;
}

}  // namespace

json CampaignWhy(db::Tx& tx, const Request& request, std::int64_t campaign) {
  const auto row = CampaignRow(tx, campaign);
  const auto numbers = NumbersOf(row);
  const auto placements = tx.Exec(sql::kShowPlacements, campaign);
  const json reasons = Reasons(tx, placements, campaign, ReaderOf(request));
  const auto texts = TextsFor(placements);
  json past = json::array(), clusters = json::array(), whole = json::array();
  for (const auto& reason : tx.Exec(sql::kPastReasons, campaign, 20)) {
    past.push_back(ReasonJson(texts, StoredReason::Of(reason), campaign, ReaderOf(request)));
    past.back()["until"] = OrNull(reason.until);
  }
  std::vector<Explanation> blocks;
  for (const auto& placement : placements) {
    clusters.push_back(PlacementWhy(placement, row.state, reasons, campaign));
    if (const auto block = BlockReason(placement, campaign)) blocks.push_back(*block);
  }
  for (const auto& reason : reasons)
    if (reason["cluster_id"] == 0) whole.push_back(reason);
  const auto retry = tx.First(sql::kRetryOfCampaign, campaign);
  auto main = MainOf(row, numbers, reasons, blocks, placements.size(), std::to_string(campaign),
                     retry ? retry->why : "");
  for (const auto& placement : placements)
    if (const auto unresponsive = UnresponsiveOn(placement); !unresponsive.empty())
      main.message += "; " + unresponsive;
  if (row.state == "in_treatment" && row.wanted == "in_treatment")
    main.message += ClustersAway(placements, campaign, main.message);
  const json* chosen = MainReason(reasons);
  // Then a reason says what becomes of jobs in a queue; those of a cancelled campaign are killed.
  if (numbers.waiting == 0 && row.wanted != "cancelled")
    for (const auto& reason : reasons)
      if (reason["code"] == "RECALLED") main.message += "; " + reason["message"].get<std::string>();
  return {{"campaign", campaign},
          {"message", main.message},
          {"action", main.action},
          {"code", chosen == nullptr ? json() : (*chosen)["code"]},
          {"since", chosen == nullptr ? json() : (*chosen)["since"]},
          {"expected", chosen == nullptr ? json() : (*chosen)["expected"]},
          {"ends", EndsOf(row.state, row.end_low, row.end_high)},
          {"priority", row.priority},
          {"reasons", std::move(whole)},
          {"clusters", std::move(clusters)},
          {"past", std::move(past)},
          {"rules", RulesSaid(row)},
          {"waiting", numbers.waiting},
          {"in_flight", numbers.InFlight()},
          {"done", numbers.done},
          {"failed", numbers.failed},
          {"links",
           json::array({LinkJson(request, "parent", "/campaigns/" + std::to_string(campaign))})}};
}

json CampaignHistory(db::Tx& tx, const Request& request) {
  const auto campaign = request.Id();
  OwnInfo(tx, request, campaign);
  const auto limit = request.QueryInt("limit", 100, 1, 2000),
             offset = request.QueryInt("offset", 0);
  const auto texts = TextsFor(tx.Exec(sql::kShowPlacements, campaign));
  json items = json::array();
  std::int64_t total = 0;
  for (const auto& row : tx.Exec(sql::kReasonHistory, campaign, limit, offset)) {
    items.push_back(ReasonJson(texts, StoredReason::Of(row), campaign, ReaderOf(request)));
    items.back()["until"] = OrNull(row.until);
    total = row.total;
  }
  return PageJson(request, "/campaigns/" + std::to_string(campaign) + "/why/history",
                  std::move(items), total, offset, limit);
}

}  // namespace cigri::api
