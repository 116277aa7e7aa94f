// What lottery, stride and dynamic share: slots are dealt one by one, cluster by cluster.
// Internal to src/policy.
#pragma once
#include <vector>

#include "policy/lottery_rank.h"
#include "policy/policies/policies.h"

namespace cigri::policy {

/// The units with an open placement on each cluster; `placement[k]` is where unit `unit[k]` may
/// take. A unit's placement there is that of its first campaign that still wants something and can
/// have it.
class Dealer {
 public:
  Dealer(AllocationState& alloc, std::vector<Unit> units);
  const std::vector<Unit>& units() const { return units_; }
  /// Units that may take on cluster c, in order.
  const std::vector<int>& At(int cluster) const { return at_[cluster]; }
  /// One job for unit u on cluster c; false when it can take none there.
  bool TakeOne(int u, int cluster);
  /// One job for unit u on the best cluster where it can take one; false when there is none.
  bool TakeOneAnywhere(int u);
  /// While set, TakeOne gives a campaign nothing where a more affine cluster of it has room.
  void OnlyAffine(bool only) { only_affine_ = only; }
  /// The first campaign of u that wants something on c: what a gap is measured for; -1 = none.
  int Wants(int u, int cluster) const;
  int PlacementOf(int campaign, int cluster) const { return placement_[campaign][cluster]; }

 private:
  bool HasBetter(int campaign, int placement) const;

  AllocationState& alloc_;
  bool only_affine_ = false;
  std::vector<Unit> units_;
  std::vector<std::vector<int>> at_;
  std::vector<std::vector<int>> placement_;  // campaign x cluster, -1 = none
};

}  // namespace cigri::policy
