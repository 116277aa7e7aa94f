#include "nikita/nikita.h"

#include "core/log.h"
#include "core/text.h"

namespace cigri::nikita {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
constexpr milliseconds kPassEvery{200};
constexpr seconds kByTimeEvery{5}, kRowsEvery{5}, kReportEvery{30};

}  // namespace

void Nikita::Pass(module::Step& step) {
  if (TooSoon(step)) return;
  WriteAnswers(step.db, TakeAnswers());
  if (Collect(step)) Call(step);
  retention_.Pass(step);
}

// Turns may come fifty a second; the last one of a burst must not be missed. A whole time later:
// see Updator::RefreshClusters.
bool Nikita::TooSoon(module::Step& step) {
  const auto since = Clock::now() - last_pass_;
  if (since >= kPassEvery) {
    last_pass_ = Clock::now();
    return false;
  }
  step.waker.WakeIn(kPassEvery);
  return true;
}

// True when there are kills whose ends were not seen yet.
bool Nikita::Collect(module::Step& step) {
  db::Tx tx(step.db);
  CollectKills(tx);
  const auto work = WorkToDo(tx);
  if (work.drain_over) EndDrains(tx);
  if (work.drained) CollectDrainedJobs(tx);
  if (work.live && Clock::now() - by_time_ >= kByTimeEvery) {
    by_time_ = Clock::now();
    CollectByTime(tx);
    TrimQueues(tx);
  }
  if (Clock::now() - reported_ >= kReportEvery) {
    reported_ = Clock::now();
    ReportUnconfirmedKills(tx);
  }
  const bool kills = work.live && WorkToDo(tx).kills;
  tx.Commit();
  return kills || work.duplicates;
}

void Nikita::TrimQueues(db::Tx& tx) {
  for (const auto& [cluster, pending] : LoadPending(tx)) {
    const auto trim = Decide(pending);
    AddKills(tx, trim.excess, kExcessWaiting,
             std::to_string(pending.newest_first.size()) +
                 " jobs waited there, more than twice what may");
    AddKills(tx, trim.too_long, kWaitingTooLong,
             "waited longer than " + HumanDuration(pending.timeout_s));
  }
}

Killer* Nikita::KillerOf(db::Tx& tx, module::Step& step, std::int64_t cluster_id) {
  if (Clock::now() - rows_read_ >= kRowsEvery) {
    rows_read_ = Clock::now();
    rows_.clear();
    for (auto& row : clusterdb::LoadClusters(tx)) rows_[row.config.id] = std::move(row);
  }
  const auto row = rows_.find(cluster_id);
  return row == rows_.end() ? nullptr : MakeKiller(row->second, step);
}

// Keeps the present one while the cluster's row is unchanged, or while its call lasts.
Killer* Nikita::MakeKiller(const clusterdb::ClusterRow& row, module::Step& step) {
  auto& entry = killers_[row.config.id];
  if (entry.killer && (entry.fingerprint == row.fingerprint || entry.killer->busy()))
    return entry.killer.get();
  entry.killer.reset();
  entry.fingerprint = row.fingerprint;
  try {
    entry.killer = std::make_unique<Killer>(
        clusterdb::MakeDriver(make_driver_, row, step.conninfo, clusterdb::Caller::kNikita),
        step.waker);
  } catch (const std::exception& e) {
    log::error("[{}] cannot kill there: {}", row.config.name, e.what());
  }
  return entry.killer.get();
}

// Commits the intent to call first; the calls run in other threads and outlive the pass.
void Nikita::Call(module::Step& step) {
  db::Tx tx(step.db);
  module::CheckEpoch(tx, step.epoch);
  std::vector<std::pair<Killer*, std::vector<cluster::RemoteRef>>> calls;
  std::vector<std::int64_t> busy;
  for (const auto& [id, entry] : killers_)
    if (entry.killer && entry.killer->busy()) busy.push_back(id);
  for (auto& [cluster_id, refs] : DueCalls(tx, busy)) {
    Killer* killer = KillerOf(tx, step, cluster_id);
    if (killer == nullptr || killer->busy()) continue;
    MarkCalled(tx, cluster_id, refs);
    calls.emplace_back(killer, std::move(refs));
  }
  const auto next = NextCallIn(tx);
  tx.Commit();
  for (auto& [killer, refs] : calls) killer->Kill(std::move(refs));
  if (next) step.waker.WakeIn(milliseconds(static_cast<std::int64_t>(1000 * std::max(1.0, *next))));
}

Answers Nikita::TakeAnswers() {
  Answers answers;
  for (auto& [id, entry] : killers_) {
    if (!entry.killer) continue;
    for (const auto& outcome : entry.killer->Take()) {
      for (const auto& [job, error] : outcome.failed) answers.failed.Add(job, ValidUtf8(error));
      answers.begun.insert(answers.begun.end(), outcome.begun.begin(), outcome.begun.end());
      for (const auto& [remote_id, error] : outcome.duplicates)
        answers.duplicates.Add(id, remote_id, ValidUtf8(error));
    }
  }
  return answers;
}

}  // namespace cigri::nikita
