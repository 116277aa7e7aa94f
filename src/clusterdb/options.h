// The options that a cluster's row may have (docs/clusters.md).
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace cigri::clusterdb {

/// Why a cluster cannot have these options ("max_walltime is a number from 1 on, not \"10m\""); "" when it
/// can. A null is one that is taken away.
std::string OptionsProblem(const nlohmann::json& options);
/// The same for all options of a cluster: whether those of transfers go together.
std::string TransferOptionsProblem(const nlohmann::json& options);

}  // namespace cigri::clusterdb
