// Which test campaigns go before everybody (CIG-21). Internal to src/policy.
#pragma once
#include <vector>

#include "policy/allocation_state.h"

namespace cigri::policy {

/// By place in the allocation state: the first two tests of each user, in order of submission. One
/// whose jobs take several slots only while it and what its user holds stay within what he is due:
/// a test of wide and long jobs would be a way past his share.
std::vector<bool> TestsAhead(const AllocationState& alloc);

}  // namespace cigri::policy
