#include "nikita/nikita.h"

#include <sql/clusters.h>
#include <sql/kills.h>
#include <sql/placements.h>

#include "core/log.h"
#include "core/text.h"
#include "module/events.h"
#include "nikita/decide.h"

namespace cigri::nikita {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
constexpr milliseconds kLookEvery{200};
constexpr seconds kSlowEvery{5}, kRowsEvery{5}, kStubbornEvery{30};
// Calls again until the end is seen: first after 5 s (a job's own grace), at last every minute.
constexpr double kFirstAgainS = 5, kLastAgainS = 60;
constexpr int kStubbornCalls = 8;
// CIG-36 leaves the walltime to the cluster; this is for one that does not enforce it.
constexpr double kSlackShare = 0.1, kSlackS = 300;
// Prologues and node checks take their time; what takes longer will not start any more.
constexpr double kStartLimitS = 600;

std::vector<WaitingJob> Jobs(const pqxx::row& row) {
  const auto ids = row.jobs, ages = row.ages;
  std::vector<WaitingJob> jobs;
  for (std::size_t i = 0; i < ids.size(); ++i) jobs.push_back({ids[i], ages[i]});
  return jobs;
}

}  // namespace

void Nikita::Pass(module::Turn& turn) {
  if (Soon(turn)) return;
  Report(turn.db);
  if (Collect(turn)) Call(turn);
  sweeper_.Sweep(turn);
}

// Rounds may come fifty a second; the last one of a burst must not be missed.
bool Nikita::Soon(module::Turn& turn) {
  const auto since = Clock::now() - looked_;
  if (since >= kLookEvery) {
    looked_ = Clock::now();
    return false;
  }
  turn.waker.WakeIn(std::chrono::ceil<milliseconds>(kLookEvery - since));
  return true;
}

// True when there are kills on their way.
bool Nikita::Collect(module::Turn& turn) {
  db::Tx tx(turn.db);
  tx.Exec(sql::kCollectKills);
  const auto flags = tx.Exec(sql::kCleaningWork)[0];
  if (flags.drain_over) EndDrains(tx);
  if (flags.emptied) tx.Exec(sql::kCollectDrainedJobs);
  const bool live = flags.live;
  if (live && Clock::now() - slow_ >= kSlowEvery) CollectSlow(tx);
  if (Clock::now() - stubborn_ >= kStubbornEvery) ReportStubborn(tx);
  const bool kills = live && tx.Exec(sql::kCleaningWork)[0]["kills"].as<bool>();
  tx.Commit();
  return kills || flags.twins;
}

void Nikita::EndDrains(db::Tx& tx) {
  for (const auto& row : tx.Exec(sql::kEndTimedDrains)) {
    module::Event e{.cls = "cluster", .code = "DRAINED", .message = ""};
    e.cluster_id = row.id;
    module::CloseEvent(tx, e, "nikita");
  }
}

// What becomes true by time alone.
void Nikita::CollectSlow(db::Tx& tx) {
  slow_ = Clock::now();
  tx.Exec(sql::kCollectSuperfluousCopies);
  tx.Exec(sql::kCollectOverWalltime, kSlackShare, kSlackS);
  tx.Exec(sql::kCollectNeverStarted, kStartLimitS);
  WipeQueues(tx);
}

void Nikita::WipeQueues(db::Tx& tx) {
  for (const auto& row : tx.Exec(sql::kPendingByPlacement)) {
    WaitingLane lane;
    lane.allowed = row.waiting_allowed;
    lane.keep = row.keep_waiting;
    lane.timeout_s = row.waiting_timeout_s;
    lane.elsewhere = row.elsewhere;
    lane.newest_first = Jobs(row);
    const auto wipe = Decide(lane);
    if (!wipe.excess.empty())
      tx.Exec(sql::kAddKills, db::Array(wipe.excess), "excess_waiting",
              std::to_string(lane.newest_first.size()) + " waited, " +
                  std::to_string(lane.allowed.value_or(0)) + " may");
    if (!wipe.too_long.empty())
      tx.Exec(sql::kAddKills, db::Array(wipe.too_long), "waiting_too_long",
              "waited longer than " + HumanSpan(lane.timeout_s));
  }
}

Killer* Nikita::KillerOf(db::Tx& tx, module::Turn& turn, std::int64_t cluster_id) {
  if (Clock::now() - rows_read_ >= kRowsEvery) {
    rows_read_ = Clock::now();
    rows_.clear();
    for (auto& row : clusterdb::LoadClusters(tx)) rows_[row.config.id] = std::move(row);
  }
  const auto row = rows_.find(cluster_id);
  if (row == rows_.end()) return nullptr;
  auto& entry = killers_[cluster_id];
  if (entry.killer && (entry.fingerprint == row->second.fingerprint || entry.killer->busy()))
    return entry.killer.get();
  entry.killer.reset();
  entry.fingerprint = row->second.fingerprint;
  try {
    entry.killer = std::make_unique<Killer>(
        clusterdb::MakeDriver(row->second, turn.conninfo, clusterdb::Caller::kNikita), turn.waker);
  } catch (const std::exception& e) {
    log::error("[{}] cannot kill there: {}", row->second.config.name, e.what());
  }
  return entry.killer.get();
}

