#include "updator/summarise.h"

#include <algorithm>

#include "core/histogram.h"

namespace cigri::updator {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

double RunningSince(JobState state, const std::optional<double>& started) {
  return state == JobState::kRunning ? started.value_or(0) : 0;
}

void Count(const MovedJob& job, CounterDeltas& counters) {
  if (job.rides) {
    counters.AddRider(job.campaign_id, job.cluster_id, job.kind, ToString(job.from), -1);
    counters.AddRider(job.campaign_id, job.cluster_id, job.kind, ToString(job.to), 1);
    return;
  }
  counters.Add(job.campaign_id, job.cluster_id, job.kind, ToString(job.from), -1, job.slots,
               RunningSince(job.from, job.started_before));
  counters.Add(job.campaign_id, job.cluster_id, job.kind, ToString(job.to), 1, job.slots,
               RunningSince(job.to, job.started));
}

void Count(const EndedJob& job, CounterDeltas& counters) {
  const auto add = [&](std::string_view state, int jobs, double start = 0) {
    counters.Add(job.campaign_id, job.cluster_id, job.kind, state, jobs, job.slots, start);
  };
  if (job.rides)
    counters.AddRider(job.campaign_id, job.cluster_id, job.kind, ToString(job.from), -1);
  else
    add(ToString(job.from), -1, RunningSince(job.from, job.started_before));
  if (job.exit.success) {
    add(job.counted || job.idx < 0 ? "terminated" : "duplicate", 1);
  } else {
    add("event", 1);
    add(job.exit.user_requeue ? "user_requeue" : ToString(job.exit.exit_class), 1);
  }
}

void CountIn(std::vector<std::int64_t>& hist, double seconds) {
  const auto bucket = static_cast<std::size_t>(DurationBucket(seconds));
  if (hist.size() <= bucket) hist.resize(bucket + 1);
  ++hist[bucket];
}

void Remember(PlacementSummary& placement, double lasted, std::int64_t idx) {
  if (placement.recent_s.size() == kMostRecent) {
    placement.recent_s.erase(placement.recent_s.begin());
    placement.recent_idx.erase(placement.recent_idx.begin());
  }
  placement.recent_s.push_back(lasted);
  placement.recent_idx.push_back(idx);
}

void AddSuccess(const EndedJob& job, double lasted, PlacementSummary& placement) {
  ++placement.n_ok;
  ++placement.ended;
  placement.sum_s += lasted;
  placement.sum_sq += lasted * lasted;
  placement.sum_transfer_s += job.transfer_s;
  placement.min_s = std::min(placement.min_s, lasted);
  placement.max_s = std::max(placement.max_s, lasted);
  CountIn(placement.hist, lasted);
  if (job.counted) Remember(placement, lasted, job.idx);
}

void AddClass(ExitClass exit_class, PlacementSummary& placement) {
  switch (exit_class) {
    case ExitClass::kProgram:
      ++placement.program;
      break;
    case ExitClass::kPreemption:
      ++placement.preempted;
      break;
    case ExitClass::kOurKill:
      ++placement.killed;
      break;
    case ExitClass::kInfrastructure:
    case ExitClass::kNone:  // a failure has a class
      ++placement.infrastructure;
  }
}

void AddFailure(const EndedJob& job, PlacementSummary& placement) {
  ++placement.not_ok;
  AddClass(job.exit.exit_class, placement);
  if (job.exit.exit_class != ExitClass::kProgram || job.exit.user_requeue) return;
  ++placement.ended;
  ++placement.failures;
  Remember(placement, kNever, job.idx);
}

void AddWait(const EndedJob& job, PlacementSummary& placement) {
  const double wait = std::max(0.0, *job.started - job.submitted);
  ++placement.waited;
  placement.wait_s += wait;
  CountIn(placement.waits, wait);
}

// A prologue or epilogue that the cluster lost or killed is run again; it has not failed. What came
// before an epilogue, however that ended, may be gone.
void AddScript(const EndedJob& job, PlacementSummary& placement) {
  if (job.kind == BatchKind::kEpilogue) placement.prologue = "undone";
  if (!job.exit.success && job.exit.exit_class != ExitClass::kProgram) return;
  (job.kind == BatchKind::kPrologue ? placement.prologue : placement.epilogue) =
      job.exit.success ? "done" : "failed";
}

void AddSurvival(const EndedJob& job, double lasted, PlacementSummary& placement,
                 ClusterSurvival& survival) {
  const bool killed = job.exit.exit_class == ExitClass::kPreemption;
  CountIn(killed ? survival.killed : survival.ended, lasted);
  if (killed) placement.longest_killed_s = std::max(placement.longest_killed_s.value_or(0), lasted);
}

void Add(const EndedJob& job, Summary& sum) {
  sum.campaigns.insert(job.campaign_id);
  Count(job, sum.counters);
  if (job.counted) sum.succeeded.emplace(job.campaign_id, job.idx);
  auto& placement = sum.placements[{job.campaign_id, job.cluster_id}];
  const double start = job.started.value_or(job.ended);
  const double lasted = std::max(0.0, job.ended - start);
  placement.slot_s += lasted * static_cast<double>(job.slots);
  if (!job.exit.success && job.exit.exit_class == ExitClass::kPreemption)
    placement.lost_s += lasted * static_cast<double>(job.slots);
  placement.first_start = std::min(placement.first_start, start);
  // Where nothing has begun there is nothing to clean up: what was killed while it waited, says no
  // end. Of what was lost nobody knows.
  if (job.started || job.exit.exit_class != ExitClass::kOurKill)
    placement.last_end = std::max(placement.last_end, job.ended);
  if (job.kind == BatchKind::kPrologue || job.kind == BatchKind::kEpilogue) {
    AddScript(job, placement);
    return;
  }
  if (job.kind == BatchKind::kTest) ++placement.tests;
  if (job.started) AddWait(job, placement);
  if (!job.rides) ++placement.jobs;
  // It is jobs that a cluster kills: of those that share one, the task that ran, or the last.
  const bool killed = job.exit.exit_class == ExitClass::kPreemption && !job.exit.success;
  if (job.started && (!job.rides || killed))
    AddSurvival(job, job.job_lived_s.value_or(lasted), placement, sum.survival[job.cluster_id]);
  if (job.exit.success)
    AddSuccess(job, lasted, placement);
  else
    AddFailure(job, placement);
}

int& CountOf(ExitClass exit_class, SpentTries& sum) {
  switch (exit_class) {
    case ExitClass::kInfrastructure:
      return sum.infrastructure;
    case ExitClass::kPreemption:
      return sum.preemption;
    case ExitClass::kOurKill:
      return sum.our_kill;
    default:
      return sum.program;
  }
}

}  // namespace

