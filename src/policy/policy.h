// The policies between campaigns: each gives what is left in the allocation state to a set of
// campaigns. Internal to src/policy; decide.cc runs one for every tier (tests, urgent, levels,
// scavengers).
#pragma once
#include <cstdint>
#include <vector>

#include "policy/allocation_state.h"
#include "policy/usage_summary.h"

namespace cigri::policy {

/// splitmix64: the same numbers on every machine and with every standard library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t Next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  /// In [0, 1).
  double Uniform() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

struct Context {
  const Snapshot& snapshot;
  const UsageSummary& usage_summary;
  State& next;
  Random& random;
};

class Policy {
 public:
  virtual ~Policy() = default;
  /// Gives to `campaigns` (places in the allocation state, in order of submission) until nothing
  /// more can be given: no policy leaves a slot idle that one of them could take.
  virtual void Serve(AllocationState& alloc, const std::vector<int>& campaigns,
                     Context& context) const = 0;
};

/// The factory: the one file of the engine that knows src/policy/policies.
const Policy& PolicyOf(PolicyKind kind);

/// Gives a unit jobs of up to `want` slots over all its placements, best first, the last job whole;
/// returns the slots given.
double TakeUnit(AllocationState& alloc, const Unit& unit, double want);

}  // namespace cigri::policy