// The intent to call is committed first; the calls run beside the pass and outlive it.
void Nikita::Call(module::Turn& turn) {
  db::Tx tx(turn.db);
  module::CheckEpoch(tx, turn.epoch);
  std::map<std::int64_t, std::vector<cluster::RemoteRef>> jobs;
  for (const auto& row : tx.Exec(sql::kDueKills, kFirstAgainS, kLastAgainS)) {
    cluster::RemoteRef ref;
    ref.job_id = row.job_id;
    ref.remote_id = row.remote_id;
    ref.tag = row.tag;
    ref.index = row.element;
    ref.cluster_user = row.cluster_user;
    ref.walltime_s = row.walltime_s;
    jobs[row.cluster_id].push_back(std::move(ref));
  }
  for (const auto& row : tx.Exec(sql::kDueDuplicates, kFirstAgainS, kLastAgainS)) {
    cluster::RemoteRef ref;  // without a job: nothing of ours ends with it
    ref.remote_id = row.remote_id;
    ref.tag = row.tag;
    ref.index = row.element;
    ref.cluster_user = row.cluster_user;
    jobs[row.cluster_id].push_back(std::move(ref));
  }
  std::vector<std::int64_t> called, twin_clusters;
  std::vector<std::string> twins;
  std::vector<std::pair<Killer*, std::vector<cluster::RemoteRef>>> calls;
  for (auto& [cluster_id, refs] : jobs) {
    Killer* killer = KillerOf(tx, turn, cluster_id);
    if (killer == nullptr || killer->busy()) continue;
    for (const auto& ref : refs) {
      if (ref.job_id != 0) {
        called.push_back(ref.job_id);
        continue;
      }
      twin_clusters.push_back(cluster_id);
      twins.push_back(ref.remote_id);
    }
    calls.emplace_back(killer, std::move(refs));
  }
  if (!called.empty()) tx.Exec(sql::kKillCalled, called);
  if (!twins.empty())
    tx.Exec(sql::kDuplicateKillCalled, twin_clusters, twins);
  const auto next =
      db::Opt<double>(tx.Exec(sql::kNextDueKill, kFirstAgainS, kLastAgainS)[0][0]);
  tx.Commit();
  for (auto& [killer, refs] : calls) killer->Kill(std::move(refs));
  if (next) turn.waker.WakeIn(milliseconds(static_cast<std::int64_t>(1000 * std::max(1.0, *next))));
}

void Nikita::Report(db::Connection& db) {
  std::vector<std::int64_t> jobs, twin_clusters;
  std::vector<std::string> errors, twins, twin_errors;
  for (auto& [id, entry] : killers_) {
    if (!entry.killer) continue;
    for (const auto& outcome : entry.killer->Take()) {
      for (const auto& [job, error] : outcome.failed) {
        jobs.push_back(job);
        errors.push_back(ValidUtf8(error));
      }
      for (const auto& [twin, error] : outcome.twins) {
        twin_clusters.push_back(id);
        twins.push_back(twin);
        twin_errors.push_back(ValidUtf8(error));
      }
    }
  }
  if (jobs.empty() && twins.empty()) return;
  db::Tx tx(db, db::Tx::Sync::kOff);
  if (!jobs.empty()) tx.Exec(sql::kKillCallFailed, jobs, errors);
  if (!twins.empty())
    tx.Exec(sql::kDuplicateKillAnswered, twin_clusters, twins,
            twin_errors);
  tx.Commit();
}

// A cluster that does not confirm kills for minutes is an operator's matter.
void Nikita::ReportStubborn(db::Tx& tx) {
  stubborn_ = Clock::now();
  for (const auto& row : tx.Exec(sql::kStubbornJobs, kStubbornCalls)) {
    module::Event event;
    event.cls = "cluster";
    event.code = "KILL_UNCONFIRMED";
    event.cluster_id = row.id;
    const auto n = row.n;
    event.message = std::string(row.name) + " has not ended " + std::to_string(n) +
                    " jobs that it was asked to: " +
                    (!row.error ? "it gives no reason" : row.error);
    if (n > 0)
      module::RaiseEvent(tx, event);
    else
      module::CloseEvent(tx, event, "nikita");
  }
}

}  // namespace cigri::nikita
