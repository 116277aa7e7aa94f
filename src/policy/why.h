// From the allocation state at the end of a decision to the reasons of those that still wait.
#pragma once
#include <optional>

#include "policy/allocation_state.h"
#include "policy/decide.h"

namespace cigri::policy {

/// One reason per open placement of each campaign that still waits, its main one first.
void ReasonsOf(const AllocationState& alloc, const State& next, const TakeReason& take);

/// What a campaign waits for that comes after another one; nothing when those are over.
std::optional<Reason> PredecessorReason(const Campaign& campaign);

}  // namespace cigri::policy
