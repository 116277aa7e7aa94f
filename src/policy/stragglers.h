// The last tasks of a campaign keep away from clusters that run some jobs very long.
#pragma once
#include "policy/allocation_state.h"

namespace cigri::policy {

/// Keeps tasks from clusters where one would likely run on when the others of its campaign are
/// done. Call when all limits are known.
void KeepFromStragglers(AllocationState& alloc);

}  // namespace cigri::policy
