#include "runner/runner.h"

#include <sql/leases.h>

#include <utility>

#include "core/log.h"
#include "runner/cluster_session.h"

namespace cigri::runner {

namespace {
constexpr int kSessions = 8;
constexpr std::chrono::seconds kLoadEvery{1}, kIdle{20};
}  // namespace

// A thread of its own renews the leases: a runner whose passes all fail would keep its clusters,
// and nothing would be sent there. In an outage of the database no other runner would do better.
void Runner::Pass(module::Step& step) {
  try {
    Work(step);
    failing_since_.reset();
  } catch (const module::StaleEpoch&) {
    throw;
  } catch (const std::exception& e) {
    if (IsOutage(e)) throw;
    const auto now = Clock::now();
    if (!failing_since_) failing_since_ = now;
    if (now - *failing_since_ < patience_) throw;
    throw module::StaleEpoch(std::string("its passes fail, others get its clusters: ") + e.what());
  }
}

void Runner::Work(module::Step& step) {
  if (!shared_) Start(step);
  if (step.fresh) loaded_at_ = {};
  if (shared_->stale || leases_->lost())
    throw module::StaleEpoch("another runner has a cluster of this one");
  GiveClusters();
  if (leases_->Over()) return;
  std::set<std::int64_t> busy;
  {
    db::Tx tx(step.db, db::Tx::Sync::kOff);
    busy = ClustersWithWork(tx);
    if (!busy.empty()) Refresh(tx);
  }
  for (const auto id : busy)
    if (const auto it = runners_.find(id); it != runners_.end()) it->second.runner->Wake();
  shared_->pool.CloseIdle(kIdle);
}

// Another host gets a cluster once nothing is under way for it here.
void Runner::GiveClusters() {
  for (const auto id : leases_->ToGive()) {
    const auto it = runners_.find(id);
    if (it != runners_.end() && !it->second.runner->ended()) {
      it->second.runner->Stop();
      continue;
    }
    if (it != runners_.end()) runners_.erase(it);
    leases_->Ended(id);
  }
}

// Once: the threads of clusters outlive sessions of the database, also one that awaits an answer.
void Runner::Start(module::Step& step) {
  const int send_window_s = static_cast<int>(step.config.GetInt("SEND_WINDOW", 10, 2, 300));
  std::string grid_id;
  {
    db::Tx tx(step.db);
    grid_id = GridId(tx);
    // What each pass reads: whoever cannot read it takes no cluster.
    ClustersWithWork(tx);
    clusterdb::LoadClusters(tx);
  }
  if (!leases_)
    leases_ = std::make_unique<Leases>(step.conninfo, module::TermOf(step.config), step.waker);
  if (!relay_)
    relay_ = std::make_unique<RelayServer>(step.conninfo, HostName() + ":" + CigriHome());
  shared_.reset(new Shared{{step.conninfo, "cigri runner", kSessions},
                           grid_id,
                           step.epoch,
                           send_window_s,
                           3 * module::TermOf(step.config).length,
                           step.waker,
                           step.conninfo,
                           make_driver_});
}

// Operators add and change clusters while the runner runs.
void Runner::Refresh(db::Tx& tx) {
  const auto now = Clock::now();
  const auto seen = leases_->version();
  if (now - loaded_at_ < kLoadEvery && seen == leases_seen_) return;
  loaded_at_ = now;
  leases_seen_ = seen;
  const auto to_give = leases_->ToGive();  // first: what is given is not held any more
  const auto held = leases_->Held();
  std::set<std::int64_t> present;
  for (const auto& row : clusterdb::LoadClusters(tx)) {
    leases_->Expect(row.config.id);
    const auto it = held.find(row.config.id);
    if (it == held.end()) continue;
    present.insert(row.config.id);
    if (to_give.count(row.config.id) == 0) StartThread(row, it->second);
  }
  std::erase_if(runners_, [&](const auto& item) {
    return present.count(item.first) == 0 && HasEnded(item.second);
  });
}

// The thread of a cluster that hangs ends when its call does: the others do not wait for that.
bool Runner::HasEnded(const Entry& entry) {
  if (!entry.runner || entry.runner->ended()) return true;
  entry.runner->Stop();  // its end wakes us
  loaded_at_ = {};
  return false;
}

void Runner::StartThread(const clusterdb::ClusterRow& row, std::int64_t lease) {
  auto& entry = runners_[row.config.id];
  if (entry.runner && !entry.runner->ended() && entry.fingerprint == row.fingerprint &&
      entry.lease == lease)
    return;
  if (!HasEnded(entry)) return;
  try {
    entry.runner.reset();
    entry.runner = std::make_unique<ClusterRunner>(row, lease, *shared_);
    entry.fingerprint = row.fingerprint;
    entry.lease = lease;
    without_driver_.erase(row.config.id);
  } catch (const std::exception& e) {
    runners_.erase(row.config.id);
    if (std::exchange(without_driver_[row.config.id], e.what()) != e.what())
      log::error("[{}] has no driver: {}", row.config.name, e.what());
    LeaveToAnother(row, lease);
  }
}

// Another host may have the key of its password.
void Runner::LeaveToAnother(const clusterdb::ClusterRow& row, std::int64_t lease) {
  auto session = shared_->pool.Get();
  db::Tx tx(*session, db::Tx::Sync::kOff);
  const bool left = tx.Exec(sql::kMarkWithoutDriver, row.config.id, lease) > 0;
  tx.Commit();
  if (left) log::warn("[{}] goes to another runner, which may have a driver", row.config.name);
}

}  // namespace cigri::runner
