// What --dry-run shows.
#pragma once
#include <nlohmann/json_fwd.hpp>

namespace cigri::gridsub {

/// Prints the answer of POST /campaigns?dry_run=1 for readers.
void PrintPreview(const nlohmann::json& body);

}  // namespace cigri::gridsub
