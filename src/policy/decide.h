// The decision: who gets how many jobs where, and why the others do not.
#pragma once
#include <cstdint>

#include "policy/model.h"

namespace cigri::policy {

/// A pure function: the same arguments give the same result, whatever the order of rows.
/// `now` is in seconds of one clock with the snapshot's times; it may step back (then nothing
/// ages). REQUIRES: ids unique; a placement's cluster is in the snapshot, else the placement is
/// ignored. `reasons` false: nobody will read them, and none are made; all else is the same.
PlanResult Decide(const Snapshot& snapshot, State carried, double now, std::uint64_t seed,
                  bool reasons = true);

}  // namespace cigri::policy
