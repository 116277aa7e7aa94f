#include "updator/status_updates.h"

#include <algorithm>

#include "core/text.h"
#include "updator/store.h"

namespace cigri::updator {
namespace {

using cluster::RemoteState;

// Seconds between `then` (the cluster's clock) and the cluster's answer; 0 when it is not known.
double Ago(const StatusUpdate& update, double then) {
  if (update.cluster_time <= 0 || then <= 0) return 0;
  return std::max(0.0, update.cluster_time - then);
}

bool Ended(const StatusUpdate& update) { return update.remote.state == RemoteState::kEnded; }
bool Succeeded(const StatusUpdate& update) {
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

template <typename Row>
Failure FailureOf(const StatusUpdate& update, const Row& row) {
  const auto kind = FromString<BatchKind>(row.kind).value();
  const EndInfo end{.cause = update.remote.cause,
                    .wait_status = update.remote.wait_status,
                    .kind = kind,
                    .kill_reason = row.kill_reason,
                    .test_campaign = row.test_campaign,
                    .other_clusters = row.other_clusters,
                    .max_tries = row.max_tries,
                    .program = row.program,
                    .user_requeues = row.user_requeues,
                    .uncharged = row.uncharged,
                    .uncharged_here = row.uncharged_here};
  // The program of a prologue is not the one of the tasks: only its directory can be missing.
  const auto missing = MissingOnCluster(end.cause, end.wait_status, row.verified || row.idx < 0,
                                        row.program_file, row.directory);
  return {.exit = ClassifyExit(end),
          .job_id = row.job_id,
          .campaign_id = row.campaign_id,
          .cluster_id = row.cluster_id,
          .idx = row.idx,
          .kind = kind,
          .last_copy = !row.other_copy && !row.counted,
          .message = FailureMessage(update.remote, row.kill_detail, missing)};
}

// The failures among the updates, by job. A job that is not in flight any more is not among them.
std::map<std::int64_t, Failure> Failures(Store& store, const std::vector<StatusUpdate>& updates) {
  std::map<std::int64_t, const StatusUpdate*> failed;
  for (const auto& u : updates)
    if (Ended(u) && !Succeeded(u)) failed[u.job_id] = &u;
  std::vector<std::int64_t> ids;
  for (const auto& [id, update] : failed) ids.push_back(id);
  std::map<std::int64_t, Failure> out;
  for (const auto& row : store.EndInfos(ids))
    out.emplace(row.job_id, FailureOf(*failed.at(row.job_id), row));
  return out;
}

std::vector<JobEnd> JobEnds(const std::vector<StatusUpdate>& updates,
                            const std::map<std::int64_t, Failure>& failures) {
  std::vector<JobEnd> out;
  for (const auto& u : updates) {
    if (!Ended(u)) continue;
    const auto failure = failures.find(u.job_id);
    if (!Succeeded(u) && failure == failures.end()) continue;
    JobEnd end{.job_id = u.job_id, .exit = {.success = true}};
    if (!Succeeded(u)) {
      end.exit = failure->second.exit;
      end.message = failure->second.message;
    }
    end.wait_status = u.remote.wait_status;
    if (u.remote.started_at > 0 && u.cluster_time > 0)
      end.started_ago_s = Ago(u, u.remote.started_at);
    end.ended_ago_s = Ago(u, u.remote.ended_at);
    end.node = ValidUtf8(u.remote.node);
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
  store.AddCounters(sum.counters);

  UpdateResult result;
  for (const auto& job : moved) result.moved.emplace_back(job.job_id, job.to);
  for (const auto& job : ended) result.ended.push_back(job.job_id);
  result.campaigns = sum.campaigns;
  return result;
}

}  // namespace cigri::updator
