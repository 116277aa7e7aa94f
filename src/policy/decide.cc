#include "policy/decide.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "policy/allocation_state.h"
#include "policy/guard.h"
#include "policy/limits.h"
#include "policy/multi_slot.h"
#include "policy/policy.h"
#include "policy/preempt.h"
#include "policy/recall.h"
#include "policy/slot_life.h"
#include "policy/stragglers.h"
#include "policy/tests_ahead.h"
#include "policy/why.h"

namespace cigri::policy {
namespace {

constexpr auto kPlentyOfSlots = std::numeric_limits<std::int32_t>::max();

// What is served before what: tests (CIG-21), urgent (GRID-27), everybody, scavengers (TECH-08);
// levels when they are strict (GRID-21); in each the first results of a campaign (CIG-16).
using Tier = std::tuple<int, int, int>;

Tier TierOf(const AllocationState& alloc, const Campaign& c, bool first_results, bool test_first) {
  const PolicyConfig& config = alloc.config;
  if (test_first) return {0, 0, 0};
  if (c.cls == "urgent") return {1, 0, 0};
  const int level = config.strict_priority ? -c.priority : 0;
  return {c.cls == "scavenger" ? 3 : 2, level, first_results ? 0 : 1};
}

// Places of campaigns, with the jobs of each that go ahead of everybody's others (CIG-16): one, or
// as many as first_results slots hold. More wide ones would be more than their user's share.
std::map<int, std::int64_t> FirstResults(const AllocationState& alloc, const UsageSummary& usage) {
  std::map<int, std::int64_t> jobs;
  if (alloc.config.first_results <= 0) return jobs;
  auto missing = MissingFirstResults(alloc, usage);
  for (std::size_t i = 0; i < alloc.campaigns.size(); ++i) {
    const CampaignAllocation& c = alloc.campaigns[i];
    if (!c.in_play || c.row->test) continue;
    auto& of_user = missing[c.row->user];
    const std::int64_t own = alloc.config.first_results - c.row->done - c.held_jobs;
    if (of_user <= 0 || own <= 0 || c.placements_begin == c.placements_end) continue;
    const int slots = alloc.placements[c.placements_begin].slots;
    const std::int64_t n =
        std::min({std::max<std::int64_t>(1, of_user / slots), own, c.left + c.overdue});
    if (n <= 0) continue;
    jobs[static_cast<int>(i)] = n;
    of_user -= n * slots;
  }
  return jobs;
}

void ServeTiers(AllocationState& alloc, const std::vector<bool>& tests, Context& context) {
  std::map<Tier, std::vector<int>> tiers;
  const auto first = FirstResults(alloc, context.usage_summary);
  for (std::size_t i = 0; i < alloc.campaigns.size(); ++i) {
    const CampaignAllocation& c = alloc.campaigns[i];
    const int at = static_cast<int>(i);
    if (!c.in_play || c.left + c.overdue == 0) continue;
    if (first.count(at) != 0) tiers[TierOf(alloc, *c.row, true, false)].push_back(at);
    tiers[TierOf(alloc, *c.row, false, tests[i])].push_back(at);
  }
  for (const auto& [tier, members] : tiers) {
    const auto [kind, level, part] = tier;
    const bool firsts = kind >= 2 && part == 0;
    for (const int i : members) alloc.campaigns[i].cap = firsts ? first.at(i) : kPlentyOfSlots;
    // Those who go ahead share by users, whatever the policy goes by.
    const Policy& policy = PolicyOf(kind == 0 ? PolicyKind::kFifo
                                    : firsts  ? PolicyKind::kFairshare
                                              : alloc.config.policy);
    policy.Serve(alloc, members, context);
    for (const int i : members) alloc.campaigns[i].cap = kPlentyOfSlots;
  }
}

// A multi-slot job that is served in its turn frees what was kept from those before it: ask them
// again.
void ServeRounds(AllocationState& alloc, const std::vector<bool>& tests, Context& context) {
  double before = 0;
  do {
    before = alloc.TotalRoom();
    ServeTiers(alloc, tests, context);
  } while (alloc.keeps_slots && alloc.TotalRoom() < before);
}

// Idle slots of all clusters come before places in the queue of any: a task that waits in a queue
// cannot take a slot elsewhere.
void ServeAll(AllocationState& alloc, Context& context) {
  const auto tests = TestsAhead(alloc);
  const auto any = [&](auto has) {
    return std::any_of(alloc.clusters.begin(), alloc.clusters.end(),
                       [&](const auto& c) { return c.block == Code::kNone && has(c); });
  };
  if (any([](const auto& c) { return c.free > 0; })) {
    std::vector<double> queues;
    for (auto& c : alloc.clusters) c.queue_later = std::exchange(c.queue, 0);
    for (auto& c : alloc.classes) queues.push_back(std::exchange(c.queue, 0));
    alloc.whole_slots = true;
    ServeRounds(alloc, tests, context);
    alloc.whole_slots = false;
    auto queue = queues.begin();
    for (auto& c : alloc.clusters) c.queue = std::exchange(c.queue_later, 0);
    for (auto& c : alloc.classes) c.queue = *queue++;
    const auto more = [](const auto& c) { return c.queue > 0; };
    if (!alloc.ratios && !any(more) &&
        std::none_of(alloc.classes.begin(), alloc.classes.end(), more))
      return;
    for (auto& meter : alloc.meters) meter.Release();
    for (auto& c : alloc.clusters) c.free += c.beyond = std::exchange(c.more, 0);
    for (auto& c : alloc.classes) c.free += std::exchange(c.more, 0);
  }
  ServeRounds(alloc, tests, context);
}

// CIG-30: a campaign that asked for it gets copies of its last jobs where slots stay free.
void Finalize(AllocationState& alloc) {
  for (auto& c : alloc.campaigns) {
    if (!c.row->replicas || c.row->test || c.row->waiting > 0 || !c.in_play) continue;
    std::int64_t single = 0, copies = 0;
    for (int l = c.placements_begin; l < c.placements_end; ++l) {
      single += alloc.placements[l].row->single;
      copies += alloc.placements[l].copies;
    }
    for (int l = c.placements_begin; l < c.placements_end && copies < single; ++l) {
      // Elsewhere than the first copy, when there is an elsewhere.
      const std::int64_t here = c.open_placements < 2 ? 0 : alloc.placements[l].row->single;
      copies += alloc.TakeSpare(l, std::min(single - copies, single - here));
    }
  }
}

void AddAllocations(const AllocationState& alloc, bool shadow, Plan& plan) {
  std::vector<int> rank(alloc.clusters.size(), 0);
  plan.allocations.reserve(plan.allocations.size() + alloc.served.size());
  for (const int l : alloc.served) {
    const PlacementAllocation* placement = &alloc.placements[l];
    Allocation allocation{.campaign = alloc.campaigns[placement->campaign].row->id,
                          .cluster = alloc.clusters[placement->cluster].row->id,
                          .shadow = shadow};
    auto add = [&](std::int64_t n, BatchKind kind) {
      if (n <= 0) return;
      allocation.n = static_cast<int>(n);
      allocation.kind = kind;
      allocation.rank = ++rank[placement->cluster];
      plan.allocations.push_back(allocation);
    };
    add(placement->prologue ? 1 : 0, BatchKind::kPrologue);
    add(placement->copies, BatchKind::kReplica);
    add(placement->given, alloc.campaigns[placement->campaign].scheduler->Kind());
  }
}

// Only observed clusters are decided last and on their own: what is shown there must not keep
// tasks from clusters that really run them, nor change the state.
void ServeObserved(AllocationState& alloc, const Context& context, Plan& plan) {
  bool any = false;
  for (auto& c : alloc.clusters) {
    const bool observed = c.block == Code::kObserved;
    any = any || observed;
    c.block = observed ? Code::kNone : Code::kObserved;
  }
  if (!any) return;
  for (const int l : alloc.served) alloc.placements[l].served = false;
  alloc.served.clear();
  for (auto& c : alloc.campaigns) c.left = c.row->waiting;
  State scratch = context.next;
  Context shown{context.snapshot, context.usage_summary, scratch, context.random};
  ServeAll(alloc, shown);
  AddAllocations(alloc, true, plan);
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
  // Who wanted nothing at the last decision comes back as new.
  std::erase_if(next.lags, [&](const auto& e) { return e.second.at != next.decided_at; });
  std::erase_if(next.slot_lives, [&](const auto& e) { return !in(clusters, e.first); });
  next.decided_at = now;
  return next;
}

}  // namespace

PlanResult Decide(const Snapshot& snapshot, State carried, double now, std::uint64_t seed,
                  const TakeReason& reasons) {
  PlanResult result;
  result.next = Carry(snapshot, std::move(carried), now);
  LearnSlotLives(snapshot, now, result.next);
  AllocationState alloc(snapshot, result.next, now);
  AddLimits(alloc, result.next);
  HoldBlackHoles(alloc, result);
  WaitForAffinity(alloc);
  KeepFromUnsafeSlots(alloc, result.next);
  KeepFromStragglers(alloc);
  const UsageSummary usage_summary = SummariseUsage(alloc, snapshot);
  Random random(seed);
  Context context{snapshot, usage_summary, result.next, random};
  FindMultiSlot(alloc, result.next);
  ServeReserved(alloc);
  ServeAll(alloc, context);
  Finalize(alloc);
  AgeMultiSlot(alloc, result.next);
  SpendRates(alloc, result.next);
  AddAllocations(alloc, false, result.plan);
  result.plan.preempt = ChooseVictims(alloc, snapshot);
  if (reasons) ReasonsOf(alloc, result.next, reasons);
  result.plan.recalls = ChooseRecalls(alloc);
  if (reasons) ReasonsOf(alloc, result.plan.recalls, reasons);
  ServeObserved(alloc, context, result.plan);
  return result;
}

PlanResult Decide(const Snapshot& snapshot, State carried, double now, std::uint64_t seed,
                  bool reasons) {
  std::vector<Reason> made;
  const TakeReason take = [&](const Reason& reason) { made.push_back(reason); };
  PlanResult result =
      Decide(snapshot, std::move(carried), now, seed, reasons ? take : TakeReason());
  result.reasons = std::move(made);
  return result;
}

}  // namespace cigri::policy
