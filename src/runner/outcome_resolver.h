// Batches whose submission has an unknown outcome: the cluster may have taken them (docs/design.md
// section 5).
#pragma once
#include "db/events.h"
#include "runner/cluster_session.h"

namespace cigri::runner {

class OutcomeResolver {
 public:
  explicit OutcomeResolver(ClusterSession& session) : session_(session) {}

  /// Nobody knows whether the cluster took `batch`: marks it in doubt and raises SUBMIT_IN_DOUBT.
  void MarkInDoubt(const ClaimedBatch& batch, const std::string& why);
  /// Something may have been intended and not recorded: Resolve() has to look for it.
  void Expect() { expected_ = true; }
  /// Looks up the tags of the batches that are due; adopts the jobs that it finds, and gives the
  /// tasks back once their absence is final. Closes SUBMIT_IN_DOUBT when no batch is left.
  void Resolve();

 private:
  std::vector<OpenBatch> LoadOpen();
  void LookUp(const OpenBatch& open);
  void Settle(const OpenBatch& open, const cluster::FindResult& found);
  db::Event Event(const std::string& why) const;

  ClusterSession& session_;
  bool expected_ = true;  // an earlier runner may have left open batches
};

}  // namespace cigri::runner
