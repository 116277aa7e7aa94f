// How far users are behind their share while others want the same slots. Internal to src/policy.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "policy/fairtree.h"
#include "policy/policies/claims.h"

namespace cigri::policy {

/// What a policy notes of those whom it serves. Shares deal out whole jobs, so somebody is always a
/// part of a job behind; what it gets for that must not depend on who used the grid alone before.
class LagKeeper {
 public:
  /// Who is here for the first time is not behind. Nobody is further behind, or ahead, than by the
  /// largest job of all: what local users took, or longer jobs kept, is not given back later.
  LagKeeper(const AllocationState& alloc, const std::vector<Claim>& claims, Lags& lags);
  /// Call with the claims that it was made for, before they are sorted or given anything.
  void Begin(const std::vector<Claim>& claims, const std::vector<Leaf>& leaves);
  /// When all is given.
  void End();

 private:
  struct Member {
    State::Lag* lag = nullptr;
    std::vector<int> campaigns{};
    double held = 0;
  };

  double HeldBy(const Member& member) const;
  double Reach(const std::vector<int>& campaigns);
  void AddOwn(const std::vector<int>& campaigns, int times);

  const AllocationState& alloc_;
  std::vector<double> own_;  ///< by meter: what a member holds of it
  std::vector<Member> members_;
};

}  // namespace cigri::policy
