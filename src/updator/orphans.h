// What a full listing of a cluster shows: duplicates of our jobs, and jobs with our tag that are
// in no table.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "cluster/cluster.h"
#include "updator/store.h"

namespace cigri::updator {

/// `listed`: all jobs of this grid that live on the cluster and that no poll asks about. Duplicates
/// of recorded jobs go to the table `duplicates`, and nikita kills them. Jobs that are in no table
/// are only reported (ORPHAN_JOB). Jobs of a batch in doubt are left to the runner. `reported`
/// holds the ids that the open ORPHAN_JOB names.
void ReconcileOrphans(Store& store, std::int64_t cluster_id, const std::string& cluster_name,
                      const std::vector<cluster::RemoteJob>& listed,
                      std::set<std::string>* reported);

}  // namespace cigri::updator
