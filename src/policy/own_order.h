// Which of a user's own campaigns goes first. Shares say what a user gets; inside it, serving one
// campaign after the other ends each sooner than serving all at once. Internal to src/policy.
#pragma once
#include <string>
#include <tuple>
#include <vector>

#include "policy/allocation_state.h"

namespace cigri::policy {

/// How much a campaign has before it.
struct OwnWork {
  bool known = false;  ///< how long its jobs take; until then as long as others of its user
  double left_s = 0;   ///< slot-seconds of its tasks that are not done, 0 = nothing is known
};
OwnWork OwnWorkOf(const AllocationState& alloc, const CampaignAllocation& campaign);

/// The place of a campaign among its user's, the least is the first: the highest weight, to which a
/// deadline adds as its slack shrinks, then the least work left, then the earliest.
using OwnPlace = std::tuple<double, double, int>;  // -weight, work, campaign

/// Of campaigns of one user in one project, in their order. Sets CampaignAllocation::own_weight and
/// own_mean_s. With `parallel_campaigns` the order of MakeUnits().
std::vector<OwnPlace> OwnPlaces(AllocationState& alloc, const std::vector<int>& campaigns);

/// A unit for each user in each project, his campaigns in the order of OwnPlaces(). Sets
/// CampaignAllocation::own_before too. With `parallel_campaigns` as MakeUnits().
std::vector<Unit> UserUnits(AllocationState& alloc, const std::vector<int>& campaigns);

/// The earliest of a unit's campaigns of the highest weight that want jobs; -1: it goes first
/// anyway, or there is none.
int OldestOf(const AllocationState& alloc, const Unit& unit);

/// The nearest campaign before campaign `i` in its unit that still wants jobs; -1 = none.
int OwnFirst(const AllocationState& alloc, int i);

/// Why `first` was served before `second`: "it has 2 h of work left, this one 3 d of work left".
std::string WhyOwnFirst(const AllocationState& alloc, const CampaignAllocation& first,
                        const CampaignAllocation& second);

}  // namespace cigri::policy
