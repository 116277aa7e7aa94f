// What the parts of one cluster's runner share: the driver, the SQL, the back-off.
#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "cluster/cluster.h"
#include "clusterdb/clusterdb.h"
#include "db/db.h"
#include "module/module.h"
#include "runner/store.h"

namespace cigri::runner {

/// Whether the database was away: nothing that failed by it is the fault of a batch or a cluster.
bool IsOutage(const std::exception& e);

using Clock = std::chrono::steady_clock;

/// What all cluster runners of the process share. Outlives them.
struct Shared {
  db::Pool pool;
  std::string grid_id;
  std::int64_t epoch;
  int send_window_s;  ///< a POST starts at most this long after its claim began
  std::chrono::milliseconds reach_window;  ///< a cluster out of reach for so long goes to another
  module::Waker& waker;
  std::string conninfo;
  clusterdb::DriverFactory make_driver;
  std::atomic<bool> stale{false};  ///< another runner has a cluster of ours: the process must end
};

/// One cluster, for the thread of its runner alone.
class ClusterSession {
 public:
  /// Throws what the driver factory throws.
  ClusterSession(const clusterdb::ClusterRow& row, std::int64_t lease, Shared& shared);

  const std::int64_t id;
  const std::string name;
  const bool user_tokens;  ///< users have tokens there
  Shared& shared;
  Store store;
  const std::unique_ptr<cluster::Cluster> driver;
  const cluster::Capabilities caps;

  /// Runs `body` in a transaction on a session of the pool, and commits it. `body` must not call
  /// Transact again (throws std::logic_error): threads that hold one session each and wait for a
  /// second one would wait for each other.
  void Transact(const std::function<void(db::Tx&)>& body, db::Tx::Sync sync = db::Tx::Sync::kOn);

  /// Sends nothing for a while: 0.05 s after the first failure in a row, then twice as long each
  /// time, at most a minute.
  void BackOff(const std::string& why);
  /// Nor while the database is away, which is not the cluster's failure: asks again each quarter of
  /// a second.
  void AwaitDatabase();
  bool BackingOff() const { return Clock::now() < not_before_; }
  int failures() const { return failures_; }  ///< in a row
  /// A submission succeeded: the next failure counts as the first one.
  void ResetBackOff() { failures_ = 0; }

 private:
  bool in_transaction_ = false;
  int failures_ = 0;
  Clock::time_point not_before_{};
};

}  // namespace cigri::runner
