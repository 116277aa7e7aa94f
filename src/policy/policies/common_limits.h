// Limits that several claims draw from: a reserve, a ceiling of a cluster, a quota of a project, a
// pool of licences, GPUs. Internal to src/policy.
#pragma once
#include <vector>

#include "policy/policies/claims.h"

namespace cigri::policy {

/// What a limit leaves to claims together is divided among these by their weights: else whoever is
/// served first takes all of it. Lowers what they want to that.
void DivideCommonLimits(const AllocationState& alloc, std::vector<Claim>& claims);

}  // namespace cigri::policy
