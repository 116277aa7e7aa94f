// gridstat -O and -E: what tasks and jobs printed, once or until they end.
#pragma once
#include <string>

#include "tools/common/results.h"
#include "tools/gridstat/options.h"

namespace cigri::gridstat {

/// Of campaign o.campaign, or of its task o.task. The exit code.
int CampaignOutput(tools::Api& api, const GridstatOptions& o);
/// Of the job at `path` ("/jobs/7"). The exit code.
int JobOutput(tools::Api& api, const std::string& path, const GridstatOptions& o);

/// Hands to `sink` what `stream` has, until the campaign is over.
void FollowResults(tools::Api& api, const GridstatOptions& o, tools::ResultStream& stream,
                   tools::ResultSink& sink);

}  // namespace cigri::gridstat
