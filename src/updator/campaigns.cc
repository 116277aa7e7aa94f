#include "updator/campaigns.h"

#include <sql/updator.h>

#include "core/log.h"
#include "core/text.h"
#include "db/counters.h"
#include "module/events.h"

namespace cigri::updator {
namespace {

constexpr int kFirstTen = 10;

void Log(db::Tx& tx, const std::string& code, std::int64_t campaign, const std::string& message) {
  module::Event e{.cls = "log", .code = code, .message = message};
  e.campaign_id = campaign;
  e.fingerprint = std::to_string(campaign);
  module::RaiseEvent(tx, e);
  module::CloseEvent(tx, e, "updator");
}

bool ApplyWanted(db::Tx& tx) {
  const auto rows = tx.Exec(sql::updator::kApplyWanted);
  for (const auto& row : rows) {
    const auto campaign = row[0].as<std::int64_t>();
    const std::string state = row[1].c_str();
    Log(tx,
        state == "cancelled" ? "CANCELLED"
        : state == "paused"  ? "PAUSED"
                             : "RESUMED",
        campaign, "campaign " + std::to_string(campaign) + " is " + state);
    if (state == "cancelled") tx.Exec(sql::updator::kCloseCampaignEvents, campaign, false);
  }
  return !rows.empty();
}

// "A misspelt program costs 10 jobs per cluster, never 40,000" (docs/design.md section 8).
bool HoldLanes(db::Tx& tx, const std::set<std::int64_t>& campaigns) {
  if (campaigns.empty()) return false;
  const std::vector<std::int64_t> ids(campaigns.begin(), campaigns.end());
  const auto rows = tx.Exec(sql::updator::kLanesToHold, db::Array(ids), kFirstTen);
  for (const auto& row : rows) {
    module::Event e{.cls = "campaign", .code = "HELD_FIRST_TEN", .message = ""};
    e.campaign_id = row["campaign_id"].as<std::int64_t>();
    e.cluster_id = row["cluster_id"].as<std::int64_t>();
    const std::string sample = row["message"].is_null() ? "" : row["message"].as<std::string>();
    e.message = "the first " + row["ended"].as<std::string>() +
                " jobs all failed: " + row["exec_file"].as<std::string>() + ": " + sample;
    e.sample = {{"command", row["exec_file"].as<std::string>()},
                {"node", row["node"].is_null() ? "" : row["node"].as<std::string>()},
                {"message", sample}};
    const auto id = module::RaiseEvent(tx, e);
    tx.Exec(sql::updator::kHoldLane, *e.campaign_id, *e.cluster_id, id, e.message);
    // No try is charged for what was never the task's fault.
    tx.Exec(sql::updator::kRefundTasks, *e.campaign_id, *e.cluster_id);
  }
  return !rows.empty();
}

// CIG-11: what a sink has swallowed goes again.
void TakeSinks(db::Tx& tx) {
  CounterDeltas deltas;
  for (const auto& row : tx.Exec(sql::updator::kTakeSinks)) {
    const auto campaign = row["campaign_id"].as<std::int64_t>();
    const auto cluster = row["cluster_id"].as<std::int64_t>();
    const auto kind = FromString<BatchKind>(row["kind"].c_str()).value();
    const auto slots = row["slots"].as<std::int64_t>();
    deltas.Add(campaign, cluster, kind, "terminated", -1, slots);
    deltas.Add(campaign, cluster, kind, "duplicate", 1, slots);
  }
  db::AddCounters(tx, deltas, "updator");
}

// Everywhere held: the campaign stops and says so. Freed somewhere: it goes on.
bool StopAndGo(db::Tx& tx) {
  bool moved = tx.Exec(sql::updator::kFreeLanes).affected_rows() > 0;
  for (const auto& row : tx.Exec(sql::updator::kStopHeld)) {
    module::Event e{
        .cls = "campaign", .code = "HELD_EVERYWHERE", .message = row[1].as<std::string>()};
    e.campaign_id = row[0].as<std::int64_t>();
    module::RaiseEvent(tx, e);
    moved = true;
  }
  for (const auto& row : tx.Exec(sql::updator::kGoOn)) {
    module::Event e{.cls = "campaign", .code = "HELD_EVERYWHERE", .message = ""};
    e.campaign_id = row[0].as<std::int64_t>();
    module::CloseEvent(tx, e, "updator");
    moved = true;
  }
  return moved;
}

// Whether a test campaign need not be waited for any longer: what has not answered is reported.
bool TestGivenUp(db::Tx& tx, std::int64_t campaign, const Limits& limits) {
  const auto rows = tx.Exec(sql::updator::kNotTested, campaign, limits.test_wait_s);
  for (const auto& row : rows) {
    module::Event e{.cls = "campaign", .code = "NOT_TESTED", .message = ""};
    e.campaign_id = campaign;
    e.cluster_id = row[0].as<std::int64_t>();
    e.message = row[1].as<std::string>() + " was not tested: no answer within " +
                HumanSpan(limits.test_wait_s);
    module::RaiseEvent(tx, e);
  }
  return !rows.empty();
}

// True when no epilogue is to come any more. `away`: clusters that are not waited for.
bool EpiloguesOver(db::Tx& tx, std::int64_t campaign, const Limits& limits,
                   const std::vector<int>& away = {}) {
  for (const auto& row :
       tx.Exec(sql::updator::kGiveUpEpilogues, campaign, limits.epilogue_wait_s, db::Array(away))) {
    module::Event e{.cls = "campaign", .code = "EPILOGUE_GIVEN_UP", .message = ""};
    e.campaign_id = campaign;
    e.cluster_id = row[0].as<std::int64_t>();
    e.message = "the epilogue could not be run on " + row[1].as<std::string>() + " within " +
                HumanSpan(limits.epilogue_wait_s) + ": the cluster stayed away";
    module::RaiseEvent(tx, e);
  }
  return tx.Exec(sql::updator::kEpiloguesLeft, campaign)[0][0].as<std::int64_t>() == 0;
}

bool EndCampaign(db::Tx& tx, std::int64_t campaign, const Limits& limits) {
  // The cursor row is locked first: a task added at this moment is seen, or finds us ended and
  // reopens.
  const auto cursor = tx.Exec(sql::updator::kLockCursor, campaign);
  if (cursor.empty()) return false;
  const bool test = cursor[0]["type"].as<std::string>() == "test";
  const auto left = tx.Exec(sql::updator::kTasksLeft, campaign)[0];
  const bool in_flight = left["in_flight"].as<bool>();
  const bool waiting = cursor[0]["waiting"].as<std::int64_t>() > 0 || left["again"].as<bool>();
  if (in_flight && !test) return false;
  if (test && (in_flight || waiting) && !TestGivenUp(tx, campaign, limits)) return false;
  if (!test && waiting) return false;
  if (!EpiloguesOver(tx, campaign, limits)) {
    return tx.Exec(sql::updator::kBeginFinishing, campaign).affected_rows() > 0;
  }
  tx.Exec(sql::updator::kTerminate, campaign);
  tx.Exec(sql::updator::kCloseCampaignEvents, campaign, true);
  Log(tx, "FINISHED_CAMPAIGN", campaign, "campaign " + std::to_string(campaign) + " is terminated");
  log::info("campaign {} is terminated", campaign);
  return true;
}

// A cancelled campaign is complete when its kills are confirmed and its epilogues have run. A
// cluster that confirms nothing is waited for only so long.
bool CompleteCancelled(db::Tx& tx, std::int64_t campaign, const Limits& limits) {
  std::vector<int> away;
  for (const auto& row :
       tx.Exec(sql::updator::kCancelledInFlight, campaign, limits.epilogue_wait_s)) {
    if (!row["overdue"].as<bool>()) return false;
    away.push_back(row["cluster_id"].as<int>());
  }
  if (!EpiloguesOver(tx, campaign, limits, away))
    return tx.Exec(sql::updator::kBeginFinishing, campaign).affected_rows() > 0;
  tx.Exec(sql::updator::kCompleteCancelled, campaign);
  return true;
}

}  // namespace

bool UpdateCampaigns(db::Tx& tx, const std::set<std::int64_t>& ended, bool sweep,
                     const Limits& limits) {
  bool moved = ApplyWanted(tx);
  moved |= HoldLanes(tx, ended);
  if (sweep || !ended.empty()) {
    moved |= StopAndGo(tx);
    TakeSinks(tx);  // before a campaign is looked at that could end
  }
  if (sweep) tx.Exec(sql::updator::kReopenEpilogues);
  // Without an end and without a wish nothing is over that was not before.
  if (!sweep && !moved && ended.empty()) return false;
  const std::vector<std::int64_t> some(ended.begin(), ended.end());
  for (const auto& row : tx.Exec(sql::updator::kEndCandidates, sweep, db::Array(some)))
    moved |= row[1].as<std::string>() == "cancelled"
                 ? CompleteCancelled(tx, row[0].as<std::int64_t>(), limits)
                 : EndCampaign(tx, row[0].as<std::int64_t>(), limits);
  return moved;
}

}  // namespace cigri::updator
