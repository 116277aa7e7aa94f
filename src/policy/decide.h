// The decision: who gets how many jobs where, and why the others do not.
#pragma once
#include <cstdint>
#include <functional>

#include "policy/model.h"

namespace cigri::policy {

/// Takes the reasons of a decision one by one: by campaign in order of submission, its main one
/// first. Those of recalls come last.
using TakeReason = std::function<void(const Reason&)>;

/// A pure function: the same arguments give the same result, whatever the order of rows.
/// `now` is in seconds of one clock with the snapshot's times; it may step back (then nothing
/// ages). REQUIRES: ids unique; a placement's cluster is in the snapshot, else the placement is
/// ignored. `reasons` empty: nobody will read them, and none are made; all else is the same.
/// A hundred thousand of them are more memory than the rest of a decision: `reasons` takes what it
/// needs of each.
PlanResult Decide(const Snapshot& snapshot, State carried, double now, std::uint64_t seed,
                  const TakeReason& reasons);
/// The same with the reasons in the result, unless `reasons` is false.
PlanResult Decide(const Snapshot& snapshot, State carried, double now, std::uint64_t seed,
                  bool reasons = true);

}  // namespace cigri::policy
