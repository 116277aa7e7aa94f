// Which clusters run some jobs much longer than the others of their campaign, and how long.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "policy/model.h"

namespace cigri::policy {

/// Jobs of one user on one cluster; a long one ran longer than StragglerThreshold() of forecast.h.
struct LongJobs {
  std::string user{};
  std::int64_t cluster = 0;
  double n = 0;       ///< successes, and jobs that run long already
  double killed = 0;  ///< by the cluster: they might have become long
  double long_n = 0;  ///< of `n`, those that are long...
  double times = 0;   ///< ...and how many times the mean of its campaign each lasts, summed up
};

/// Adds `n` successes of about `seconds` each. `mean_s`: of the campaign, > 0.
void AddSuccesses(double n, double seconds, double threshold_s, double mean_s, LongJobs& jobs);
/// Adds the successes of a campaign, from the histogram of their durations (core/histogram.h).
void AddSuccesses(const std::vector<std::int64_t>& hist, double threshold_s, double mean_s,
                  LongJobs& jobs);
/// Adds `n` jobs that run, each longer than the threshold, and `ran_s` in all: such jobs are taken
/// to be in the middle.
void AddRunning(double n, double ran_s, double mean_s, LongJobs& jobs);

/// Part of the jobs on a cluster that run long there and not elsewhere; how many times the mean of
/// their campaign they last.
struct Stragglers {
  double share = 0, times = 0;
};
struct KnownStragglers {
  std::map<std::string, std::map<std::int64_t, Stragglers>> own{};  ///< by user and cluster
  std::map<std::int64_t, Stragglers> agreed{};  ///< the least that two users have seen, by cluster
};

/// Where jobs of a user are long at least `times` as often as his on all other clusters together.
KnownStragglers FindStragglers(const std::vector<LongJobs>& jobs, double times);
/// Sets straggler_share and straggler_times of all placements: by what the campaign's user has
/// seen, else by what two others have. What one alone does must not keep others from a cluster.
void SetStragglers(const KnownStragglers& known, std::vector<Campaign>& campaigns);

}  // namespace cigri::policy
