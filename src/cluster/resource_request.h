// What a JDL says of cores, mem and gpus, read once for every kind of cluster: all of one node.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "cluster/cluster.h"

namespace cigri::cluster {

struct ResourceRequest {
  int cores = 0, gpus = 0;  ///< 0 = not said
  std::int64_t mem_mb = 0;  ///< of a node, in MB rounded up; 0 = not said
  /// The batch has no resources of its own: what the API makes of `cores`, or the grid's default.
  bool plain = true;
};

/// Keys of Batch::options that the grid sets, and no user: nodes that get no job of the batch; or
/// the one node that its job must run on, to try it. A kind whose jobs cannot choose ignores them.
inline constexpr char kExcludedNodes[] = "excluded_nodes", kNode[] = "node";
struct NodeChoice {
  std::vector<std::string> excluded;
  std::string only;  ///< "" = any
};
NodeChoice NodesOf(const Batch& batch);

/// From Batch::options ("mem": "2G", or a number of MB) and Batch::resources.
ResourceRequest ResourceRequestOf(const Batch& batch);

/// Why a cluster that only knows nodes and their CPUs cannot give what Batch::resources name: a
/// level that it does not have, or a condition; "" when it can.
std::string UnknownLevel(const Batch& batch, const ClusterConfig& config);

}  // namespace cigri::cluster
