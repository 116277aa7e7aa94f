#include "policy/decide.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "policy/guard.h"
#include "policy/ledger.h"
#include "policy/limits.h"
#include "policy/policy.h"
#include "policy/preempt.h"
#include "policy/why.h"
#include "policy/wide.h"

namespace cigri::policy {
namespace {

constexpr auto kPlenty = std::numeric_limits<std::int32_t>::max();

// What is served before what: tests (CIG-21), urgent (GRID-27), everybody, scavengers (TECH-08);
// levels when they are strict (GRID-21); in each the first results of a campaign (CIG-16).
using Tier = std::tuple<int, int, int>;

Tier TierOf(const Ledger& ledger, const Campaign& c, bool first_results) {
  const PolicyConfig& config = ledger.config;
  if (c.test && config.test_first) return {0, 0, 0};
  if (c.cls == "urgent") return {1, 0, 0};
  const int level = config.strict_priority ? -c.priority : 0;
  return {c.cls == "scavenger" ? 3 : 2, level, first_results ? 0 : 1};
}

std::int64_t MissingFirstResults(const Ledger& ledger, const CampaignBook& c) {
  if (c.row->test) return 0;
  return ledger.config.first_results - c.row->done - c.held_jobs;
}

void ServeTiers(Ledger& ledger, Context& context) {
  std::map<Tier, std::vector<int>> tiers;
  for (std::size_t i = 0; i < ledger.campaigns.size(); ++i) {
    const CampaignBook& c = ledger.campaigns[i];
    if (!c.in_play || c.left + c.overdue == 0) continue;
    if (MissingFirstResults(ledger, c) > 0)
      tiers[TierOf(ledger, *c.row, true)].push_back(static_cast<int>(i));
    tiers[TierOf(ledger, *c.row, false)].push_back(static_cast<int>(i));
  }
  for (const auto& [tier, members] : tiers) {
    const auto [kind, level, part] = tier;
    for (const int i : members)
      ledger.campaigns[i].cap =
          kind >= 2 && part == 0 ? MissingFirstResults(ledger, ledger.campaigns[i]) : kPlenty;
    const Policy& policy = PolicyOf(kind == 0 ? PolicyKind::kFifo : ledger.config.policy);
    policy.Serve(ledger, members, context);
    for (const int i : members) ledger.campaigns[i].cap = kPlenty;
  }
}

// A wide job that is served in its turn frees what was kept from those before it: ask them again.
void ServeAll(Ledger& ledger, Context& context) {
  double before = 0;
  do {
    before = ledger.TotalRoom();
    ServeTiers(ledger, context);
  } while (ledger.config.wide_gap >= 0 && ledger.TotalRoom() < before);
}

// CIG-30: a campaign that asked for it gets copies of its last jobs where slots stay free.
void Finalize(Ledger& ledger) {
  for (auto& c : ledger.campaigns) {
    if (!c.row->replicas || c.row->test || c.row->waiting > 0 || !c.in_play) continue;
    std::int64_t single = 0, copies = 0;
    for (int l = c.lanes_begin; l < c.lanes_end; ++l) {
      single += ledger.lanes[l].row->single;
      copies += ledger.lanes[l].copies;
    }
    for (int l = c.lanes_begin; l < c.lanes_end && copies < single; ++l) {
      // Elsewhere than the first copy, when there is an elsewhere.
      const std::int64_t here = c.open_lanes < 2 ? 0 : ledger.lanes[l].row->single;
      copies += ledger.TakeSpare(l, std::min(single - copies, single - here));
    }
  }
}

void AddAllocations(const Ledger& ledger, bool shadow, Plan& plan) {
  std::vector<int> rank(ledger.clusters.size(), 0);
  plan.allocations.reserve(plan.allocations.size() + ledger.served.size());
  for (const int l : ledger.served) {
    const LaneBook* lane = &ledger.lanes[l];
    Allocation allocation{.campaign = ledger.campaigns[lane->campaign].row->id,
                          .cluster = ledger.clusters[lane->cluster].row->id,
                          .shadow = shadow};
    auto add = [&](std::int64_t n, BatchKind kind) {
      if (n <= 0) return;
      allocation.n = static_cast<int>(n);
      allocation.kind = kind;
      allocation.rank = ++rank[lane->cluster];
      plan.allocations.push_back(allocation);
    };
    add(lane->prologue ? 1 : 0, BatchKind::kPrologue);
    add(lane->copies, BatchKind::kReplica);
    add(lane->given, ledger.campaigns[lane->campaign].scheduler->Kind());
  }
}

// Only observed clusters are decided last and by themselves: what is shown there must not keep
// tasks from clusters that really run them, nor change the state.
void ServeObserved(Ledger& ledger, const Context& context, Plan& plan) {
  bool any = false;
  for (auto& c : ledger.clusters) {
    const bool observed = c.block == Code::kObserved;
    any = any || observed;
    c.block = observed ? Code::kNone : Code::kObserved;
  }
  if (!any) return;
  for (const int l : ledger.served) ledger.lanes[l].served = false;
  ledger.served.clear();
  for (auto& c : ledger.campaigns) c.left = c.row->waiting;
  State scratch = context.next;
  Context shown{context.snapshot, context.standing, scratch, context.random};
  ServeTiers(ledger, shown);
  AddAllocations(ledger, true, plan);
}

// What the state says of campaigns and clusters that are gone is dropped.
State Carry(const Snapshot& snapshot, State next, double now) {
  // Stride: who wants nothing for a while comes back as new, without credit for its absence.
  std::vector<std::int64_t> campaigns, clusters, wanting;
  for (const auto& c : snapshot.campaigns) {
    campaigns.push_back(c.id);
    if (c.waiting > 0) wanting.push_back(c.id);
  }
  for (const auto& c : snapshot.clusters) clusters.push_back(c.id);
  for (auto* ids : {&campaigns, &clusters, &wanting})
    if (!std::is_sorted(ids->begin(), ids->end())) std::sort(ids->begin(), ids->end());
  auto in = [](const std::vector<std::int64_t>& ids, std::int64_t id) {
    return std::binary_search(ids.begin(), ids.end(), id);
  };
  auto gone = [&](std::int64_t id) { return !in(campaigns, id); };
  auto pair_gone = [&](const State::Pair& p) { return gone(p.first) || !in(clusters, p.second); };
  std::erase_if(next.pass, [&](const auto& e) { return !in(wanting, e.first); });
  std::erase_if(next.credit, [&](const auto& e) { return gone(e.first); });
  std::erase_if(next.ageing, [&](const auto& e) { return pair_gone(e.first); });
  std::erase_if(next.holds,
                [&](const auto& e) { return pair_gone(e.first) || e.second.until <= now; });
  next.decided_at = now;
  return next;
}

}  // namespace

PlanResult Decide(const Snapshot& snapshot, State carried, double now, std::uint64_t seed,
                  bool reasons) {
  PlanResult result;
  result.next = Carry(snapshot, std::move(carried), now);
  Ledger ledger(snapshot, result.next, now);
  AddLimits(ledger, result.next);
  HoldSinks(ledger, result);
  WaitForAffinity(ledger);
  const Standing standing = StandingOf(ledger, snapshot);
  Random random(seed);
  Context context{snapshot, standing, result.next, random};
  FindWide(ledger, result.next);
  ServeHeldWide(ledger);
  ServeAll(ledger, context);
  Finalize(ledger);
  AgeWide(ledger, result.next);
  SpendRates(ledger, result.next);
  AddAllocations(ledger, false, result.plan);
  result.plan.preempt = ChooseVictims(ledger, snapshot);
  if (reasons) result.reasons = ReasonsOf(ledger, result.next);
  ServeObserved(ledger, context, result.plan);
  return result;
}

}  // namespace cigri::policy
