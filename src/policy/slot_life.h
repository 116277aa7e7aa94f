// How long slots of a cluster last before its own users take them back, as its polls have shown.
#pragma once
#include <array>

#include "policy/allocation_state.h"
#include "policy/model.h"

namespace cigri::policy {

/// Adds what the polls of clusters that kill jobs show now.
void LearnSlotLives(const Snapshot& snapshot, double now, State& state);

/// What a cluster's own users do to jobs of ours. They kill the youngest first, so the n slots
/// whose jobs began first are lost only when fewer than n are left.
class SlotLives {
 public:
  /// `life`: nullptr = nothing is known. REQUIRES: it outlives this.
  SlotLives(const State::SlotLife* life, int max) : life_(life), max_(max) {}
  bool known() const { return life_ != nullptr; }
  /// `slots` of jobs that run there and end in `seconds`.
  void AddOlder(double slots, double seconds);
  /// Kills to expect in `need_s` of the youngest of new jobs that hold `slots` together.
  double Kills(double slots, double need_s) const;
  /// The same of jobs on the oldest `slots`.
  double KillsOfOldest(double slots, double need_s) const { return need_s * RateAt(slots); }

 private:
  static constexpr int kSteps = 24;  // powers of two, in seconds
  double RateAt(double slots) const;

  const State::SlotLife* life_;
  int max_;
  std::array<double, kSteps> older_{};  // slots of jobs that end after so long
  double all_older_ = 0;
};

/// Keeps jobs from slots that are likely taken before they end, while safer slots of the same
/// campaign can run them. Call when all limits are known.
void KeepFromUnsafeSlots(AllocationState& alloc, const State& state);

}  // namespace cigri::policy
