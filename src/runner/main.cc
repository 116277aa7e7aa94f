// runner: sends what the plan grants. A thread for each cluster, so that a slow one costs the
// others nothing; woken by the almighty, never awaited.
#include <sql/claims.h>
#include <sql/grid.h>

#include "core/error.h"
#include "core/log.h"
#include "runner/cluster_runner.h"

namespace cigri::runner {
namespace {

class Runner {
 public:
  void Pass(module::Turn& turn) {
    if (turn.fresh) Start(turn);
    if (shared_->stale) throw module::StaleEpoch("another almighty leads");
    std::set<std::int64_t> busy;
    {
      db::Tx tx(turn.db, db::Tx::Sync::kOff);
      for (const auto& row : tx.Exec(sql::kClustersWithWork))
        busy.insert(row.cluster_id);
      if (!busy.empty()) Refresh(tx);
    }
    for (const auto id : busy)
      if (const auto it = runners_.find(id); it != runners_.end()) it->second.runner->Wake();
  }

 private:
  struct Entry {
    std::string fingerprint;
    std::unique_ptr<ClusterRunner> runner;
  };

  void Start(module::Turn& turn) {
    runners_.clear();
    std::string grid_id;
    {
      db::Tx tx(turn.db);
      grid_id = tx.One(sql::kGridId).grid_id;
    }
    shared_.reset(new Shared{{turn.conninfo, "cigri runner", 8},
                             turn.conninfo,
                             grid_id,
                             turn.epoch,
                             static_cast<int>(turn.config.GetInt("SEND_WINDOW", 10, 2, 300)),
                             turn.waker});
    loaded_at_ = {};
  }

  // Clusters come and change while we run; looked at no more than once a second.
  void Refresh(db::Tx& tx) {
    const auto now = std::chrono::steady_clock::now();
    if (now - loaded_at_ < std::chrono::seconds(1)) return;
    loaded_at_ = now;
    std::set<std::int64_t> present;
    for (const auto& row : clusterdb::LoadClusters(tx)) {
      present.insert(row.config.id);
      auto& entry = runners_[row.config.id];
      if (entry.runner && entry.fingerprint == row.fingerprint) continue;
      try {
        entry.runner.reset();
        entry.runner = std::make_unique<ClusterRunner>(row, *shared_);
        entry.fingerprint = row.fingerprint;
      } catch (const std::exception& e) {
        log::error("[{}] cannot be driven: {}", row.config.name, e.what());
        runners_.erase(row.config.id);
      }
    }
    std::erase_if(runners_, [&](const auto& item) { return present.count(item.first) == 0; });
  }

  std::unique_ptr<Shared> shared_;
  std::map<std::int64_t, Entry> runners_;  // end before shared_
  std::chrono::steady_clock::time_point loaded_at_{};
};

int Main(int argc, char** argv) {
  Runner runner;
  const int code = module::Run(
      argc, argv, {.name = "runner", .description = "sends what the plan grants to the clusters"},
      [&](module::Turn& turn) { runner.Pass(turn); });
  std::_Exit(code);  // a thread may await an answer: its batch is looked up by the next runner
}

}  // namespace
}  // namespace cigri::runner

int main(int argc, char** argv) {
  return cigri::RunMain("runner", cigri::runner::Main, argc, argv);
}
