// Which of our own running jobs to cancel for those that may ask for it. Off by default.
#pragma once
#include <vector>

#include "policy/allocation_state.h"

namespace cigri::policy {

/// REQUIRES: called when everything was given; claims what urgent campaigns (GRID-27..36),
/// starved normal ones (TECH-08) and short SLA groups (GRID-45) still lack.
std::vector<Preempt> ChooseVictims(const AllocationState& alloc, const Snapshot& snapshot);

/// GRID-32: the lowest goes first.
double VictimValue(double priority, double running_s, double threshold_s);

}  // namespace cigri::policy
