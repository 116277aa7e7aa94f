// Calls that another host makes: to its local clusters, whose sockets are there, and to remote ones
// that its runner has. A row of the table relayed_calls asks that runner for the call
// (runner/relay_server.h).
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "cluster/cluster.h"
#include "clusterdb/clusterdb.h"
#include "db/db.h"

namespace cigri::clusterdb {

/// Carries calls to local cluster `cluster_id` of another home, with a session of its own. A call
/// that the other host has not taken within seconds is withdrawn, and was not sent; one that it has
/// taken and not answered may have been sent. Not for two threads at once.
cluster::Relay RelayToHome(std::int64_t cluster_id, const std::string& conninfo);

/// Sessions that the drivers of a process share.
struct HostSessions {
  std::shared_ptr<db::Pool> calls;       ///< each for the time of a call
  std::shared_ptr<db::Pool> statements;  ///< each for a statement
};

/// In the same way, to remote cluster `cluster_id` through the runner that has its lease, if that
/// is another home's. The updator's calls are made there first, so that several hosts poll; and
/// what its calls show, it writes to unreachable_clusters, so that a runner that reaches the
/// cluster gets it.
cluster::OtherHost HostOfRunner(std::int64_t cluster_id, const HostSessions& sessions,
                                Caller caller);

}  // namespace cigri::clusterdb
