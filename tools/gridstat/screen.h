// What a user sees of campaigns on a terminal: within its width, the answer first.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tools/gridstat/campaign.h"

namespace cigri::gridstat {

/// One campaign: state, bar, numbers, the expected end, a line for each cluster. `progress` is GET
/// /campaigns/N/progress; `now` epoch seconds. No line is longer than `width`.
std::string Screen(const nlohmann::json& campaign, const nlohmann::json& progress, double now,
                   int width, const Style& style);
/// The command that helps next, as "next: gridstat 7 --why"; "" when there is none.
std::string NextCommand(const nlohmann::json& campaign);
/// Titles and a line for each campaign; a hint when there are none.
std::string ListScreen(const nlohmann::json& campaigns, bool all, bool header, int width,
                       const Style& style);

}  // namespace cigri::gridstat
