// The clusters of this runner: it has a lease on each, as the leader has one on the grid, so that
// runners of several hosts serve different clusters at the same time.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "db/db.h"
#include "module/module.h"
#include "module/term.h"
#include "runner/share.h"

namespace cigri::runner {

/// Takes, renews and gives leases, in a thread with a session of its own, so that no call to a
/// cluster delays a renewal. The lease of a runner ends with that session, or with its term, by the
/// database's clock; then others take its clusters in new epochs, and it can write nothing more.
class Leases {
 public:
  /// Takes at once what is free. Throws when there is no database.
  Leases(std::string conninfo, module::Term term, module::Waker& waker);
  /// Gives all; nobody may use the clusters any more.
  ~Leases();
  Leases(const Leases&) = delete;

  /// The epoch of each cluster that this runner has.
  std::map<std::int64_t, std::int64_t> Held();
  /// Its term is over by its own clock: another runner may have them.
  bool Over();
  /// Changes when Held() does.
  std::int64_t version() const { return version_; }
  /// Those of Held() that others should have. They get each after Ended(cluster).
  std::set<std::int64_t> ToGive();
  /// This process does nothing for `cluster` any more.
  void Ended(std::int64_t cluster);
  /// Looks at the tables now, if it has not seen `cluster` there.
  void Expect(std::int64_t cluster);
  /// Another runner has taken one of its clusters: the process must end.
  bool lost() const { return lost_; }

 private:
  using Clock = std::chrono::steady_clock;
  void Loop();
  bool Turn();
  bool Renew(db::Tx& tx);  // false: it must end
  void Renewed(Clock::time_point began);
  void GiveEnded();
  void Settle(std::vector<LeasedCluster>& clusters);
  void Take(const LeasedCluster& cluster);
  std::chrono::milliseconds Pause() const;

  const std::string conninfo_, id_;
  const module::Term term_;
  module::Waker& waker_;
  std::unique_ptr<db::Connection> db_;
  bool added_ = false;     // its row is in the table
  bool complete_ = false;  // it has its share
  bool others_ = false;    // it is not the only runner
  bool failed_ = false;    // the last turn
  /// A turn failed, as in an outage of the database: until then other runners may live and be about
  /// to renew their leases. max() until a turn succeeds.
  Clock::time_point others_return_{};
  Clock::time_point hurry_until_{};
  std::atomic<bool> lost_{false};
  std::atomic<std::int64_t> version_{0};

  std::mutex mutex_;  // for what follows
  std::condition_variable wake_;
  bool stop_ = false, look_ = false;
  Clock::time_point ends_{};
  std::map<std::int64_t, std::int64_t> held_;
  std::set<std::int64_t> known_, to_give_, ended_;
  std::thread thread_;
};

}  // namespace cigri::runner
