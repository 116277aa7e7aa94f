#include "policy/own_order.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "core/text.h"
#include "policy/usage_summary.h"

namespace cigri::policy {
namespace {

std::string Work(const OwnWork& work) {
  return work.left_s > 0 ? HumanDuration(work.left_s) + " of work left" : "no work left";
}

bool Earlier(const Campaign& a, const Campaign& b) {
  return std::pair(a.submitted_at, a.id) < std::pair(b.submitted_at, b.id);
}

}  // namespace

OwnWork OwnWorkOf(const AllocationState& alloc, const CampaignAllocation& campaign) {
  const Campaign& row = *campaign.row;
  OwnWork work;
  if (row.need_s <= 0 || campaign.placements_begin == campaign.placements_end) return work;
  std::int64_t in_flight = 0;
  for (const auto& placement : row.placements) in_flight += placement.in_flight;
  work.known = true;
  work.left_s = double(row.waiting + in_flight) * row.need_s *
                alloc.placements[campaign.placements_begin].slots;
  return work;
}

std::vector<Unit> UserUnits(AllocationState& alloc, const std::vector<int>& campaigns) {
  if (alloc.config.parallel_campaigns > 0) return MakeUnits(alloc, campaigns);
  std::vector<Unit> units;
  std::unordered_map<std::string, std::size_t> of_user;
  for (const int i : campaigns) {
    const CampaignAllocation& c = alloc.campaigns[i];
    const auto [it, fresh] = of_user.try_emplace(UserKey(c.project, c.row->user), units.size());
    if (fresh) units.emplace_back();
    units[it->second].campaigns.push_back(i);
  }
  std::vector<std::tuple<double, double, int>> order;  // -weight, work, campaign
  for (auto& unit : units) {
    if (unit.campaigns.size() < 2) continue;
    order.clear();
    for (const int i : unit.campaigns)
      order.emplace_back(-alloc.campaigns[i].weight,
                         OwnWorkOf(alloc, alloc.campaigns[i]).left_s, i);
    std::sort(order.begin(), order.end());
    for (std::size_t n = 0; n < order.size(); ++n) {
      unit.campaigns[n] = std::get<2>(order[n]);
      if (n > 0) alloc.campaigns[unit.campaigns[n]].own_before = unit.campaigns[n - 1];
    }
  }
  return units;
}

int OldestOf(const AllocationState& alloc, const Unit& unit) {
  int oldest = -1;
  for (const int i : unit.campaigns) {
    if (alloc.Demand(i) <= 0) continue;
    if (oldest >= 0 && alloc.campaigns[i].weight < alloc.campaigns[oldest].weight) break;
    if (oldest < 0 || i < oldest) oldest = i;
  }
  return oldest == unit.head() ? -1 : oldest;
}

int OwnFirst(const AllocationState& alloc, int i) {
  do i = alloc.campaigns[i].own_before;
  while (i >= 0 && alloc.campaigns[i].left <= 0);
  return i;
}

std::string WhyOwnFirst(const AllocationState& alloc, const CampaignAllocation& first,
                        const CampaignAllocation& second) {
  if (first.weight > second.weight) return "its priority is higher";
  const OwnWork a = OwnWorkOf(alloc, first), b = OwnWorkOf(alloc, second);
  const bool earlier = Earlier(*first.row, *second.row), equal = first.weight == second.weight;
  if (equal && !a.known && b.known)
    return "none of its jobs has succeeded yet, the first ones go ahead";
  if (equal && a.known && b.known && a.left_s < b.left_s)
    return "it has " + Work(a) + ", this one " + Work(b);
  if (equal && earlier && a.known && (!b.known || a.left_s > b.left_s))
    return "it is the older one: a part of its user's slots is for his oldest campaign";
  return equal && earlier ? "it was submitted earlier" : "it takes what this one cannot use";
}

}  // namespace cigri::policy
