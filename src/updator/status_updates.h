// Status updates: what clusters reported about jobs becomes rows, all of it in one transaction of
// one session, so that the database sees which of two copies of a task succeeded first
// (docs/design.md 5.7).
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cluster/cluster.h"
#include "db/db.h"
#include "updator/node_watch.h"

namespace cigri::updator {

/// What a cluster reported about one job of ours.
struct StatusUpdate {
  std::int64_t job_id = 0;
  cluster::RemoteJob remote;
  double cluster_time = 0;  ///< the cluster's clock at the answer: its times are only subtracted
};

/// What the updates changed; Memory learns it after the commit.
struct UpdateResult {
  std::vector<std::pair<std::int64_t, JobState>> moved;
  std::vector<std::int64_t> ended;
  std::set<std::int64_t> campaigns;  ///< that had an end: they may be over now
  std::vector<NodeEnd> node_ends;    ///< of jobs that nobody killed
  std::vector<TrialEnd> ends;        ///< all of them, by batch
};

/// Applies `updates` (each job at most once). An update of a job that is not in flight any more
/// changes nothing. The caller commits.
UpdateResult ApplyStatusUpdates(db::Tx& tx, const std::vector<StatusUpdate>& updates,
                                const std::map<std::int64_t, std::string>& cluster_names);

}  // namespace cigri::updator
