// Events as CiGri prints them: gridevents, gridstat -e.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace cigri::tools {

/// Blocks between lines of 78 dashes; "" for an empty list. An event that happened more than once
/// says so at the end of its first line.
std::string EventsText(const nlohmann::json& items);

}  // namespace cigri::tools
