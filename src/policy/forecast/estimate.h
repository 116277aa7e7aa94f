// What the predictor says of the next moments of a campaign on a cluster, from what is known now
// and what was remembered. No I/O, no clock.
#pragma once
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "policy/forecast/forecast.h"

namespace cigri::predictor {

/// A campaign on a cluster, as the tables have it.
struct PlacementStats {
  std::int64_t campaign_id = 0, cluster_id = 0;
  int slots = 1;  ///< of one job
  std::string rule;
  double queue_s = 5;       ///< seconds of work that may wait, with those between two polls
  double resolution_s = 0;  ///< of the cluster's times: 1 where they are whole seconds
  int max_waiting = 1;
  std::int64_t polls = 0;  ///< fresh polls at the cluster so far
  int max_resources = 0, free_resources = 0;
  std::int64_t submitted = 0;  ///< recorded, and in no poll yet
  std::int64_t waiting = 0, running = 0, ended = 0;
  double mean_age_s = 0;  ///< of the running ones
  /// Mean duration of the campaign's successes on all its clusters; nothing: too few are known.
  std::optional<double> campaign_mean_s;
  std::int64_t n_ok = 0;
  double sum_s = 0, sum_sq = 0;
  std::vector<std::int64_t> hist;               ///< of durations (core/histogram.h)
  std::optional<double> last_ratio, last_rate;  ///< predicted last
  // Of tasks that share a job.
  bool groups = false;               ///< the cluster's jobs may run several
  std::optional<int> tasks_per_job;  ///< as the JDL says
  std::int64_t jobs = 0;             ///< that have ended; tasks that shared one are one
  std::optional<double> last_cost_s;
  std::optional<double> lifetime_s;  ///< until the cluster kills a job, on average
  int walltime_s = 0;
  bool auto_walltime = false;  ///< walltime_s is the most; what is asked for is the grid's choice
  int grace_s = 0;             ///< of its walltime that a job has to save its work
};

struct Forecast {
  double job_ratio = 1;
  std::int64_t poll = 0;
  std::int64_t nsub = 0;  ///< jobs that the last step was made on (CIG-35)
  double rate = 0;        ///< ends per second
  std::optional<double> average_s, stddev_s, p50_s, p90_s, p99_s;
  std::optional<int> waiting_allowed;  ///< of its jobs in the cluster's queue, if no other waits
  /// Slot time that a job costs beyond the durations of its tasks, and how many therefore share one.
  std::optional<double> job_cost_s;
  int tasks_per_job = 1;
  std::optional<int> walltime_s;    ///< with auto_walltime: what a job asks for
  std::optional<double> overdue_s;  ///< of a campaign as a whole: a job that runs longer is overdue
};

/// How many tasks of `mean_s` seconds share a job that costs `cost_s` seconds more than they last.
int TasksPerJob(const PlacementStats& stats, std::optional<double> cost_s);

/// The walltime that a job asks for with auto_walltime (FAIR-09); nothing while too few jobs have
/// ended there, or too many still run, to say how long the longest ones take.
std::optional<int> AutoWalltime(const PlacementStats& stats);

/// What is remembered of a campaign on a cluster between two passes.
class PlacementEstimate {
 public:
  /// One step of the job ratio per fresh poll that can show jobs sent since the last step
  /// (CIG-31..48), never per pass. `now` in seconds, of a clock that does not jump.
  Forecast Update(const PlacementStats& stats, double now, double window_s);
  /// Ends within the window that Update() was given, and how long it really is.
  double ended_in_window() const { return ended_in_window_; }
  double window() const { return window_; }

 private:
  void Measure(const PlacementStats& stats, double now, double window_s);
  double Rate(const PlacementStats& stats) const;
  void MeasureCost(const PlacementStats& stats, double now);
  void Step(const PlacementStats& stats, int allowed);

  bool known_ = false;
  std::int64_t seen_ = 0;  // jobs ever that a poll has shown, at the last step
  std::int64_t poll_ = 0, nsub_ = 0;
  double ratio_ = 1, free_ = 0;
  double ended_in_window_ = 0, window_ = 0;
  // Since the last measurement of a job's cost: slot time that jobs in flight could have used.
  double cost_at_ = 0, offered_s_ = 0, worked_s_ = 0;
  std::int64_t jobs_ = 0;
  std::optional<double> cost_s_;
  std::deque<std::pair<double, std::int64_t>> ends_;  // time, jobs ended until then
};

/// Mean duration of `n_ok` successes that took `sum_s` in all; nothing when they are too few to say
/// how fast jobs of the campaign end.
std::optional<double> KnownMean(std::int64_t n_ok, double sum_s);
/// The placements of one campaign as one, on "cluster" 0. REQUIRES: !placements.empty().
PlacementStats Together(const std::vector<PlacementStats>& placements);
/// Durations of a campaign as a whole; no ratio, no queue.
Forecast WholeOf(const PlacementStats& all);
/// Durations of some placements of one campaign together.
policy::Durations DurationsOf(const std::vector<PlacementStats>& placements);

}  // namespace cigri::predictor
