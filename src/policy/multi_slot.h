// Multi-slot jobs among narrow ones: ageing, a bounded hold, and what may still go before (FBS-05,
// FBS-19, FAIR-08). For those that multi_slot.queue keeps from queues, else as multi_slot.age says.
#pragma once
#include "policy/allocation_state.h"

namespace cigri::policy {

/// Whether a decision may keep slots: only then it looks at Cluster::releases.
bool MayKeepSlots(const Snapshot& snapshot);
/// Finds, per cluster, the multi-slot job that is stuck, and how often it may still be passed.
void FindMultiSlot(AllocationState& alloc, State& next);
/// A multi-slot job that was held for, and fits now, goes before everybody.
void ServeReserved(AllocationState& alloc);
/// Ages stuck multi-slot jobs by what passed them; gives up holds that last too long.
void AgeMultiSlot(const AllocationState& alloc, State& next);

}  // namespace cigri::policy
