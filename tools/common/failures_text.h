// What a campaign fails of, for messages: gridstat on a terminal, gridsub --wait.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace cigri::tools {

/// The answer of /campaigns/N/failures: equal failures with count, clusters and one sample; "" when
/// there are none.
std::string FailuresText(const nlohmann::json& failures, bool colour);

}  // namespace cigri::tools
