#include "nikita/store.h"

#include <sql/clusters.h>
#include <sql/kills.h>
#include <sql/placements.h>

#include <algorithm>
#include <tuple>

#include "db/events.h"

namespace cigri::nikita {
namespace {

// A call is repeated until the job's end is seen: first after 5 s (the grace period of a job), then
// at doubled intervals up to a minute.
constexpr double kFirstRepeatS = 5, kLastRepeatS = 60;
constexpr int kManyCalls = 8;
// CIG-36 leaves the walltime to the cluster; this is for one that does not enforce it.
constexpr double kSlackShare = 0.1, kSlackS = 300;
// Prologues and node checks take their time; a job that takes longer will not start any more.
constexpr double kStartLimitS = 600;

template <typename Row>
cluster::RemoteRef RefOf(const Row& row) {
  cluster::RemoteRef ref;
  ref.remote_id = row.remote_id;
  ref.tag = row.tag;
  ref.index = row.element;
  ref.cluster_user = row.cluster_user;
  return ref;
}

}  // namespace

Work WorkToDo(db::Tx& tx) {
  const auto row = tx.One(sql::kCleaningWork);
  return {row.kills, row.emptied, row.live, row.duplicates, row.drain_over};
}

void CollectKills(db::Tx& tx) { tx.Exec(sql::kCollectKills); }

void CollectDrainedJobs(db::Tx& tx) { tx.Exec(sql::kCollectDrainedJobs); }

void CollectByTime(db::Tx& tx) {
  tx.Exec(sql::kCollectSuperfluousCopies);
  tx.Exec(sql::kCollectOverWalltime, kSlackShare, kSlackS);
  tx.Exec(sql::kCollectNeverStarted, kStartLimitS);
}

std::map<std::pair<std::int64_t, std::string>, PendingJobs> LoadPending(db::Tx& tx) {
  std::map<std::pair<std::int64_t, std::string>, PendingJobs> out;
  for (const auto& row : tx.Exec(sql::kPendingJobs)) {
    PendingJobs& pending = out[{row.cluster_id, row.resource_class}];
    pending.keep = row.pending_kept;
    pending.timeout_s = row.waiting_timeout_s;
    for (std::size_t i = 0; i < row.jobs.size(); ++i)
      pending.newest_first.push_back({.job_id = row.jobs[i],
                                      .age_s = row.ages[i],
                                      .allowed = row.waiting_allowed.value_or(0),
                                      .elsewhere = row.elsewhere});
  }
  for (auto& [queue, pending] : out)
    std::sort(pending.newest_first.begin(), pending.newest_first.end(),
              [](const auto& a, const auto& b) {
                return std::tuple(a.age_s, -a.job_id) < std::tuple(b.age_s, -b.job_id);
              });
  return out;
}

void AddKills(db::Tx& tx, const std::vector<std::int64_t>& jobs, const char* reason,
              const std::string& detail) {
  if (!jobs.empty()) tx.Exec(sql::kAddKills, jobs, reason, detail);
}

void EndDrains(db::Tx& tx) {
  for (const auto& row : tx.Exec(sql::kEndTimedDrains)) {
    db::Event e{.cls = "cluster", .code = "DRAINED", .message = ""};
    e.cluster_id = row.id;
    db::CloseEvent(tx, "nikita", e);
  }
}

void ReportUnconfirmedKills(db::Tx& tx) {
  for (const auto& row : tx.Exec(sql::kStubbornJobs, kManyCalls)) {
    db::Event e{.cls = "cluster", .code = "KILL_UNCONFIRMED", .message = ""};
    e.cluster_id = row.id;
    e.message = row.name + " has not ended " + std::to_string(row.n) +
                " jobs that it was asked to kill: " + row.error.value_or("it gives no reason");
    if (row.n > 0)
      db::RaiseEvent(tx, e);
    else
      db::CloseEvent(tx, "nikita", e);
  }
}

std::map<std::int64_t, std::vector<cluster::RemoteRef>> DueCalls(
    db::Tx& tx, const std::vector<std::int64_t>& busy) {
  tx.Exec(sql::kSpreadKills);
  std::map<std::int64_t, std::vector<cluster::RemoteRef>> calls;
  for (const auto& row : tx.Exec(sql::kDueKills, kFirstRepeatS, kLastRepeatS, busy)) {
    auto ref = RefOf(row);
    ref.job_id = row.job_id;
    ref.walltime_s = row.walltime_s;
    ref.tasks_per_job = row.tasks_per_job;
    ref.only_waiting = row.only_waiting;
    calls[row.cluster_id].push_back(std::move(ref));
  }
  for (const auto& row : tx.Exec(sql::kDueDuplicates, kFirstRepeatS, kLastRepeatS, busy))
    calls[row.cluster_id].push_back(RefOf(row));
  return calls;
}

void MarkCalled(db::Tx& tx, std::int64_t cluster_id, const std::vector<cluster::RemoteRef>& refs) {
  std::vector<std::int64_t> jobs;
  db::RowSet<std::int64_t, std::string> duplicates;
  for (const auto& ref : refs) {
    if (ref.job_id != 0)
      jobs.push_back(ref.job_id);
    else
      duplicates.Add(cluster_id, ref.remote_id);
  }
  if (!jobs.empty()) tx.Exec(sql::kKillCalled, jobs);
  if (!duplicates.empty()) tx.Exec(sql::kDuplicateKillCalled, duplicates);
}

std::optional<double> NextCallIn(db::Tx& tx) {
  return tx.One(sql::kNextDueKill, kFirstRepeatS, kLastRepeatS).seconds;
}

void WriteAnswers(db::Connection& db, const Answers& answers) {
  if (answers.failed.empty() && answers.begun.empty() && answers.duplicates.empty()) return;
  db::Tx tx(db, db::Tx::Sync::kOff);
  if (!answers.failed.empty()) tx.Exec(sql::kKillCallFailed, answers.failed);
  if (!answers.begun.empty()) tx.Exec(sql::kKillCallCameLate, answers.begun);
  if (!answers.duplicates.empty()) tx.Exec(sql::kDuplicateKillAnswered, answers.duplicates);
  tx.Commit();
}

}  // namespace cigri::nikita
