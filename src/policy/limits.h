// Caps, quotas, licences, start rates and reserves: the operator's rules as meters of the
// allocation state.
#pragma once
#include "policy/allocation_state.h"

namespace cigri::policy {

/// Adds the meters of the configuration to the allocation state; `next.rates` is brought up to
/// `now`.
void AddLimits(AllocationState& alloc, State& next);
/// Takes what this decision started off the buckets of `next.rates`.
void SpendRates(const AllocationState& alloc, State& next);

}  // namespace cigri::policy
