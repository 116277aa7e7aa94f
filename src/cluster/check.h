// The parts of `gridclusters --check` that are the same for every kind behind a REST API.
#pragma once
#include <string>
#include <vector>

#include "cluster/cluster.h"
#include "cluster/rest_api.h"

namespace cigri::cluster {

/// How far the cluster's clock, as of the last answer, is from ours.
CheckItem CheckClock(const RestApi& api);
/// What a failed call means to an operator: the words and what to do.
CheckItem CheckFailure(const std::string& what, const CallFailed& failure);
/// A job of one unit, `echo`, submitted and followed to its end; deleted when it does not end.
CheckItem CheckTestJob(Cluster* cluster, const ClusterConfig& config, const std::string& user,
                       std::chrono::seconds patience);

}  // namespace cigri::cluster
