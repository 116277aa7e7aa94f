// Calls to the local clusters of other hosts. Their sockets are there: a row of the table
// relayed_calls asks the runner of that host to make the call (runner/relay_server.h).
#pragma once
#include <cstdint>
#include <string>

#include "cluster/cluster.h"

namespace cigri::clusterdb {

/// Carries calls to local cluster `cluster_id` of `home` (HOST:FOLDER), with a session of its own.
/// A call that the other host has not taken within seconds is withdrawn, and was not sent; one that
/// it has taken and not answered may have been sent. Not for two threads at once.
cluster::Relay RelayTo(std::int64_t cluster_id, const std::string& home,
                       const std::string& conninfo);

}  // namespace cigri::clusterdb
