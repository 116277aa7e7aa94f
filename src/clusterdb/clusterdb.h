// The rows of `clusters` as modules need them, and the drivers made from them.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/drivers.h"
#include "clusterdb/api_limiter.h"
#include "core/states.h"
#include "db/db.h"

namespace cigri::clusterdb {

struct ClusterRow {
  cluster::ClusterConfig config;  ///< its password decrypted only by MakeDriver
  bool enabled = true;
  double min_cycle_s = 5;   ///< FBS-15: the operator's figure, else 0 with a change feed, else 5
  std::string fingerprint;  ///< changes when a new driver must be made
  std::string token_command;
  std::string home;  ///< HOST:FOLDER of a local cluster of `cigri up`, else ""
  std::string api;  ///< the key of its row in api_load: rows of one api_group share it
  double stress_limit = 0.8;
};

/// All clusters, by id; also disabled ones, whose jobs must still be followed.
std::vector<ClusterRow> LoadClusters(db::Tx& tx);
/// Adds a cluster with what its driver can do; its id, or nothing when there is one of that name.
/// It starts in mode `open` when it serves this grid alone, else in `observe`.
std::optional<std::int64_t> AddCluster(db::Tx& tx, const cluster::Driver& driver,
                                       const std::string& name, const std::string& api_url);
/// Writes what each driver can do to the rows of its clusters: another version of the programs may
/// have written them. Changes only rows that differ.
void StoreCapabilities(db::Tx& tx);
/// Makes the driver. Throws Fatal for an unknown kind, a bad address or a secret that cannot be
/// read. `conninfo`: the database with the users' credentials (users_mapping) and the state of the
/// API (api_load); without it the driver has neither tokens nor a gate.
std::unique_ptr<cluster::Cluster> MakeDriver(const ClusterRow& row,
                                             const std::string& conninfo = "",
                                             Caller caller = Caller::kApi);

/// How a module makes the driver of a row; empty: MakeDriver. Tests and the fault simulation give
/// their own.
using DriverFactory = std::function<std::unique_ptr<cluster::Cluster>(const ClusterRow& row)>;
std::unique_ptr<cluster::Cluster> MakeDriver(const DriverFactory& factory, const ClusterRow& row,
                                             const std::string& conninfo, Caller caller);

}  // namespace cigri::clusterdb
