// Looks before a campaign is given anything on a cluster: too fast to be true, or better elsewhere.
#pragma once
#include "policy/allocation_state.h"

namespace cigri::policy {

/// Successes in a row that are looked at before a campaign's placement is called a black hole; 0 =
/// never.
int BlackHoleCount(const PolicyConfig& config, const Campaign& campaign);
/// CIG-11: holds a campaign where its jobs end much faster than elsewhere; adds to plan and state.
void HoldBlackHoles(AllocationState& alloc, PlanResult& result);
/// GRID-23: closes clusters without its data to a campaign that waits for one that has it.
void WaitForAffinity(AllocationState& alloc);

}  // namespace cigri::policy
