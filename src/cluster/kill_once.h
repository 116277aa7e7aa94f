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

/// `refs` by `key`, the groups in the order of their last ones. What is to be killed first is first
/// in `refs`, and what runs is last: groups that only wait come before those of which a job runs,
/// in whose place theirs would begin.
std::vector<std::vector<RemoteRef>> InGroups(
    const std::vector<RemoteRef>& refs, const std::function<std::string(const RemoteRef&)>& key);

}  // namespace cigri::cluster
