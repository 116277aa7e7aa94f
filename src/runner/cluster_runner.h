// The runner of one cluster: a thread that resolves, releases, watches tokens and sends.
#pragma once
#include <condition_variable>
#include <mutex>
#include <thread>

#include "runner/cluster_session.h"
#include "runner/hold_releaser.h"
#include "runner/limits.h"
#include "runner/outcome_resolver.h"
#include "runner/restored_jobs.h"
#include "runner/sender.h"
#include "runner/token_watcher.h"

namespace cigri::runner {

/// Safe to kill at any moment: the next runner looks up the tags of what was intended and not
/// recorded (docs/design.md section 5).
class ClusterRunner {
 public:
  /// `lease`: the epoch of our lease on it.
  ClusterRunner(const clusterdb::ClusterRow& row, std::int64_t lease, Shared& shared);
  ~ClusterRunner();
  /// There may be something to do. Never blocks.
  void Wake();
  /// Asks the thread to end, after what it is doing; it wakes the grid when it has. Never blocks.
  void Stop();
  bool ended() const { return ended_; }

 private:
  void Loop();
  bool AwaitWake();  // false: the thread must end
  void Pass();
  void ReportUnreachable();
  bool Stopping();

  ClusterSession session_;
  BatchLimits limits_{session_};
  OutcomeResolver outcomes_{session_};
  RestoredJobs restored_{session_};
  HoldReleaser holds_{session_};
  TokenWatcher tokens_{session_};
  Sender sender_{session_, limits_, outcomes_, holds_};
  bool reported_ = false;  // that the cluster is out of reach

  std::mutex mutex_;
  std::condition_variable wake_;
  bool woken_ = false, stop_ = false;
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

}  // namespace cigri::runner
