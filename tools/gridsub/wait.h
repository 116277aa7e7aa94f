// --wait: what a campaign does, until it is over.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tools/common/api.h"

namespace cigri::gridsub {

/// Waits until the campaign is over, with a progress line on a terminal; then prints one summary
/// line and, after failures, what failed and why. Returns kExitOk when every task is done, else
/// kExitNo. Ctrl-C ends the process with 130 and leaves the campaign running. An API that goes
/// away is waited for, for a minute.
int Wait(tools::Api& api, std::int64_t campaign);

/// The progress line for one answer of GET /campaigns/N/progress.
std::string ProgressText(const nlohmann::json& progress);
/// The one line at the end.
std::string SummaryText(const nlohmann::json& progress);

/// Writes GET /campaigns/N/joblog to `path`.
void WriteJoblog(tools::Api& api, std::int64_t campaign, const std::string& path);

}  // namespace cigri::gridsub
