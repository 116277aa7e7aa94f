// The pass of the runner: finds the clusters that have work and wakes their threads.
#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>

#include "runner/cluster_runner.h"

namespace cigri::runner {

/// A thread for each cluster, so that a slow one costs the others nothing. A pass never waits for
/// them.
class Runner {
 public:
  /// `make_driver`: how a row becomes a driver; by default clusterdb::MakeDriver.
  explicit Runner(DriverFactory make_driver = {}) : make_driver_(std::move(make_driver)) {}

  /// Throws StaleEpoch when a thread has found that another almighty leads.
  void Pass(module::Step& step);

 private:
  struct Entry {
    std::string fingerprint;
    std::unique_ptr<ClusterRunner> runner;
  };
  void Start(module::Step& step);
  void Refresh(db::Tx& tx);
  void StartThread(const clusterdb::ClusterRow& row);

  DriverFactory make_driver_;
  std::unique_ptr<Shared> shared_;
  std::map<std::int64_t, Entry> runners_;  // destroyed before shared_
  Clock::time_point loaded_at_{};
};

}  // namespace cigri::runner
