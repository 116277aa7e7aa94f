// One decision of 1,000 campaigns x 100 clusters x 1,000,000 slots, reasons included, as a ratio
// to a sort in the same run; and how it grows with the campaigns.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "core/tune_allocator.h"
#include "policy/decide.h"

namespace cigri::policy {
namespace {

constexpr int kClusters = 100, kSlots = 1'000'000;

/// Campaigns of 1,000 to 100,000 tasks in ten requirement classes (clusters allowed, slots of a
/// job, running jobs), by a fixed generator. With `ceilings` each cluster has one of half its
/// slots, and each user does without another third of the clusters.
Snapshot Grid(int campaigns, PolicyKind policy, bool ceilings) {
  std::mt19937 random(42);
  auto in = [&](int low, int high) { return std::uniform_int_distribution(low, high)(random); };
  Snapshot s;
  s.config.policy = policy;
  for (int g = 0; g < 10; ++g) s.config.sla_groups["g" + std::to_string(g)] = 10000;
  for (int k = 1; k <= kClusters; ++k) {
    s.clusters.push_back({.id = k,
                          .name = "cluster" + std::to_string(k),
                          .max = kSlots / kClusters,
                          .free = kSlots / kClusters,
                          .waiting_allowed = 5,
                          .speed = in(1, 50) / 10.0,
                          .max_running = ceilings ? kSlots / kClusters / 2 : kNoLimit});
  }
  for (int i = 1; i <= campaigns; ++i) {
    const int cls = i % 10;
    Campaign c{.id = i,
               .user = "user" + std::to_string(i % 97),
               .project = "project" + std::to_string(i % 13),
               .priority = in(1, 9),
               .sla_group = "g" + std::to_string(cls),
               .submitted_at = double(i)};
    c.waiting = in(1000, 100000);
    for (int k = 1; k <= kClusters; ++k) {
      if (ceilings && (i % 97 * 31 + k * k * 17) % 101 < 33) continue;
      Placement placement{.cluster = k,
                          .slots = cls < 7 ? 1 : cls - 5,
                          .in_flight = in(0, 3),
                          .verified = true,
                          .affinity = in(0, 3) == 0};
      placement.running = placement.in_flight;
      placement.running_since = placement.running * 9000.0;
      if (cls == 3 && k % 7 == 0) placement.max_jobs = 50;
      if (cls == 4 && k % 5 == 0) placement.held = "BLACKLIST";
      c.placements.push_back(placement);
    }
    for (int h = 0; h < 24; ++h)
      s.usage.push_back({i, c.user, c.project, h * 400.0, 400, double(in(0, 100000))});
    s.campaigns.push_back(std::move(c));
  }
  return s;
}

// Time of this thread on a core: one thread computes, and a busy machine must not count.
double Now() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

/// The median of five runs of `work` on what `make` makes again each time, outside the clock.
template <typename Make, typename Work>
double Median(Make make, Work work) {
  std::vector<double> times;
  for (int i = 0; i < 5; ++i) {
    auto input = make();
    const double start = Now();
    work(input);
    times.push_back(Now() - start);
  }
  std::sort(times.begin(), times.end());
  return times[2];
}

double SortPairs(int n) {
  return Median(
      [n] {
        std::mt19937_64 random(7);
        std::vector<std::pair<double, std::pair<int, int>>> pairs(n);
        for (auto& p : pairs) p = {double(random()), {int(random() % 1000), int(random() % 100)}};
        return pairs;
      },
      [](auto& pairs) {
        std::sort(pairs.begin(), pairs.end(),
                  [](const auto& a, const auto& b) { return a.first < b.first; });
      });
}

double SortDoubles(int n) {
  return Median(
      [n] {
        std::mt19937_64 random(7);
        std::vector<double> values(n);
        for (auto& v : values) v = double(random());
        return values;
      },
      [](auto& values) { std::sort(values.begin(), values.end()); });
}

// Cold: a decision comes seconds after the last, behind a load from the database, and nothing of it
// is in a cache. Warm, a hundred campaigns may stay in a cache that a thousand do not fit into:
// growth is the cache's too. Both are measured, both are bounded.
int Forget() {
  static std::vector<int> memory(32 << 20);  // 128 MB
  static int turn = 0;
  ++turn;
  for (std::size_t i = 0; i < memory.size(); i += 16) memory[i] += turn;
  return memory[static_cast<std::size_t>(turn) * 16];
}

/// A grid that has decided before.
struct Case {
  Case(int campaigns, PolicyKind policy, bool ceilings)
      : snapshot(Grid(campaigns, policy, ceilings)), state(Decide(snapshot, {}, 10000, 1).next) {}
  double Decided() {
    const double start = Now();
    {
      reasons = 0;
      // As the metascheduler does: each reason is looked at, none is kept.
      const auto r = Decide(snapshot, state, 10005, 2, [this](const Reason&) { ++reasons; });
      jobs = 0;
      for (const auto& g : r.plan.allocations) jobs += g.n;
    }
    return Now() - start;
  }

