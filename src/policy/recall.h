// Which waiting jobs to take back from the queue of one cluster because another has idle slots.
#pragma once
#include <vector>

#include "policy/allocation_state.h"
#include "policy/decide.h"

namespace cigri::policy {

/// REQUIRES: called when everything was given. Jobs that wait in a queue, of campaigns that have
/// nothing left to send, as far as slots that stay idle elsewhere would start them. Takes these
/// slots, so that no two campaigns are recalled for the same one.
std::vector<Recall> ChooseRecalls(AllocationState& alloc);

/// Why: a reason for each of them.
void ReasonsOf(const AllocationState& alloc, const std::vector<Recall>& recalls,
               const TakeReason& take);

}  // namespace cigri::policy
