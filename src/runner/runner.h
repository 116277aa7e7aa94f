// The pass of the runner: finds the clusters that have work and wakes their threads. Each host has
// a runner; each serves the clusters on which it has a lease.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "runner/cluster_runner.h"
#include "runner/leases.h"
#include "runner/relay_server.h"

namespace cigri::runner {

/// A thread for each cluster, so that a slow one costs the others nothing. A pass never waits for
/// them.
class Runner {
 public:
  /// `patience`: how long passes may fail before others get its clusters.
  explicit Runner(clusterdb::DriverFactory make_driver = {},
                  Clock::duration patience = std::chrono::seconds(30))
      : make_driver_(std::move(make_driver)), patience_(patience) {}

  /// Throws StaleEpoch when another runner has taken a cluster of this one, or is to take all.
  void Pass(module::Step& step);

 private:
  struct Entry {
    std::string fingerprint;
    std::int64_t lease = 0;
    std::unique_ptr<ClusterRunner> runner;
  };
  void Work(module::Step& step);
  void Start(module::Step& step);
  void GiveClusters();
  void Refresh(db::Tx& tx);
  bool HasEnded(const Entry& entry);
  void StartThread(const clusterdb::ClusterRow& row, std::int64_t lease);
  void LeaveToAnother(const clusterdb::ClusterRow& row, std::int64_t lease);

  clusterdb::DriverFactory make_driver_;
  Clock::duration patience_;
  std::optional<Clock::time_point> failing_since_{};
  std::map<std::int64_t, std::string> without_driver_{};  // why, by cluster
  std::unique_ptr<Leases> leases_;      // as long as the process
  std::unique_ptr<RelayServer> relay_;  // likewise
  std::unique_ptr<Shared> shared_;
  std::map<std::int64_t, Entry> runners_;  // destroyed before shared_
  Clock::time_point loaded_at_{};
  std::int64_t leases_seen_ = -1;  // Leases::version at the last Refresh
};

}  // namespace cigri::runner
