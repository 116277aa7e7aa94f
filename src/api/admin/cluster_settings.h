// The settings of a cluster, checked before the database sees them.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace cigri::api {

/// What PATCH and POST take, docs/clusters.md explains, and ChangeCluster in
/// sql/queries/clusters.sql sets.
const std::vector<std::string>& ClusterSettings();
/// Throws 400 naming the setting of `body`, its value and what would be right; null clears one.
void CheckClusterSettings(const nlohmann::json& body);
/// Throws 400 unless a cluster can be called `name`.
void CheckClusterName(const std::string& name);

}  // namespace cigri::api
