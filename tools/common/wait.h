// --wait: what a campaign does, until it is over.
#pragma once
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tools/common/api.h"
#include "tools/common/follow.h"

namespace cigri::tools {

/// Waits until the campaign is over, with a progress line on a terminal; then prints one summary
/// line and, after failures, what failed and why, and where the output is. Results are fetched as
/// tasks end, as `request` say; when they are printed, all else goes to stderr. Returns kExitOk
/// when every task is done, else kExitNo. Ctrl-C ends the process with 130 and leaves the campaign
/// running, after `on_leave`, whose words end what is then said; a second one does not wait for it.
/// An API that goes away is waited for, for an hour.
int Wait(Api& api, std::int64_t campaign, const ResultRequest& request,
         std::function<std::string()> on_leave = {});

/// The progress line for one answer of GET /campaigns/N/progress.
std::string ProgressText(const nlohmann::json& progress);
/// "ends in 20-40 s", "ends in 2 h to 3 h"; "" while nothing has ended, or nobody knows.
std::string EndsIn(const nlohmann::json& progress);
/// The one line at the end.
std::string SummaryText(const nlohmann::json& progress);

/// GET /campaigns/N/joblog.
std::string Joblog(Api& api, std::int64_t campaign);

}  // namespace cigri::tools
