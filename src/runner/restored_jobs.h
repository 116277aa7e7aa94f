// After `cigri restore`: what a cluster was sent after the backup, found again by tag.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "runner/cluster_session.h"

namespace cigri::runner {

class RestoredJobs {
 public:
  explicit RestoredJobs(ClusterSession& session) : session_(session) {}
  /// Asks the cluster for its tags, and puts those that the database does not know in doubt, with
  /// the tasks that they name: the lookup of batches in doubt adopts their jobs. Repeated until the
  /// cluster has nothing unknown. Returns whether there are new batches in doubt.
  bool Adopt();

 private:
  bool AdoptUnknown(const RestoredCluster& restored);
  void Unclear(db::Tx& tx, std::int64_t campaign_id, const std::string& tag);

  ClusterSession& session_;
  bool expected_ = true;  // until the database says that nothing is to be asked
};

}  // namespace cigri::runner
