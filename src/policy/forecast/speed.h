// How fast clusters are, by what jobs took there (TECH-20, CIG-55).
#pragma once
#include <cstdint>
#include <vector>

#include "policy/model.h"

namespace cigri::policy {

/// What the successes of one campaign took on one cluster.
struct MeasuredPlacement {
  std::int64_t campaign = 0, cluster = 0, n = 0;
  double mean_s = 0;  ///< of the program alone, without transfers
};

/// Corrects the declared speeds of clusters by campaigns that have succeeded on several of them.
/// What is declared counts as a few jobs more, so that chance moves nobody; steps of 5 %, so that
/// equals stay equal.
void MeasureSpeeds(const std::vector<MeasuredPlacement>& placements,
                   std::vector<Cluster>& clusters);

}  // namespace cigri::policy
