#include "nikita/nikita.h"

#include <sql/nikita.h>

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
  const auto ids = db::Int64s(row["jobs"]), ages = db::Int64s(row["ages"]);
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
  tx.Exec(sql::nikita::kCollect);
  const auto flags = tx.Exec(sql::nikita::kFlags)[0];
  if (flags["drain_over"].as<bool>()) EndDrains(tx);
  if (flags["emptied"].as<bool>()) tx.Exec(sql::nikita::kCollectDrained);
  const bool live = flags["live"].as<bool>();
  if (live && Clock::now() - slow_ >= kSlowEvery) CollectSlow(tx);
  if (Clock::now() - stubborn_ >= kStubbornEvery) ReportStubborn(tx);
  const bool kills = live && tx.Exec(sql::nikita::kFlags)[0]["kills"].as<bool>();
  tx.Commit();
  return kills || flags["twins"].as<bool>();
}

void Nikita::EndDrains(db::Tx& tx) {
  for (const auto& row : tx.Exec(sql::nikita::kEndDrains)) {
    module::Event e{.cls = "cluster", .code = "DRAINED", .message = ""};
    e.cluster_id = row[0].as<std::int64_t>();
    module::CloseEvent(tx, e, "nikita");
  }
}

// What becomes true by time alone.
void Nikita::CollectSlow(db::Tx& tx) {
  slow_ = Clock::now();
  tx.Exec(sql::nikita::kCollectCopies);
  tx.Exec(sql::nikita::kOverrun, kSlackShare, kSlackS);
  tx.Exec(sql::nikita::kNeverStarted, kStartLimitS);
  WipeQueues(tx);
}

void Nikita::WipeQueues(db::Tx& tx) {
  for (const auto& row : tx.Exec(sql::nikita::kWaitingLanes)) {
    WaitingLane lane;
    lane.allowed = db::Opt<int>(row["waiting_allowed"]);
    lane.keep = row["keep_waiting"].as<int>();
    lane.timeout_s = row["waiting_timeout_s"].as<int>();
    lane.elsewhere = row["elsewhere"].as<bool>();
    lane.newest_first = Jobs(row);
    const auto wipe = Decide(lane);
    if (!wipe.excess.empty())
      tx.Exec(sql::nikita::kAddKills, db::Array(wipe.excess), "excess_waiting",
              std::to_string(lane.newest_first.size()) + " waited, " +
                  std::to_string(lane.allowed.value_or(0)) + " may");
    if (!wipe.too_long.empty())
      tx.Exec(sql::nikita::kAddKills, db::Array(wipe.too_long), "waiting_too_long",
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
  for (const auto& row : tx.Exec(sql::nikita::kDue, kFirstAgainS, kLastAgainS)) {
    cluster::RemoteRef ref;
    ref.job_id = row["job_id"].as<std::int64_t>();
    ref.remote_id = row["remote_id"].as<std::string>();
    ref.tag = row["tag"].as<std::string>();
    ref.index = row["element"].as<int>();
    ref.cluster_user = row["cluster_user"].as<std::string>();
    ref.walltime_s = row["walltime_s"].as<std::int64_t>();
    jobs[row["cluster_id"].as<std::int64_t>()].push_back(std::move(ref));
  }
  for (const auto& row : tx.Exec(sql::nikita::kTwinsDue, kFirstAgainS, kLastAgainS)) {
    cluster::RemoteRef ref;  // without a job: nothing of ours ends with it
    ref.remote_id = row["remote_id"].as<std::string>();
    ref.tag = row["tag"].as<std::string>();
    ref.index = row["element"].as<int>();
    ref.cluster_user = row["cluster_user"].as<std::string>();
    jobs[row["cluster_id"].as<std::int64_t>()].push_back(std::move(ref));
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
  if (!called.empty()) tx.Exec(sql::nikita::kCalled, db::Array(called));
  if (!twins.empty())
    tx.Exec(sql::nikita::kTwinsCalled, db::Array(twin_clusters), db::Array(twins));
  const auto next =
      db::Opt<double>(tx.Exec(sql::nikita::kNextDue, kFirstAgainS, kLastAgainS)[0][0]);
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
  if (!jobs.empty()) tx.Exec(sql::nikita::kCallFailed, db::Array(jobs), db::Array(errors));
  if (!twins.empty())
    tx.Exec(sql::nikita::kTwinsToldOf, db::Array(twin_clusters), db::Array(twins),
            db::Array(twin_errors));
  tx.Commit();
}

// A cluster that does not confirm kills for minutes is an operator's matter.
void Nikita::ReportStubborn(db::Tx& tx) {
  stubborn_ = Clock::now();
  for (const auto& row : tx.Exec(sql::nikita::kStubborn, kStubbornCalls)) {
    module::Event event;
    event.cls = "cluster";
    event.code = "KILL_UNCONFIRMED";
    event.cluster_id = row["id"].as<std::int64_t>();
    const auto n = row["n"].as<std::int64_t>();
    event.message = std::string(row["name"].c_str()) + " has not ended " + std::to_string(n) +
                    " jobs that it was asked to: " +
                    (row["error"].is_null() ? "it gives no reason" : row["error"].c_str());
    if (n > 0)
      module::RaiseEvent(tx, event);
    else
      module::CloseEvent(tx, event, "nikita");
  }
}

}  // namespace cigri::nikita