  Snapshot snapshot;
  State state;
  std::size_t reasons = 0;
  long jobs = 0;
};

struct Measure {
  double cold = 0, warm = 0;
};

// Both sizes in turn: what else the machine does meets both.
std::pair<Measure, Measure> Time(Case& small, Case& large) {
  constexpr int kTurns = 11;
  std::vector<double> cold[2], warm[2];
  for (int i = 0; i < kTurns; ++i) {
    for (Case* c : {&small, &large}) {
      Forget();
      cold[c == &large].push_back(c->Decided());
    }
  }
  for (int i = 0; i < kTurns; ++i) {
    for (Case* c : {&small, &large}) {
      c->Decided();  // back into the caches
      for (int k = 0; k < 3; ++k) warm[c == &large].push_back(c->Decided());
    }
  }
  const auto median = [](std::vector<double>& times) {
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
  };
  return {{median(cold[0]), median(warm[0])}, {median(cold[1]), median(warm[1])}};
}

int Main(const std::set<std::string>& only) {
  TuneAllocator();  // as the metascheduler does
  const double pairs = SortPairs(100'000), doubles = SortDoubles(kSlots);
  std::printf("sort of 100,000 pairs %.2f ms, of 1,000,000 doubles %.2f ms\n", pairs * 1e3,
              doubles * 1e3);
  bool good = true;
  const std::pair<PolicyKind, bool> cases[] = {
      {PolicyKind::kFifo, false},     {PolicyKind::kAffinity, false},
      {PolicyKind::kUsage, false},    {PolicyKind::kUsage, true},
      {PolicyKind::kSla, false},      {PolicyKind::kFairshare, false},
      {PolicyKind::kFairshare, true}, {PolicyKind::kLottery, false},
      {PolicyKind::kStride, false},   {PolicyKind::kDynamic, false}};
  for (const auto& [policy, ceilings] : cases) {
    const bool by_slot = policy == PolicyKind::kLottery || policy == PolicyKind::kStride ||
                         policy == PolicyKind::kDynamic;
    if (!only.empty() && only.count(ToString(policy)) == 0) continue;
    Case hundred(100, policy, ceilings), thousand(1000, policy, ceilings);
    const auto [small, large] = Time(hundred, thousand);
    const double ratio = large.cold / (by_slot ? doubles : pairs);
    const double cold = large.cold / small.cold, warm = large.warm / small.warm;
    good = good && ratio <= 10 && cold <= 12 && warm <= 12;
    std::printf(
        "%-19s %8.2f ms cold, %8.2f warm  %5.2f x sort (at most 10)  for 10 x campaigns %5.2f x "
        "cold, %5.2f warm (at most 12)  %ld jobs, %zu reasons\n",
        (ToString(policy) + (ceilings ? " ceilings" : "")).c_str(), large.cold * 1e3,
        large.warm * 1e3, ratio, cold, warm, thousand.jobs, thousand.reasons);
  }
  std::puts(good ? "all measures kept" : "a measure is missed");
  return good ? 0 : 1;
}

}  // namespace
}  // namespace cigri::policy

// policy_bench [POLICY...]: these policies only, all without a name.
int main(int argc, char** argv) { return cigri::policy::Main({argv + 1, argv + argc}); }
