// Defaults of settings that more than one module reads.
#pragma once

namespace cigri {

/// Policy key canary_jobs: jobs of a campaign on a cluster before the first success there. When all
/// of them fail, the placement is held.
constexpr int kDefaultCanaryJobs = 10;

}  // namespace cigri
