// How long jobs take and when a campaign will end (CIG-31, CIG-48): estimates with an interval.
#pragma once
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace cigri::policy {

/// Durations of one campaign on one cluster (or on all): successes, and the ages of the jobs that
/// run, of which nothing is known but "at least this long".
struct Durations {
  std::vector<double> ended{};  ///< seconds; need not be sorted
  std::vector<double> running{};
};

/// The duration below which a part `q` of the jobs stays, with running ones counted as what they
/// are (Kaplan-Meier). Nothing when too many still run to say.
std::optional<double> Quantile(const Durations& durations, double q);
/// Mean of the successes; running ones older than it raise it (their age stands for them).
std::optional<double> Mean(const Durations& durations);

/// TECH-12: a job that runs longer is overdue: learnt from the campaign's own successes, published
/// with the forecasts. Nothing before `least` successes.
/// `hist`: core/histogram.h.
std::optional<double> StragglerThreshold(const std::vector<std::int64_t>& hist, int least = 10);

/// How long half of the jobs live on a cluster before it kills them for its own users (design
/// section 8), from histograms (core/histogram.h) of those it `killed` and of those that `ended`
/// otherwise, which lived at least so long (Kaplan-Meier). Nothing when it kills less than half.
std::optional<double> MedianSurvival(const std::vector<std::int64_t>& killed,
                                     const std::vector<std::int64_t>& ended);

/// How long jobs run on a cluster for each one that is killed there, by the same histograms; 0 =
/// none is killed.
double MeanLife(const std::vector<std::int64_t>& killed, const std::vector<std::int64_t>& ended);

struct Work {
  std::int64_t waiting = 0;  ///< tasks not yet sent
  std::int64_t at_once = 0;  ///< jobs of it that run at the same time now
  Durations durations{};
  double done_in_window = 0;  ///< ends in the last `window_s` seconds: its throughput
  double window_s = 0;
};

/// Seconds until the end: likely between `low` and `high` (about nine times in ten).
struct Interval {
  double low = 0, likely = 0, high = 0;
};
/// Nothing when no job has ended and none runs.
std::optional<Interval> TimeLeft(const Work& work);

/// Jobs per second; 0 when the window is empty.
double Throughput(const Work& work);

}  // namespace cigri::policy
