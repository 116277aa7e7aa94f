// Which clusters run some jobs much longer than the others of their campaign, and how long.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "policy/model.h"

namespace cigri::policy {

/// Jobs of one user on one cluster; a long one ran longer than
/// StragglerThreshold() of forecast.h.
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

/// Sets straggler_share and straggler_times of placements on clusters where jobs of the campaign's
/// user are long at least `times` as often as his on all others together, or those of two users:
/// what one alone does must not keep others from a cluster. Of other placements they become 0.
/// `times` 0: of all.
void MeasureStragglers(const std::vector<LongJobs>& jobs, double times,
                       std::vector<Campaign>& campaigns);

}  // namespace cigri::policy
