#include "updator/campaigns.h"

#include "core/log.h"
#include "core/text.h"
#include "updator/decide.h"
#include "updator/store.h"

namespace cigri::updator {
namespace {

db::Event CampaignEvent(const std::string& code, std::int64_t campaign,
                        const std::string& message = "") {
  db::Event event{.cls = "campaign", .code = code, .message = message};
  event.campaign_id = campaign;
  return event;
}

// The API has logged who wanted it.
bool ApplyWanted(Store& store) {
  const auto rows = store.ApplyWantedStates();
  for (const auto& row : rows)
    if (row.state == "cancelled") store.CloseEvents({.campaign_id = row.id});
  return !rows.empty();
}

// A command that is not found costs as many jobs per cluster as there are canary jobs, never 40,000
// (docs/design.md section 8).
bool HoldPlacements(Store& store, const std::set<std::int64_t>& campaigns) {
  if (campaigns.empty()) return false;
  const auto rows = store.PlacementsToHold(campaigns, store.CanaryJobs());
  for (const auto& row : rows) {
    const auto sample = row.message.value_or("");
    auto event = CampaignEvent("CANARY_FAILED", row.campaign_id);
    event.cluster_id = row.cluster_id;
    event.message = "the first " + std::to_string(row.ended) +
                    " jobs all failed: " + row.exec_file + ": " + sample;
    event.sample = {
        {"command", row.exec_file}, {"node", row.node.value_or("")}, {"message", sample}};
    const auto id = store.Raise(event);
    store.HoldPlacement(row.campaign_id, row.cluster_id, id, event.message);
    // The tasks were not at fault: they lose no try.
    store.RefundTasks(row.campaign_id, row.cluster_id);
  }
  return !rows.empty();
}

// CIG-11: the tasks that a black hole has swallowed are retried.
void TakeBlackHoles(Store& store) {
  CounterDeltas deltas;
  for (const auto& row : store.TakeBlackHoles()) {
    const auto kind = FromString<BatchKind>(row.kind).value();
    deltas.Add(row.campaign_id, row.cluster_id, kind, "terminated", -1, row.slots);
    deltas.Add(row.campaign_id, row.cluster_id, kind, "duplicate", 1, row.slots);
  }
  store.AddCounters(deltas);
}

// A campaign that is held on each of its clusters stops and says so; it continues when one of its
// placements is released.
bool StopAndContinue(Store& store) {
  bool changed = store.ReleasePlacements();
  changed |= store.RenewCanaries();
  for (const auto& row : store.StopHeldCampaigns()) {
    store.Raise(CampaignEvent("HELD_EVERYWHERE", row.id, row.state_reason));
    changed = true;
  }
  for (const auto id : store.ContinueCampaigns()) {
    store.Close(CampaignEvent("HELD_EVERYWHERE", id));
    changed = true;
  }
  return changed;
}

// Reports the clusters that have not answered a test campaign in time; whether there are any.
bool ReportUntested(Store& store, std::int64_t campaign, const Limits& limits) {
  const auto rows = store.UnansweredTests(campaign, limits.test_wait_s);
  for (const auto& row : rows) {
    auto event = CampaignEvent("NOT_TESTED", campaign);
    event.cluster_id = row.cluster_id;
    event.message =
        row.name + " was not tested: no answer within " + HumanDuration(limits.test_wait_s);
    store.Raise(event);
  }
  return !rows.empty();
}

// True when no epilogue is to come any more. `away`: clusters that are not waited for.
bool EpiloguesOver(Store& store, std::int64_t campaign, const Limits& limits,
                   const std::vector<int>& away = {}) {
  for (const auto& row : store.GiveUpEpilogues(campaign, limits.epilogue_wait_s, away)) {
    auto event = CampaignEvent("EPILOGUE_GIVEN_UP", campaign);
    event.cluster_id = row.cluster_id;
    event.message = "the epilogue could not be run on " + row.name + " within " +
                    HumanDuration(limits.epilogue_wait_s) + ": the cluster did not answer";
    store.Raise(event);
  }
  return !store.EpiloguesLeft(campaign);
}

bool EndCampaign(Store& store, std::int64_t campaign, const Limits& limits) {
  // The lock on the cursor comes first: a task that is added at this moment is either seen here, or
  // its API call finds the campaign ended and reopens it.
  const auto cursor = store.LockCursor(campaign);
  if (!cursor) return false;
  const auto left = store.TasksLeft(campaign);
  const auto end =
      DecideEnd(cursor->type == "test", left.in_flight, cursor->waiting > 0 || left.retrying);
  if (end == CampaignEnd::kNotYet) return false;
  if (end == CampaignEnd::kIfTestsTimedOut && !ReportUntested(store, campaign, limits))
    return false;
  if (!EpiloguesOver(store, campaign, limits)) return store.BeginFinishing(campaign);
  const auto message = "campaign " + std::to_string(campaign) + " is terminated";
  store.TerminateCampaign(campaign);
  // Its user has yet to answer the others.
  store.CloseEvents({.campaign_id = campaign, .classes = {"notify", "log"}});
  auto finished = CampaignEvent("FINISHED_CAMPAIGN", campaign, message);
  finished.cls = "notify";  // closed from the beginning, and its user is notified
  finished.closed_by = "updator";
  store.Raise(finished);
  log::info("{}", message);
  return true;
}

// A cancelled campaign is complete when the clusters have confirmed its kills and its epilogues
// have run. The updator waits only so long for a cluster that confirms nothing.
bool CompleteCancelled(Store& store, std::int64_t campaign, const Limits& limits) {
  std::vector<int> away;
  for (const auto& row : store.CancelledInFlight(campaign, limits.epilogue_wait_s)) {
    if (!row.overdue) return false;
    away.push_back(row.cluster_id);
  }
  if (!EpiloguesOver(store, campaign, limits, away)) return store.BeginFinishing(campaign);
  store.CompleteCancelled(campaign);
  return true;
}

}  // namespace

bool UpdateCampaigns(db::Tx& tx, const std::set<std::int64_t>& ended, bool check_all,
                     const Limits& limits) {
  Store store(tx);
  store.HoldFailedPrologues(ended);
  bool changed = ApplyWanted(store);
  changed |= HoldPlacements(store, ended);
  if (check_all || !ended.empty()) {
    changed |= StopAndContinue(store);
    TakeBlackHoles(store);  // gives tasks back: before the campaigns that may be over are looked at
  }
  // When no job has ended and nobody asked for anything, no campaign is newly over.
  if (!check_all && !changed && ended.empty()) return false;
  for (const auto& row : store.EndCandidates(check_all, ended))
    changed |= row.state == "cancelled" ? CompleteCancelled(store, row.id, limits)
                                        : EndCampaign(store, row.id, limits);
  return changed;
}

}  // namespace cigri::updator
