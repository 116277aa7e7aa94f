// The options of a cluster's row that no driver reads.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace cigri::clusterdb {

/// Why a cluster cannot have these options; "" when it can.
std::string OptionsProblem(const nlohmann::json& options);

}  // namespace cigri::clusterdb
