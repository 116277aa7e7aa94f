// Sums up a set of jobs that moved or ended: by campaign and cluster, by cluster, by task, and as
// counters. Pure functions; store.h writes the results.
#pragma once
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/counters.h"
#include "updator/classify.h"

namespace cigri::updator {

using TaskKey = std::pair<std::int64_t, std::int64_t>;       // campaign, index
using PlacementKey = std::pair<std::int64_t, std::int64_t>;  // campaign, cluster

/// A job in flight whose state has changed. Times are seconds since the epoch.
struct MovedJob {
  std::int64_t job_id = 0, campaign_id = 0, cluster_id = 0, slots = 1;
  BatchKind kind = BatchKind::kTask;
  JobState from = JobState::kSubmitted, to = JobState::kSubmitted;
  std::optional<double> started_before, started;
  bool rides = false;  ///< it shares its job with a later task, which has the slots
};

/// A job that is not in flight any more.
struct EndedJob {
  std::int64_t job_id = 0, campaign_id = 0, cluster_id = 0, idx = -1, slots = 1;
  BatchKind kind = BatchKind::kTask;
  JobState from = JobState::kSubmitted;
  bool counted = false;  ///< this is the one success of its task
  std::optional<double> started_before, started;
  double ended = 0;
  ExitInfo exit;
  double submitted = 0;
  std::string node = {};
  std::int64_t batch_id = 0;
  bool rides = false;
  std::optional<double> job_lived_s;  ///< when it shared its job with others
  double transfer_s = 0;              ///< of its time
};

/// A failed job and what becomes of its task.
struct Failure {
  ExitInfo exit;
  std::int64_t job_id = 0, campaign_id = 0, cluster_id = 0, idx = -1;
  BatchKind kind = BatchKind::kTask;
  bool last_copy = true;  ///< no other job of its task is in flight, and none has succeeded
  std::string message;
};

/// What the ends say of a campaign on a cluster.
struct PlacementSummary {
  int ended = 0, failures = 0, tests = 0;  ///< `ended`: successes, and failures of the program
  std::int64_t n_ok = 0, not_ok = 0;
  std::int64_t jobs = 0;  ///< of tasks; those that shared one are one
  double sum_s = 0, sum_sq = 0, slot_s = 0;  ///< durations of successes; slot-seconds of all
  double sum_transfer_s = 0;                 ///< of sum_s
  double min_s = std::numeric_limits<double>::infinity(), max_s = 0;
  double first_start = std::numeric_limits<double>::infinity(), last_end = 0;
  /// Failures by exit class; slot-seconds of preempted jobs; the waits of jobs that had started.
  std::int64_t program = 0, infrastructure = 0, preempted = 0, killed = 0, waited = 0;
  double lost_s = 0, wait_s = 0;
  std::vector<std::int64_t> waits;
  std::vector<std::int64_t> hist;        ///< durations of successes (core/histogram.h)
  std::vector<double> recent_s;          ///< the last ends; a failure of the program is infinite
  std::vector<std::int64_t> recent_idx;  ///< and their tasks
  std::optional<double> longest_killed_s;
  /// "done" or "failed", when one ended for sure; of a prologue "undone" when an epilogue ended.
  std::optional<std::string> prologue, epilogue;
};

/// How long jobs lived on a cluster, as histograms: those that it killed for its own users, and
/// the others.
struct ClusterSurvival {
  std::vector<std::int64_t> killed, ended;
};

/// What the failed jobs of a task have used up.
struct SpentTries {
  int attempts = 0, program = 0, user_requeues = 0, infrastructure = 0, preemption = 0;
  int our_kill = 0;
  double walltime_x = 1, memory_x = 1;  ///< by how much more its next job gets
  std::optional<int> least_walltime_s = {};  ///< of its next job
  std::int64_t last_cluster = 0;
};

struct Summary {
  CounterDeltas counters;
  std::map<PlacementKey, PlacementSummary> placements;
  std::map<std::int64_t, ClusterSurvival> survival;  ///< by cluster
  std::set<TaskKey> succeeded;                       ///< tasks that these ends have completed
  std::set<std::int64_t> campaigns;                  ///< that had an end
};

constexpr std::size_t kMostRecent =
    20;  ///< ends kept in recent_s; policy key black_hole.count's limit

Summary Summarise(const std::vector<MovedJob>& moved, const std::vector<EndedJob>& ended);

std::map<TaskKey, SpentTries> SumTries(const std::vector<Failure>& failures);

/// The failures after which a task has to go somewhere: one of each task, the last in `failures`,
/// unless a job of the task is still in flight or the task is in `succeeded`.
std::map<TaskKey, Failure> TasksToMove(const std::vector<Failure>& failures,
                                       const std::set<TaskKey>& succeeded);

}  // namespace cigri::updator
