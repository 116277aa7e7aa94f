// Clusters that take jobs on hold (capabilities().hold_release): the runner records them, then
// releases them.
#pragma once
#include <map>
#include <string>

#include "runner/cluster_session.h"

namespace cigri::runner {

class HoldReleaser {
 public:
  explicit HoldReleaser(ClusterSession& session) : session_(session) {}
  /// Releases what was recorded and not released, and what the updator has seen on hold again.
  void ReleaseHeld();
  /// Releases the jobs of a batch that was just recorded.
  void Release(const HeldBatch& held);

 private:
  void MayNot(const HeldBatch& held, const std::string& why);

  ClusterSession& session_;
  std::map<std::int64_t, Clock::time_point> not_before_;  // by batch
};

}  // namespace cigri::runner
