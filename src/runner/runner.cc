#include "runner/runner.h"

#include "core/log.h"

namespace cigri::runner {

namespace {
constexpr int kSessions = 8;
constexpr std::chrono::seconds kLoadEvery{1};
}  // namespace

void Runner::Pass(module::Step& step) {
  if (step.fresh) Start(step);
  if (shared_->stale) throw module::StaleEpoch("another almighty leads");
  std::set<std::int64_t> busy;
  {
    db::Tx tx(step.db, db::Tx::Sync::kOff);
    busy = ClustersWithWork(tx);
    if (!busy.empty()) Refresh(tx);
  }
  for (const auto id : busy)
    if (const auto it = runners_.find(id); it != runners_.end()) it->second.runner->Wake();
}

void Runner::Start(module::Step& step) {
  runners_.clear();
  std::string grid_id;
  {
    db::Tx tx(step.db);
    grid_id = GridId(tx);
  }
  auto make_driver = make_driver_;
  if (!make_driver)
    make_driver = [conninfo = step.conninfo](const clusterdb::ClusterRow& row) {
      return clusterdb::MakeDriver(row, conninfo, clusterdb::Caller::kRunner);
    };
  const int send_window_s = static_cast<int>(step.config.GetInt("SEND_WINDOW", 10, 2, 300));
  shared_.reset(new Shared{{step.conninfo, "cigri runner", kSessions},
                           grid_id,
                           step.epoch,
                           send_window_s,
                           step.waker,
                           std::move(make_driver)});
  loaded_at_ = {};
}

// Operators add and change clusters while the runner runs.
void Runner::Refresh(db::Tx& tx) {
  const auto now = Clock::now();
  if (now - loaded_at_ < kLoadEvery) return;
  loaded_at_ = now;
  std::set<std::int64_t> present;
  for (const auto& row : clusterdb::LoadClusters(tx)) {
    present.insert(row.config.id);
    StartThread(row);
  }
  std::erase_if(runners_, [&](const auto& item) { return present.count(item.first) == 0; });
}

void Runner::StartThread(const clusterdb::ClusterRow& row) {
  auto& entry = runners_[row.config.id];
  if (entry.runner && entry.fingerprint == row.fingerprint) return;
  try {
    entry.runner.reset();
    entry.runner = std::make_unique<ClusterRunner>(row, *shared_);
    entry.fingerprint = row.fingerprint;
  } catch (const std::exception& e) {
    log::error("[{}] has no driver: {}", row.config.name, e.what());
    runners_.erase(row.config.id);
  }
}

}  // namespace cigri::runner
