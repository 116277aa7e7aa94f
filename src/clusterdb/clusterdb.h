// The rows of `clusters` as modules need them, and the drivers made from them.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/cluster.h"
#include "clusterdb/api_gate.h"
#include "core/states.h"
#include "db/db.h"

namespace cigri::clusterdb {

struct ClusterRow {
  cluster::ClusterConfig config;  ///< its password decrypted only by MakeDriver
  bool enabled = true;
  double min_round_s = 5;   ///< FBS-15: 5 for remote kinds, 0 for local, or the operator's figure
  std::string fingerprint;  ///< changes when the driver must be made anew
  std::string token_command;
  std::string api;  ///< the key of its row in api_load: rows of one api_group share it
  double stress_limit = 0.8;
};

/// All clusters, by id; also those that are not enabled (their jobs must still be followed).
std::vector<ClusterRow> LoadClusters(db::Tx& tx);
/// Makes the driver. Throws Fatal for an unknown kind, a bad address or a secret that cannot be
/// read. `conninfo`: where credentials of users are (users_mapping) and how the API may be called
/// (api_load); without it there is neither a token nor a gate.
std::unique_ptr<cluster::Cluster> MakeDriver(const ClusterRow& row,
                                             const std::string& conninfo = "",
                                             Caller caller = Caller::kApi);

}  // namespace cigri::clusterdb
