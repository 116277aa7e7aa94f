// What a slow sweep finds on a cluster: copies of our jobs, and jobs with our tag that nobody
// knows.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "cluster/cluster.h"
#include "db/db.h"

namespace cigri::updator {

/// `listed`: all jobs of this grid that live on the cluster and that no poll asks about. Copies of
/// recorded jobs go to `twins` (nikita kills them), those of which nothing is known are only told
/// (UNKNOWN_JOB); what is in doubt is the runner's. `told` holds the unknown ids that an event has
/// named already.
void JudgeStrays(db::Tx& tx, std::int64_t cluster_id, const std::string& cluster_name,
                 const std::vector<cluster::RemoteJob>& listed, std::set<std::string>* told);

}  // namespace cigri::updator
