#include "policy/forecast/stragglers.h"

#include <algorithm>

#include "core/histogram.h"

namespace cigri::policy {
namespace {

using OnClusters = std::map<std::int64_t, LongJobs>;

void AddTo(LongJobs& sum, const LongJobs& more) {
  sum.n += more.n;
  sum.killed += more.killed;
  sum.long_n += more.long_n;
  sum.times += more.times;
}

// Where jobs are killed the long ones are killed first, and succeed elsewhere: without counting
// each kill as a long one, a calm cluster next to a rough one would look slow.
Stragglers Compare(const LongJobs& here, const LongJobs& all, double times) {
  const double killed = all.killed - here.killed, others = all.n - here.n + killed;
  if (here.long_n <= 0 || others <= 0) return {};
  // Of few jobs that none is long says little: half a one is added.
  const double usual = (all.long_n - here.long_n + killed + 0.5) / (others + 1);
  const double share = here.long_n / here.n;
  if (share < times * usual) return {};
  return {share - usual, here.times / here.long_n};
}

}  // namespace

void AddSuccesses(double n, double seconds, double threshold_s, double mean_s, LongJobs& jobs) {
  jobs.n += n;
  if (seconds <= threshold_s) return;
  jobs.long_n += n;
  jobs.times += n * seconds / mean_s;
}

void AddSuccesses(const std::vector<std::int64_t>& hist, double threshold_s, double mean_s,
                  LongJobs& jobs) {
  for (std::size_t i = 0; i < hist.size(); ++i)
    AddSuccesses(static_cast<double>(hist[i]), BucketSeconds(static_cast<int>(i)), threshold_s,
                 mean_s, jobs);
}

void AddRunning(double n, double ran_s, double mean_s, LongJobs& jobs) {
  jobs.n += n;
  jobs.long_n += n;
  jobs.times += 2 * ran_s / mean_s;
}

KnownStragglers FindStragglers(const std::vector<LongJobs>& jobs, double times) {
  KnownStragglers known;
  std::map<std::string, OnClusters> users;
  for (const auto& one : jobs) AddTo(users[one.user][one.cluster], one);
  std::map<std::int64_t, std::vector<Stragglers>> seen;
  for (const auto& [user, on] : users) {
    LongJobs all;
    for (const auto& [cluster, here] : on) AddTo(all, here);
    for (const auto& [cluster, here] : on) {
      const Stragglers found = Compare(here, all, times);
      if (found.share <= 0) continue;
      known.own[user][cluster] = found;
      seen[cluster].push_back(found);
    }
  }
  for (auto& [cluster, by] : seen) {
    if (by.size() < 2) continue;
    const auto second = [&](auto part) {
      std::nth_element(by.begin(), by.begin() + 1, by.end(),
                       [&](const auto& a, const auto& b) { return a.*part > b.*part; });
      return by[1].*part;
    };
    known.agreed[cluster] = {second(&Stragglers::share), second(&Stragglers::times)};
  }
  return known;
}

void SetStragglers(const KnownStragglers& known, std::vector<Campaign>& campaigns) {
  for (auto& c : campaigns) {
    auto here = known.agreed;
    if (const auto it = known.own.find(c.user); it != known.own.end())
      for (const auto& [cluster, found] : it->second) here[cluster] = found;
    for (auto& placement : c.placements) {
      const auto it = here.find(placement.cluster);
      const Stragglers of_it = it == here.end() ? Stragglers() : it->second;
      placement.straggler_share = static_cast<float>(of_it.share);
      placement.straggler_times = static_cast<float>(of_it.times);
    }
  }
}

}  // namespace cigri::policy
