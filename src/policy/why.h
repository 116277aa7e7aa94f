// From the allocation state at the end of a decision to the reasons of those that still wait.
#pragma once
#include <vector>

#include "policy/allocation_state.h"

namespace cigri::policy {

/// One reason per open placement of each campaign that still waits, its main one first.
std::vector<Reason> ReasonsOf(const AllocationState& alloc, const State& next);

}  // namespace cigri::policy