Summary Summarise(const std::vector<MovedJob>& moved, const std::vector<EndedJob>& ended) {
  Summary sum;
  for (const auto& job : moved) Count(job, sum.counters);
  for (const auto& job : ended) Add(job, sum);
  return sum;
}

std::map<TaskKey, SpentTries> SumTries(const std::vector<Failure>& failures) {
  std::map<TaskKey, SpentTries> sums;
  for (const auto& failure : failures) {
    if (failure.idx < 0) continue;
    auto& sum = sums[{failure.campaign_id, failure.idx}];
    ++sum.attempts;
    sum.last_cluster = failure.cluster_id;
    sum.walltime_x *= failure.exit.walltime_x;
    sum.memory_x *= failure.exit.memory_x;
    sum.least_walltime_s = std::max(sum.least_walltime_s, failure.exit.least_walltime_s);
    if (failure.exit.user_requeue)
      ++sum.user_requeues;
    else
      ++CountOf(failure.exit.exit_class, sum);
  }
  return sums;
}

std::map<TaskKey, Failure> TasksToMove(const std::vector<Failure>& failures,
                                       const std::set<TaskKey>& succeeded) {
  std::map<TaskKey, Failure> out;
  for (const auto& failure : failures) {
    const TaskKey task{failure.campaign_id, failure.idx};
    if (failure.idx >= 0 && failure.last_copy && failure.exit.next != NextStep::kNothing &&
        succeeded.count(task) == 0)
      out.insert_or_assign(task, failure);
  }
  return out;
}

}  // namespace cigri::updator
