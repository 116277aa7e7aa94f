// The parts of `gridclusters --check` that are the same for every kind behind a REST API.
#pragma once
#include <string>
#include <vector>

#include "cluster/cluster.h"

namespace cigri::cluster {

/// How far `clock`, the cluster's time now (0 = not reported), is from ours.
CheckItem CheckClock(double clock);
/// What a failed call means to an operator: the words and what to do.
CheckItem CheckFailure(const std::string& what, const CallFailed& failure);
/// A job of one unit, `echo`, submitted and followed to its end; deleted when it does not end.
CheckItem CheckTestJob(Cluster* cluster, const ClusterConfig& config, const std::string& user,
                       std::chrono::seconds patience);

}  // namespace cigri::cluster
