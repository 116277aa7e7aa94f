// Asks one cluster how our jobs are, in a thread of its own: a slow cluster costs the others
// nothing.
#pragma once
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "cluster/cluster.h"
#include "clusterdb/clusterdb.h"
#include "module/module.h"

namespace cigri::updator {

/// One answer of a cluster, or why there is none.
struct Answer {
  std::int64_t cluster_id = 0;
  bool ok = false;
  bool feed = false;
  bool holds = false;        ///< jobs are submitted on hold there
  std::string error;         ///< when not ok, for people
  bool unreachable = false;  ///< when not ok: it did not answer at all
  cluster::PollResult poll;
  std::optional<cluster::Resources> resources;
  std::chrono::steady_clock::time_point began;  ///< jobs recorded after it may be missing from it
  int failures = 0;                             ///< in a row
  double again_in_s = 0;                        ///< until the next try, when not ok
  std::optional<double> skew_s;                 ///< how far the cluster's clock is ahead of ours
  /// After a slow sweep: jobs of this grid there that no poll asks about.
  std::optional<std::vector<cluster::RemoteJob>> strays;
};

/// Answers on their way to the pass.
class Mailbox {
 public:
  void Put(Answer answer);
  std::vector<Answer> TakeAll();

 private:
  std::mutex mutex_;
  std::vector<Answer> answers_;
};

/// How often a cluster is asked.
struct Pace {
  double sweep_s = 5;   ///< between two sweeps while we have jobs there or campaigns wait (FBS-15)
  double idle_s = 60;   ///< else
  double slow_s = 600;  ///< between two looks at all that carries our tag, of kinds without a feed
};

/// Its thread may be deep in a call when it is dropped: it then ends by itself, heard by nobody.
class Poller {
 public:
  /// `grid_mark`: what every tag of this grid holds and no other's.
  Poller(const clusterdb::ClusterRow& row, std::string token, std::shared_ptr<Mailbox> mailbox,
         module::Waker& waker, const std::string& conninfo, std::string grid_mark, double slow_s);
  ~Poller();
  Poller(const Poller&) = delete;

  /// What the pass knows: whether anything is to be expected there, and, when Due(), the jobs to
  /// ask about. A feed needs no list.
  bool Due();
  void Give(std::vector<cluster::RemoteRef> refs);
  void SetBusy(bool busy);
  /// The pass has folded an answer of this cluster.
  void Taken();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace cigri::updator
