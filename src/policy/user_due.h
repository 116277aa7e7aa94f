// What each user is due of the grid's slots, for rules that go before a policy: only who has less
// than that may pass others by them. Internal to src/policy.
#pragma once
#include <string>
#include <unordered_map>

#include "policy/allocation_state.h"

namespace cigri::policy {

class UserDue {
 public:
  /// Among all who hold or want slots now, by the shares that the policy goes by.
  explicit UserDue(const AllocationState& alloc);
  /// Slots that the user of a campaign is due beyond those that he holds; < 0: he holds too many.
  double Left(const CampaignAllocation& c) const;
  /// Slots that he holds.
  double Held(const CampaignAllocation& c) const;
  bool HoldsNothing(const CampaignAllocation& c) const { return Held(c) <= 0; }

 private:
  struct User {
    double held = 0, want = 0, due = 0;
  };
  std::string KeyOf(const CampaignAllocation& c) const;

  bool by_tree_;
  std::unordered_map<std::string, User> users_;
};

}  // namespace cigri::policy
