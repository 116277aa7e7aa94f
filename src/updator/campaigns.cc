#include "updator/campaigns.h"

#include <sql/campaigns.h>
#include <sql/events.h>
#include <sql/jobs.h>
#include <sql/placements.h>
#include <sql/survival.h>
#include <sql/tasks.h>

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
  const auto rows = tx.Exec(sql::kApplyWantedStates);
  for (const auto& row : rows) {
    const auto campaign = row.id;
    const std::string state = row.state;
    Log(tx,
        state == "cancelled" ? "CANCELLED"
        : state == "paused"  ? "PAUSED"
                             : "RESUMED",
        campaign, "campaign " + std::to_string(campaign) + " is " + state);
    if (state == "cancelled") tx.Exec(sql::kCloseEventsAtEnd, campaign, false);
  }
  return !rows.empty();
}

// "A misspelt program costs 10 jobs per cluster, never 40,000" (docs/design.md section 8).
bool HoldLanes(db::Tx& tx, const std::set<std::int64_t>& campaigns) {
  if (campaigns.empty()) return false;
  const std::vector<std::int64_t> ids(campaigns.begin(), campaigns.end());
  const auto rows = tx.Exec(sql::kPlacementsToHold, ids, kFirstTen);
  for (const auto& row : rows) {
    module::Event e{.cls = "campaign", .code = "HELD_FIRST_TEN", .message = ""};
    e.campaign_id = row.campaign_id;
    e.cluster_id = row.cluster_id;
    const std::string sample = !row.message ? "" : row.message;
    e.message = "the first " + row.ended +
                " jobs all failed: " + row.exec_file + ": " + sample;
    e.sample = {{"command", row.exec_file},
                {"node", !row.node ? "" : row.node},
                {"message", sample}};
    const auto id = module::RaiseEvent(tx, e);
    tx.Exec(sql::kHoldPlacement, *e.campaign_id, *e.cluster_id, id, e.message);
    // No try is charged for what was never the task's fault.
    tx.Exec(sql::kRefundTasks, *e.campaign_id, *e.cluster_id);
  }
  return !rows.empty();
}

// CIG-11: what a sink has swallowed goes again.
void TakeSinks(db::Tx& tx) {
  CounterDeltas deltas;
  for (const auto& row : tx.Exec(sql::kTakeBlackHoles)) {
    const auto campaign = row.campaign_id;
    const auto cluster = row.cluster_id;
    const auto kind = FromString<BatchKind>(row.kind).value();
    const auto slots = row.slots;
    deltas.Add(campaign, cluster, kind, "terminated", -1, slots);
    deltas.Add(campaign, cluster, kind, "duplicate", 1, slots);
  }
  db::AddCounters(tx, deltas, "updator");
}

// Everywhere held: the campaign stops and says so. Freed somewhere: it goes on.
bool StopAndGo(db::Tx& tx) {
  bool moved = tx.Exec(sql::kFreePlacements) > 0;
  for (const auto& row : tx.Exec(sql::kStopHeldCampaigns)) {
    module::Event e{
        .cls = "campaign", .code = "HELD_EVERYWHERE", .message = row.state_reason};
    e.campaign_id = row.id;
    module::RaiseEvent(tx, e);
    moved = true;
  }
  for (const auto& row : tx.Exec(sql::kContinueCampaigns)) {
    module::Event e{.cls = "campaign", .code = "HELD_EVERYWHERE", .message = ""};
    e.campaign_id = row.id;
    module::CloseEvent(tx, e, "updator");
    moved = true;
  }
  return moved;
}

// Whether a test campaign need not be waited for any longer: what has not answered is reported.
bool TestGivenUp(db::Tx& tx, std::int64_t campaign, const Limits& limits) {
  const auto rows = tx.Exec(sql::kUnansweredTests, campaign, limits.test_wait_s);
  for (const auto& row : rows) {
    module::Event e{.cls = "campaign", .code = "NOT_TESTED", .message = ""};
    e.campaign_id = campaign;
    e.cluster_id = row.cluster_id;
    e.message = row.name + " was not tested: no answer within " +
                HumanSpan(limits.test_wait_s);
    module::RaiseEvent(tx, e);
  }
  return !rows.empty();
}

// True when no epilogue is to come any more. `away`: clusters that are not waited for.
bool EpiloguesOver(db::Tx& tx, std::int64_t campaign, const Limits& limits,
                   const std::vector<int>& away = {}) {
  for (const auto& row :
       tx.Exec(sql::kGiveUpEpilogues, campaign, limits.epilogue_wait_s, away)) {
    module::Event e{.cls = "campaign", .code = "EPILOGUE_GIVEN_UP", .message = ""};
    e.campaign_id = campaign;
    e.cluster_id = row.cluster_id;
    e.message = "the epilogue could not be run on " + row.name + " within " +
                HumanSpan(limits.epilogue_wait_s) + ": the cluster stayed away";
    module::RaiseEvent(tx, e);
  }
  return tx.One(sql::kEpiloguesLeft, campaign).n == 0;
}

bool EndCampaign(db::Tx& tx, std::int64_t campaign, const Limits& limits) {
  // The cursor row is locked first: a task added at this moment is seen, or finds us ended and
  // reopens.
  const auto cursor = tx.Exec(sql::kLockCursor, campaign);
  if (cursor.empty()) return false;
  const bool test = cursor[0].type == "test";
  const auto left = tx.Exec(sql::kTasksLeft, campaign)[0];
  const bool in_flight = left.in_flight;
  const bool waiting = cursor[0].waiting > 0 || left.again;
  if (in_flight && !test) return false;
  if (test && (in_flight || waiting) && !TestGivenUp(tx, campaign, limits)) return false;
  if (!test && waiting) return false;
  if (!EpiloguesOver(tx, campaign, limits)) {
    return tx.Exec(sql::kBeginFinishing, campaign) > 0;
  }
  tx.Exec(sql::kTerminateCampaign, campaign);
  tx.Exec(sql::kCloseEventsAtEnd, campaign, true);
  Log(tx, "FINISHED_CAMPAIGN", campaign, "campaign " + std::to_string(campaign) + " is terminated");
  log::info("campaign {} is terminated", campaign);
  return true;
}

// A cancelled campaign is complete when its kills are confirmed and its epilogues have run. A
// cluster that confirms nothing is waited for only so long.
bool CompleteCancelled(db::Tx& tx, std::int64_t campaign, const Limits& limits) {
  std::vector<int> away;
  for (const auto& row :
       tx.Exec(sql::kCancelledInFlight, campaign, limits.epilogue_wait_s)) {
    if (!row.overdue) return false;
    away.push_back(row.cluster_id);
  }
  if (!EpiloguesOver(tx, campaign, limits, away))
    return tx.Exec(sql::kBeginFinishing, campaign) > 0;
  tx.Exec(sql::kCompleteCancelled, campaign);
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
  if (sweep) tx.Exec(sql::kReopenEpilogues);
  // Without an end and without a wish nothing is over that was not before.
  if (!sweep && !moved && ended.empty()) return false;
  const std::vector<std::int64_t> some(ended.begin(), ended.end());
  for (const auto& row : tx.Exec(sql::kEndCandidates, sweep, some))
    moved |= row.state == "cancelled"
                 ? CompleteCancelled(tx, row.id, limits)
                 : EndCampaign(tx, row.id, limits);
  return moved;
}

}  // namespace cigri::updator
