#include "updator/status_updates.h"

#include <algorithm>

#include "core/log.h"
#include "core/text.h"
#include "updator/store.h"

namespace cigri::updator {
namespace {

using cluster::RemoteState;

// Times of a cluster may be anything, also no number, and one that no interval can hold would make
// the pass fail each time.
double Lasting(double seconds) {
  constexpr double kLongest = 1e9;
  return std::min(std::max(0.0, seconds), kLongest);  // in this order NaN is 0
}

// Seconds between `then` (the cluster's clock) and the cluster's answer; 0 when it is not known.
double Ago(const StatusUpdate& update, double then) {
  if (update.cluster_time <= 0 || then <= 0) return 0;
  return Lasting(update.cluster_time - then);
}

// What a job's record says, which its user may have written: as far as a column can hold it.
std::optional<double> Bounded(const std::optional<double>& measured) {
  constexpr double kLeast = 1e-9, kMost = 1e15;
  if (!measured || !(*measured >= 0 && *measured <= kMost)) return std::nullopt;
  return *measured < kLeast ? 0 : *measured;
}

bool Ended(const StatusUpdate& update) { return update.remote.state == RemoteState::kEnded; }
bool HasSucceeded(const StatusUpdate& update) {
  return updator::Succeeded(update.remote.cause, update.remote.wait_status);
}

std::vector<StateChange> StateChanges(const std::vector<StatusUpdate>& updates) {
  std::vector<StateChange> out;
  for (const auto& u : updates) {
    if (Ended(u)) continue;
    const bool running = u.remote.state == RemoteState::kRunning;
    out.push_back({u.job_id, running ? JobState::kRunning : JobState::kRemoteWaiting,
                   Ago(u, u.remote.started_at), ValidUtf8(u.remote.node)});
  }
  return out;
}

// What is known of an end before an error class is looked for.
EndInfo EndOf(const StatusUpdate& update, const sql::InfoOfEndsRow& row) {
  // The program of a prologue is not the one of the tasks: only its directory can be missing.
  const auto missing =
      MissingOnCluster(update.remote.cause, update.remote.wait_status, row.verified || row.idx < 0,
                       row.program_file, row.directory);
  return {.cause = update.remote.cause,
          .wait_status = update.remote.wait_status,
          .kind = FromString<BatchKind>(row.kind).value(),
          .kill_reason = row.kill_reason,
          .test_campaign = row.test_campaign,
          .other_clusters = row.other_clusters,
          .max_tries = row.max_tries,
          .program = row.program,
          .user_requeues = row.user_requeues,
          .infrastructure = row.infrastructure,
          .preemption = row.preemption,
          .our_kill = row.our_kill,
          .uncharged_here = row.uncharged_here,
          .walltime_x = row.walltime_x,
          .memory_x = row.memory_x,
          .auto_walltime_s = row.auto_walltime_s,
          .verified = row.verified,
          .has_mem = row.has_mem,
          .auto_mem = row.auto_mem,
          .moves_files = row.moves_files,
          .checkpoint = row.checkpoint,
          .message = FailureMessage(update.remote, row.kill_detail, missing),
          .retry = row.retry ? ReadRetry(nlohmann::json::parse(*row.retry)) : RetrySettings{}};
}

ErrorClass ErrorClassOf(const sql::ErrorClassesOfRow& row) {
  return {.name = row.name,
          .title = row.title.empty() ? row.name : row.title,
          .exit_class = row.exit_class ? FromString<ExitClass>(*row.exit_class) : std::nullopt,
          .cluster_fault = row.cluster_fault,
          .action = RetryActionOf(row.action).value(),
          .n = row.n,
          .factor = row.factor};
}

// Gives each end the first active error class that it matches, and counts what classes matched:
// also the passive ones, which change nothing.
void FindErrorClasses(Store& store, std::map<std::int64_t, EndInfo>& ends) {
  std::vector<FailedJob> jobs;
  for (const auto& [id, end] : ends)
    jobs.push_back({id, ClassifyExit(end).code, end.wait_status, end.message});
  std::map<std::string, ErrorMatches> matches;
  for (const auto& row : store.ErrorClassesOf(jobs)) {
    auto& end = ends.at(row.job_id);
    // With `mem: auto` the user has asked for what the class would do.
    const bool active = row.active || (end.auto_mem && row.action == "more_memory");
    if (active && end.error_class) continue;
    if (active) end.error_class = ErrorClassOf(row);
    auto& match = matches[row.name];
    ++match.n;
    match.sample = end.message;
  }
  store.CountErrorMatches(matches);
}

// The failures among the updates, by job. A job that is not in flight any more is not among them.
std::map<std::int64_t, Failure> Failures(Store& store, const std::vector<StatusUpdate>& updates) {
  std::map<std::int64_t, const StatusUpdate*> failed;
  for (const auto& u : updates)
    if (Ended(u) && !HasSucceeded(u)) failed[u.job_id] = &u;
  std::vector<std::int64_t> ids;
  for (const auto& [id, update] : failed) ids.push_back(id);
  const auto rows = store.EndInfos(ids);
  std::map<std::int64_t, EndInfo> ends;
  for (const auto& row : rows) ends.emplace(row.job_id, EndOf(*failed.at(row.job_id), row));
  FindErrorClasses(store, ends);
  std::map<std::int64_t, Failure> out;
  for (const auto& row : rows) {
    const auto& end = ends.at(row.job_id);
    out.emplace(row.job_id, Failure{.exit = ClassifyExit(end),
                                    .job_id = row.job_id,
                                    .campaign_id = row.campaign_id,
                                    .cluster_id = row.cluster_id,
                                    .idx = row.idx,
                                    .kind = end.kind,
                                    .last_copy = !row.other_copy && !row.counted,
                                    .message = end.message});
  }
  return out;
}

std::vector<JobEnd> JobEnds(const std::vector<StatusUpdate>& updates,
                            const std::map<std::int64_t, Failure>& failures) {
  std::vector<JobEnd> out;
  for (const auto& u : updates) {
    if (!Ended(u)) continue;
    const auto failure = failures.find(u.job_id);
    if (!HasSucceeded(u) && failure == failures.end()) continue;
    JobEnd end{.job_id = u.job_id, .exit = {.success = true}};
    if (!HasSucceeded(u)) {
      end.exit = failure->second.exit;
      end.message = failure->second.message;
    }
    end.wait_status = u.remote.wait_status;
    if (u.remote.started_at > 0)
      end.started_ago_s = u.cluster_time > 0 ? Ago(u, u.remote.started_at)
                                             // It tells no clock: as if it had ended now.
                                             : Lasting(u.remote.ended_at - u.remote.started_at);
    end.ended_ago_s = Ago(u, u.remote.ended_at);
    end.node = ValidUtf8(u.remote.node);
    const auto& said = u.remote.measured;
    end.measured = {.cpu_s = Bounded(said.cpu_s),
                    .peak_mb = Bounded(said.peak_mb),
                    .read_mb = Bounded(said.read_mb),
                    .written_mb = Bounded(said.written_mb),
                    .transfer_s = Bounded(said.transfer_s)};
    if (u.remote.job_started_at > 0 && u.remote.ended_at > 0)
      end.job_lived_s = Lasting(u.remote.ended_at - u.remote.job_started_at);
    out.push_back(std::move(end));
  }
  return out;
}

// Failures with one fingerprint on a cluster are one event with a count and a sample. Equal
// fingerprints on several clusters are shown as one failure (ListFailures).
std::int64_t RaiseFailure(Store& store, const Failure& failure, const std::string& code) {
  db::Event event{.cls = "job", .code = code, .message = failure.message};
  event.campaign_id = failure.campaign_id;
  event.cluster_id = failure.cluster_id;
  event.job_id = failure.job_id;
  event.idx = failure.idx;
  event.fingerprint = FailureFingerprint(code, failure.message);
  event.sample = {{"job", failure.job_id}, {"task", failure.idx}, {"message", failure.message}};
  return store.Raise(event);
}

// One event per campaign and cluster, with a count: the user reads it and has nothing to do.
void RaisePreemptions(Store& store, const std::vector<Failure>& retried,
                      const std::map<std::int64_t, std::string>& names) {
  std::map<std::tuple<std::int64_t, std::int64_t, std::string>, int> counts;
  for (const auto& f : retried)
    if (f.exit.exit_class == ExitClass::kPreemption)
      ++counts[{f.campaign_id, f.cluster_id, f.exit.code}];
  for (const auto& [key, n] : counts) {
    const auto& [campaign, cluster, code] = key;
    db::Event event{.cls = "notify", .code = code, .message = ""};
    event.campaign_id = campaign;
    event.cluster_id = cluster;
    event.count = n;
    event.message = names.at(cluster) +
                    ": the cluster killed jobs because its local users needed their slots; the "
                    "tasks are retried and lose no try";
    store.Raise(event);
  }
}

// A fault of a cluster is a matter for its operator: one event for each kind of it, with a count.
// Many of them without a success between close the placement for a while.
void ReportClusterFaults(Store& store, const std::vector<Failure>& failures,
                         const std::map<std::int64_t, std::string>& names) {
  std::map<std::pair<std::int64_t, std::string>, std::vector<const Failure*>> kinds;
  std::map<PlacementKey, int> placements;
  for (const auto& f : failures) {
    if (!f.exit.cluster_fault) continue;
    kinds[{f.cluster_id, f.exit.fault_title}].push_back(&f);
    ++placements[{f.campaign_id, f.cluster_id}];
  }
  for (const auto& [kind, jobs] : kinds) {
    const Failure& last = *jobs.back();
    db::Event event{.cls = "cluster", .code = "CLUSTER_FAULT", .message = ""};
    event.message = names.at(kind.first) + ": " + kind.second + ": " + last.message;
    event.cluster_id = kind.first;
    event.fingerprint = kind.second;
    event.sample = {{"fault", kind.second},
                    {"job", last.job_id},
                    {"campaign", last.campaign_id},
                    {"task", last.idx},
                    {"message", last.message}};
    event.count = static_cast<std::int64_t>(jobs.size());
    store.Raise(event);
  }
  for (const auto& row : store.CountClusterFaults(placements))
    if (row.closed_s > 0)
      log::warn(
          "[{}] campaign {} gets nothing there for {}: jobs failed one after another by a fault "
          "of the cluster",
          names.at(row.cluster_id), row.campaign_id, HumanDuration(row.closed_s));
}

// A failed prologue or epilogue belongs to no task: its event is all that its user sees of it.
void RaiseScriptFailures(Store& store, const std::vector<Failure>& failures) {
  for (const auto& f : failures)
    if (f.idx < 0 && f.exit.exit_class == ExitClass::kProgram)
      RaiseFailure(store, f,
                   f.kind == BatchKind::kPrologue ? "PROLOGUE_FAILED" : "EPILOGUE_FAILED");
}

void MoveTasks(Store& store, const std::vector<Failure>& failures,
               const std::set<TaskKey>& succeeded,
               const std::map<std::int64_t, std::string>& names) {
  store.ForgetTasks(succeeded);
  store.AddTries(SumTries(failures));
  std::vector<Failure> retried, stopped;
  std::vector<std::int64_t> events;
  for (const auto& [task, f] : TasksToMove(failures, succeeded))
    (f.exit.next == NextStep::kNeedsAttention ? stopped : retried).push_back(f);
  store.PutRetries(retried);
  RaisePreemptions(store, retried, names);
  for (const auto& f : stopped) events.push_back(RaiseFailure(store, f, f.exit.code));
  store.PutNeedsAttention(stopped, events);
  RaiseScriptFailures(store, failures);
}

// What still ran when the canary jobs had failed there is no fault of its tasks either.
void RefundAfterCanaries(Store& store, const std::vector<Failure>& failures) {
  std::set<std::int64_t> campaigns;
  for (const auto& f : failures)
    if (f.exit.exit_class == ExitClass::kProgram && f.idx >= 0) campaigns.insert(f.campaign_id);
  std::set<PlacementKey> held;
  for (const auto& row : store.HeldByCanaries(campaigns))
    held.insert({row.campaign_id, row.cluster_id});
  std::vector<TaskKey> tasks;
  for (const auto& f : failures)
    if (f.exit.exit_class == ExitClass::kProgram && f.idx >= 0 &&
        held.count({f.campaign_id, f.cluster_id}) != 0)
      tasks.emplace_back(f.campaign_id, f.idx);
  store.RefundFailures(tasks, "CANARY_FAILED");
}

// Whether the end says something of the node: a job that was killed or preempted does not.
bool SaysOfNode(const EndedJob& job) {
  return job.exit.success ||
         (!job.exit.user_requeue && (job.exit.exit_class == ExitClass::kProgram ||
                                     job.exit.exit_class == ExitClass::kInfrastructure));
}

void NoteNodes(const std::vector<EndedJob>& ended, UpdateResult& result) {
  for (const auto& job : ended) {
    result.ends.push_back({job.batch_id, job.exit.success, !SaysOfNode(job)});
    if (SaysOfNode(job) && job.kind != BatchKind::kPrologue && job.kind != BatchKind::kEpilogue)
      result.node_ends.push_back({.node = {job.cluster_id, job.node},
                                  .campaign_id = job.campaign_id,
                                  .idx = job.idx,
                                  .success = job.exit.success,
                                  .charged = job.exit.exit_class == ExitClass::kProgram,
                                  .lasted_s = job.ended - job.started.value_or(job.ended),
                                  .ended = job.ended});
  }
}

}  // namespace

UpdateResult ApplyStatusUpdates(db::Tx& tx, const std::vector<StatusUpdate>& updates,
                                const std::map<std::int64_t, std::string>& cluster_names) {
  Store store(tx);
  const auto moved = store.MoveJobs(StateChanges(updates));
  const auto by_job = Failures(store, updates);
  const auto ended = store.EndJobs(JobEnds(updates, by_job));
  const auto sum = Summarise(moved, ended);
  std::vector<Failure> failures;
  for (const auto& [job, failure] : by_job) failures.push_back(failure);

  store.UpdatePlacements(sum.placements);
  store.AddSurvival(sum.survival);
  MoveTasks(store, failures, sum.succeeded, cluster_names);
  RefundAfterCanaries(store, failures);
  ReportClusterFaults(store, failures, cluster_names);
  store.AddCounters(sum.counters);

  UpdateResult result;
  for (const auto& job : moved) result.moved.emplace_back(job.job_id, job.to);
  for (const auto& job : ended) result.ended.push_back(job.job_id);
  result.campaigns = sum.campaigns;
  NoteNodes(ended, result);
  return result;
}

}  // namespace cigri::updator
