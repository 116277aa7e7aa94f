#include "runner/decide.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace cigri::runner {

namespace {
constexpr std::size_t kMostWants = 16;
}

std::vector<Want> Room(const std::vector<Candidate>& candidates, Ceiling ceiling, int most) {
  std::vector<Want> wants;
  if (!ceiling.open) return wants;
  if (ceiling.half_open_limit) most = std::min(most, *ceiling.half_open_limit);
  const std::size_t most_wants = ceiling.sparing || ceiling.half_open_limit ? 1 : kMostWants;
  for (const auto& c : candidates) {
    std::int64_t n = c.n - c.in_flight_kind;
    if (c.max_jobs) n = std::min(n, *c.max_jobs - c.in_flight);
    if (ceiling.max_jobs) n = std::min(n, *ceiling.max_jobs - ceiling.jobs);
    if (ceiling.max_slots) n = std::min(n, (*ceiling.max_slots - ceiling.slots) / c.slots);
    const int shared =
        c.kind == BatchKind::kTask
            ? TasksPerJob(std::min(c.tasks_per_job, c.max_array), c.fresh + c.retried, c.n)
            : 1;
    n = std::min<std::int64_t>(n, std::max(1, most / shared));
    if (ceiling.sparing) n = std::min<std::int64_t>(n, c.max_array);
    if (n <= 0) continue;
    wants.push_back(
        {c.campaign_id, c.kind, static_cast<int>(n), c.slots, c.fresh, c.cluster_login, shared});
    ceiling.jobs += n;
    ceiling.slots += n * c.slots;
    most -= static_cast<int>(n) * shared;
    // What is claimed now must be sent within its window, one POST after the other.
    if (most <= 0 || wants.size() == most_wants) break;
  }
  return wants;
}

int AutoMemory(std::int64_t start_mb, const MemoryUsed& used, double memory_x) {
  constexpr std::int64_t kEnough = 10;
  // Memory varies from run to run, and a node's own limit counts more than a process's pages.
  constexpr double kMargin = 1.25, kLeast = 64, kFirstGrowth = 1024;
  double mb = static_cast<double>(start_mb);
  if (used.n >= kEnough) mb = std::max(kLeast, used.most * kMargin);
  if (mb == 0 && memory_x > 1) mb = std::max(kFirstGrowth, used.most_failed);
  return static_cast<int>(std::min(std::ceil(mb * memory_x), 1e9));
}

int RetryShare(int n, std::int64_t fresh) {
  const std::int64_t kept = std::min<std::int64_t>(fresh, n / 4);
  return static_cast<int>(n - kept);
}

std::vector<std::vector<ClaimedTask>> ByGrowth(const std::vector<ClaimedTask>& tasks) {
  std::map<std::tuple<double, int, double, bool>, std::vector<ClaimedTask>> groups;
  for (const auto& t : tasks)
    groups[{t.walltime_x, t.least_walltime_s, t.memory_x, t.alone}].push_back(t);
  std::vector<std::vector<ClaimedTask>> out;
  for (auto& [growth, group] : groups) out.push_back(std::move(group));
  return out;
}

int TasksPerJob(int most, std::int64_t left, int n) {
  // Twice as many jobs as run at once, so that they end together. Each claim sees fewer tasks left: without a least, the last ones would be as many jobs.
  const std::int64_t jobs = 2 * std::max<std::int64_t>(1, n);
  const int least = std::max(1, most / 4);
  return static_cast<int>(
      std::clamp<std::int64_t>((left + jobs - 1) / jobs, least, std::max(1, most)));
}

bool Rides(int element, int n, int tasks_per_job) {
  return (element + 1) % tasks_per_job != 0 && element + 1 != n;
}

int JobsOf(const std::vector<ClaimedTask>& tasks, int tasks_per_job) {
  const auto alone = std::count_if(tasks.begin(), tasks.end(), [](auto& t) { return t.alone; });
  const auto others = static_cast<std::int64_t>(tasks.size()) - alone;
  return static_cast<int>(alone + (others + tasks_per_job - 1) / tasks_per_job);
}

int LastJob(int n, int tasks_per_job) { return (n - 1) / tasks_per_job * tasks_per_job; }

std::vector<std::pair<int, int>> Cut(int n, int most) {
  std::vector<std::pair<int, int>> pieces;
  for (int from = 0; from < n; from += most) pieces.emplace_back(from, std::min(most, n - from));
  return pieces;
}

bool AbsenceIsFinal(const Lookup& lookup) {
  if (!lookup.complete) return false;
  if (lookup.revoked) return true;
  return lookup.send_over && lookup.absences >= 1 && lookup.quiet_s >= lookup.absence_delay_s;
}

double NextLookupDelay(int absences) {
  return std::min(60.0, static_cast<double>(1 << std::min(absences, 6)));
}

}  // namespace cigri::runner
