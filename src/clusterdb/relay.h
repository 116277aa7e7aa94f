// Calls to clusters that this host cannot reach: the local ones of other hosts, whose sockets are
// there, and remote ones that the network keeps from us. A row of the table relayed_calls asks the
// runner of another host to make the call (runner/relay_server.h).
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "cluster/cluster.h"
#include "db/db.h"

namespace cigri::clusterdb {

/// Carries calls to local cluster `cluster_id` of another home, with a session of its own. A call
/// that the other host has not taken within seconds is withdrawn, and was not sent; one that it has
/// taken and not answered may have been sent. Not for two threads at once.
cluster::Relay RelayToHome(std::int64_t cluster_id, const std::string& conninfo);

/// In the same way, to remote cluster `cluster_id` through the runner that has it, if that is
/// another home's, with one of `sessions`. `reports`: what its calls show, it writes to
/// unreachable_clusters, so that a runner that reaches the cluster gets it.
cluster::Relay RelayToRunner(std::int64_t cluster_id, std::shared_ptr<db::Pool> sessions,
                             bool reports);

}  // namespace cigri::clusterdb
