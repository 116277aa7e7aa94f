// How a proportional policy divides what there is: a target for each claim, then the giving.
// Internal to src/policy.
#pragma once
#include <vector>

#include "policy/allocation_state.h"

namespace cigri::policy {

/// One unit in the division, in slots.
struct Claim {
  Unit unit;
  double weight = 1;
  double usage = 0;  ///< what the policy orders claims by
  double held = 0;
  double want = 0;  ///< held + what it could still take
  double target = 0;
};

std::vector<Claim> MakeClaims(const AllocationState& alloc, std::vector<Unit> units);
/// What all claims hold and what is left, together: the engines of GRID-16.
double Engines(const AllocationState& alloc, const std::vector<Claim>& claims);
/// Targets by weight, rounded up (GRID-16), never above what a claim wants (GRID-17).
void SetTargets(double total, std::vector<Claim>& claims);
/// First everybody up to the target, in the order of the claims (GRID-14); then what is left goes
/// round, by weight, until nobody can take more (GRID-19).
void Give(AllocationState& alloc, std::vector<Claim>& claims);

}  // namespace cigri::policy
