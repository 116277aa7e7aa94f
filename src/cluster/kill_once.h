// Kills of elements that share their job.
#pragma once
#include <functional>
#include <vector>

#include "cluster/cluster.h"

namespace cigri::cluster {

/// Calls `kill` with one element of each job of `refs`, and adds what became of each of them to
/// `result`: those that share a job are killed with it, by one call. A user who may not call
/// (CallFailed, kAuth) has failed alone: the kills of others go on.
void KillOncePerJob(const std::vector<RemoteRef>& refs, KillResult* result,
                    const std::function<void(const std::vector<RemoteRef>&, KillResult*)>& kill);

}  // namespace cigri::cluster
