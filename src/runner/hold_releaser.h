// Clusters that take jobs on hold (capabilities().hold_release): the runner records them, then
// releases them.
#pragma once
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
  ClusterSession& session_;
};

}  // namespace cigri::runner
