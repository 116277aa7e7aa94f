// Why a campaign gets no more: its own rows first, then the metascheduler's reasons
// (docs/policies.md lists their codes).
#include <sql/forecasts.h>
#include <sql/placements.h>
#include <sql/reasons.h>

#include <cmath>

#include "api/read_campaigns.h"
#include "api/why.h"
#include "core/text.h"

namespace cigri::api {
namespace {

using nlohmann::json;

// A lane that takes nothing whatever the policy says: the strongest cause, or nothing.
std::optional<Saying> LaneTrouble(const sql::ShowPlacementsRow& row, std::int64_t campaign) {
  const std::string name = row.name, id = std::to_string(campaign);
  if (!row.enabled) return Saying{name + " is disabled by the operators", ""};
  if (row.drained)
    return Saying{name + " is drained by " + row.drained_by.value_or("an operator") +
                      ": " + row.drain_reason.value_or(""),
                  ""};
  if (row.held_since)
    return Saying{
        "held on " + name + ": " + row.held_why.value_or("its first jobs failed"),
        "mend it, then close the event: gridevents -c " + id + " -f"};
  if (row.failing_since)
    return Saying{name + " does not answer: " + row.error.value_or("no reason given"),
                  ""};
  if (row.probation_until)
    return Saying{
        name + " is set aside for it for a while: its jobs ended too fast or failed there", ""};
  if (row.mode == "observe")
    return Saying{name + " is only observed: nothing is sent there", ""};
  if (row.stress >= row.stress_limit)
    return Saying{name + " is under stress", ""};
  return std::nullopt;
}

std::string TasksWait(std::int64_t n) { return Counted(n, "task waits", "tasks wait"); }

Saying Over(const Numbers& n, const std::string& id) {
  std::string sentence =
      "it is over: " + std::to_string(n.done) + " of " + Tasks(n.total) + " done";
  if (n.not_run > 0) sentence += ", " + Counted(n.not_run, "parameter") + " not run (test)";
  if (n.failed == 0) return {sentence, ""};
  return {sentence + ", " + std::to_string(n.failed) + " failed",
          "gridstat -c " + id + " shows why; gridsub --retry-failed " + id + " runs them again"};
}

// States that leave nothing to decide.
std::optional<Saying> Settled(const sql::ListCampaignsRow& row, const Numbers& n, const std::string& id) {
  const std::string state = row.state, wanted = row.wanted;
  const std::string why = row.state_reason.value_or("");
  const std::string because = why.empty() ? "" : ": " + why;
  if (state == "terminated") return Over(n, id);
  if (wanted == "cancelled")
    return Saying{"it is cancelled" + because +
                      (n.InFlight() > 0 ? "; " + Jobs(n.InFlight()) + " still to be killed" : ""),
                  ""};
  if (state == "paused" && wanted == "in_treatment")
    return Saying{
        "it is stopped" + because,
        "mend it (gridsub -c " + id + " --set exec_file=...), then gridevents -c " + id + " -f"};
  if (wanted == "paused" || state == "paused")
    return Saying{"it is paused" + because, "griddel -r " + id + " resumes it"};
  if (row.finishing) return Saying{"all its tasks have ended; its epilogues run", ""};
  if (row.priority == 0)
    return Saying{"it is suspended: its priority is 0, nothing new is sent" +
                      (n.InFlight() > 0 ? "; " + Jobs(n.InFlight()) + " still in flight" : ""),
                  "gridmod -c " + id + " -p normal lets it go on"};
  if (n.waiting > 0) return std::nullopt;
  if (n.InFlight() > 0)
    return Saying{"nothing of it waits to be sent: " + Jobs(n.running) + " running, " +
                      std::to_string(n.InFlight() - n.running) + " in the clusters' queues",
                  ""};
  return Saying{"all its tasks have ended; the updator is about to close it", ""};
}

// It waits, and the metascheduler has given no reason (yet).
Saying Waiting(const sql::ListCampaignsRow& row, const Numbers& n, const std::vector<Saying>& troubles,
               std::size_t lanes) {
  if (row.state_reason) return {*row.state_reason, ""};
  if (!troubles.empty() && troubles.size() == lanes) return troubles[0];
  if (n.InFlight() > 0)
    return {"it runs: " + Jobs(n.InFlight()) + " in flight, " + TasksWait(n.waiting) + " for room",
            ""};
  return {TasksWait(n.waiting) + " for the next round", ""};
}

// Wider than all of its clusters, or longer than jobs live on any: no waiting helps.
std::optional<std::string> NeverFits(const json& reasons, std::size_t lanes) {
  for (const char* code : {"TOO_WIDE", "TOO_SHORT_LIVES"}) {
    std::size_t n = 0;
    double need = 0, most = 0;
    const bool wide = std::string(code) == "TOO_WIDE";
    for (const auto& reason : reasons) {
      if (reason["code"] != code) continue;
      const json& numbers = reason["numbers"];
      need = std::max(need, numbers.value(wide ? "slots of a job" : "needs, s", 0.0));
      most = std::max(most, numbers.value(wide ? "slots of the cluster" : "median life, s", 0.0));
      ++n;
    }
    if (n == 0 || n < lanes || lanes < 2) continue;
    return wide ? "one job needs " + Counted(std::llround(need), "slot") +
                      " and no cluster of it has more than " + std::to_string(std::llround(most))
                : "a job needs " + HumanSpan(need) +
                      " and on no cluster of it do jobs live longer "
                      "than " +
                      HumanSpan(most) + " as a rule";
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

// A reader who can do nothing is told what to wait for.
std::string OrWait(const json& reason) {
  if (const std::string action = reason["action"]; !action.empty()) return action;
  if (reason["expected"].is_string())
    return "nothing to do but wait: " + reason["expected"].get<std::string>();
  return "nothing to do but wait";
}

// Held everywhere, paused or over beats every reason of the metascheduler; then its main one.
Saying MainOf(const sql::ListCampaignsRow& row, const Numbers& n, const json& reasons,
              const std::vector<Saying>& troubles, std::size_t lanes, const std::string& id) {
  if (const auto settled = Settled(row, n, id)) return *settled;
  if (!troubles.empty() && troubles.size() == lanes) return Waiting(row, n, troubles, lanes);
  const json* chosen = MainReason(reasons);
  if (chosen == nullptr) return Waiting(row, n, troubles, lanes);
  std::string sentence = TasksWait(n.waiting);
  if (n.InFlight() > 0)
    sentence += " while " + Counted(n.InFlight(), "job is", "jobs are") + " in flight";
  const auto never = NeverFits(reasons, lanes);
  return {sentence + ": " + never.value_or((*chosen)["sentence"].get<std::string>()),
          OrWait(*chosen)};
}

// Jobs that a cluster says are starting or running, and that give no sign of it; "" when there are
// none.
std::string SilentOn(const sql::ShowPlacementsRow& row) {
  const auto n = row.silent;
  if (n == 0) return "";
  return Jobs(n) + " on " + row.name + (n == 1 ? " is" : " are") +
         " said to be starting or running and " + (n == 1 ? "gives" : "give") +
         " no sign of it for " + HumanSpan(row.silent_s.value_or(0)) +
         ": killed and sent again if that lasts";
}

json LaneWhy(const sql::ShowPlacementsRow& row, const json& reasons, std::int64_t campaign) {
  json lane = {
      {"name", row.name},
      {"running", row.running},
      {"queued", row.launching + row.submitted +
                     row.remote_waiting},
      {"granted", row.granted},
      {"done", row.done},
      {"job_ratio", OrNull(row.job_ratio)},
      {"rate", OrNull(row.rate)},
      {"swept_ago", OrNull(row.swept_ago)},
      {"sentence", nullptr}};
  if (const auto trouble = LaneTrouble(row, campaign)) {
    lane["sentence"] = trouble->sentence;
    lane["action"] = trouble->action;
  } else if (const auto silent = SilentOn(row); !silent.empty()) {
    lane["sentence"] = silent;
  }
  lane["reasons"] = json::array();
  for (const auto& reason : reasons)
    if (reason["cluster_id"] == row.id) lane["reasons"].push_back(reason);
  return lane;
}

// What admission rules took away at submission is a limit too, and no decision knows of it.
json RulesSaid(const sql::ListCampaignsRow& row) {
  json said = json::array();
  for (const auto& note : json::parse(row.notes))
    if (note.is_object() && note.value("by", "") == "admission rules")
      said.push_back(note.value("text", ""));
  return said;
}

json Reasons(db::Tx& tx, const std::vector<sql::ShowPlacementsRow>& lanes, std::int64_t campaign, policy::Reader reader) {
  const auto texts = TextsFor(lanes);
  std::vector<int> clusters;
  std::map<std::int64_t, double> rates;
  for (const auto& row : lanes) {
    clusters.push_back(static_cast<int>(row.id));
    rates[clusters.back()] = row.rate.value_or(0);
  }
  const Outlook outlook(tx, clusters);
  json reasons = json::array();
  for (const auto& row : tx.Exec(sql::kCurrentReasons, campaign)) {
    json reason = ReasonJson(texts, StoredReason::Of(row), campaign, reader);
    reason["expected"] = outlook.Of(reason, rates[row.cluster_id]);
    reasons.push_back(std::move(reason));
  }
  return reasons;
}

// [earliest, latest], epoch s; null while nobody knows.
json EndsIn(db::Tx& tx, std::int64_t campaign) {
  const auto rows = tx.Exec(sql::kCampaignForecast, campaign);
  if (rows.empty() || !rows[0].end_low) return nullptr;
  return json::array({OrNull(rows[0].end_low), OrNull(rows[0].end_high)});
}

}  // namespace

json CampaignWhy(db::Tx& tx, const Request& request, std::int64_t campaign) {
  const auto row = CampaignRow(tx, campaign);
  const auto numbers = NumbersOf(row);
  const auto lanes = tx.Exec(sql::kShowPlacements, campaign);
  const json reasons = Reasons(tx, lanes, campaign, ReaderOf(request));
  const auto texts = TextsFor(lanes);
  json past = json::array(), clusters = json::array(), whole = json::array();
  for (const auto& reason : tx.Exec(sql::kPastReasons, campaign, 20)) {
    past.push_back(ReasonJson(texts, StoredReason::Of(reason), campaign, ReaderOf(request)));
    past.back()["until"] = OrNull(reason.until);
  }
  std::vector<Saying> troubles;
  for (const auto& lane : lanes) {
    clusters.push_back(LaneWhy(lane, reasons, campaign));
    if (const auto trouble = LaneTrouble(lane, campaign)) troubles.push_back(*trouble);
  }
  for (const auto& reason : reasons)
    if (reason["cluster_id"] == 0) whole.push_back(reason);
  auto main = MainOf(row, numbers, reasons, troubles, lanes.size(), std::to_string(campaign));
  for (const auto& lane : lanes)
    if (const auto silent = SilentOn(lane); !silent.empty()) main.sentence += "; " + silent;
  const json* chosen = MainReason(reasons);
  return {{"campaign", campaign},
          {"sentence", main.sentence},
          {"action", main.action},
          {"code", chosen == nullptr ? json() : (*chosen)["code"]},
          {"since", chosen == nullptr ? json() : (*chosen)["since"]},
          {"expected", chosen == nullptr ? json() : (*chosen)["expected"]},
          {"ends", EndsIn(tx, campaign)},
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
  OwnFacts(tx, request, campaign);
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
