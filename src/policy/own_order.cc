#include "policy/own_order.h"

#include <algorithm>
#include <unordered_map>

#include "core/text.h"
#include "policy/usage_summary.h"

namespace cigri::policy {
namespace {

// How long a job takes on the average, 0 = none has succeeded.
double KnownMean(const Campaign& c) { return c.need_s > 0 ? MeanOf(c) : 0; }

// How long the user's slots take for the work that the campaign has left; a job at least.
double OwnNeed(const AllocationState& alloc, const CampaignAllocation& c) {
  double slots = c.own_slots;
  if (slots < 0) {
    slots = 0;
    for (const auto& other : alloc.campaigns)
      if (other.project == c.project && other.row->user == c.row->user) slots += other.used_slots();
  }
  return std::max(KnownMean(*c.row), OwnWorkOf(alloc, c).left_s / (1 + slots));
}

// Once a decision for all who have a deadline: each alone would go through all campaigns.
void CountOwnSlots(AllocationState& alloc, const std::vector<int>& campaigns) {
  if (alloc.config.deadline_weight <= 0) return;
  const auto lacks = [](const CampaignAllocation& c) {
    return c.row->deadline > 0 && c.own_slots < 0;
  };
  if (std::none_of(campaigns.begin(), campaigns.end(),
                   [&](int i) { return lacks(alloc.campaigns[i]); }))
    return;
  std::unordered_map<std::string, double> slots;
  for (const auto& c : alloc.campaigns)
    if (lacks(c)) slots.try_emplace(UserKey(c.project, c.row->user));
  for (const auto& c : alloc.campaigns)
    if (c.held_slots > 0)
      if (const auto it = slots.find(UserKey(c.project, c.row->user)); it != slots.end())
        it->second += c.used_slots();
  for (auto& c : alloc.campaigns)
    if (lacks(c)) c.own_slots = slots.at(UserKey(c.project, c.row->user));
}

// FAIR-22: 0 while a deadline leaves twice as long as the work needs, 1 when it leaves no slack,
// and until the length of the work is known: behind others with deadlines it would never be.
double Urgency(const AllocationState& alloc, const CampaignAllocation& c) {
  const double left = c.row->deadline - alloc.now;
  if (c.row->deadline <= 0) return 0;
  return left <= 0 || !OwnWorkOf(alloc, c).known
             ? 1
             : std::clamp(2 * OwnNeed(alloc, c) / left - 1, 0.0, 1.0);
}

// Only among a user's own campaigns: no deadline takes anything from another user.
double OwnWeight(const AllocationState& alloc, const CampaignAllocation& c) {
  if (c.own_weight >= 0) return c.own_weight;
  return c.weight * (1 + alloc.config.deadline_weight * Urgency(alloc, c));
}

std::string ItsDeadline(const AllocationState& alloc, const CampaignAllocation& c) {
  const double left = c.row->deadline - alloc.now;
  if (left <= 0) return "its deadline is over";
  if (!OwnWorkOf(alloc, c).known)
    return "it has a deadline and none of its jobs has succeeded yet, the first ones go ahead";
  return "its deadline is in " + HumanDuration(left) + " and its work takes " +
         HumanDuration(OwnNeed(alloc, c));
}

std::string WorkText(const OwnWork& work) {
  return work.left_s > 0 ? HumanDuration(work.left_s) + " of work left" : "no work left";
}

// Else each new campaign would go before those that are nearly done.
void GuessLengths(AllocationState& alloc, const std::vector<int>& campaigns) {
  double sum = 0, n = 0;
  for (const int i : campaigns)
    if (const double mean = KnownMean(*alloc.campaigns[i].row); mean > 0) sum += mean, ++n;
  for (const int i : campaigns)
    if (CampaignAllocation& c = alloc.campaigns[i]; c.row->need_s <= 0 && n > 0)
      c.own_mean_s = sum / n;
}

bool Earlier(const Campaign& a, const Campaign& b) {
  return std::pair(a.submitted_at, a.id) < std::pair(b.submitted_at, b.id);
}

}  // namespace

OwnWork OwnWorkOf(const AllocationState& alloc, const CampaignAllocation& campaign) {
  const Campaign& row = *campaign.row;
  OwnWork work;
  const double mean = row.need_s > 0 ? KnownMean(row) : campaign.own_mean_s;
  if (mean <= 0 || campaign.placements_begin == campaign.placements_end) return work;
  std::int64_t in_flight = 0;
  for (const auto& placement : row.placements) in_flight += placement.in_flight;
  work.known = row.need_s > 0;
  work.left_s =
      double(row.waiting + in_flight) * mean * alloc.placements[campaign.placements_begin].slots;
  return work;
}

std::vector<OwnPlace> OwnPlaces(AllocationState& alloc, const std::vector<int>& campaigns) {
  std::vector<OwnPlace> places;
  places.reserve(campaigns.size());
  if (alloc.config.parallel_campaigns > 0) {  // TECH-17
    for (const int i : campaigns) places.emplace_back(-alloc.campaigns[i].row->priority, 0, i);
  } else {
    CountOwnSlots(alloc, campaigns);
    GuessLengths(alloc, campaigns);
    for (const int i : campaigns) {
      CampaignAllocation& c = alloc.campaigns[i];
      c.own_weight = OwnWeight(alloc, c);
      places.emplace_back(-c.own_weight, OwnWorkOf(alloc, c).left_s, i);
    }
  }
  std::sort(places.begin(), places.end());
  return places;
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
  for (auto& unit : units) {
    if (unit.campaigns.size() < 2) continue;
    const auto order = OwnPlaces(alloc, unit.campaigns);
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
  const double weight = OwnWeight(alloc, first), other = OwnWeight(alloc, second);
  if (weight > other && first.weight > second.weight)
    return first.row->priority > second.row->priority
               ? "its priority is higher"
               : "the quality of service of its class is higher";
  if (weight > other) return ItsDeadline(alloc, first);
  const OwnWork a = OwnWorkOf(alloc, first), b = OwnWorkOf(alloc, second);
  const bool earlier = Earlier(*first.row, *second.row), equal = weight == other;
  if (equal && a.left_s < b.left_s)
    return "it has " + WorkText(a) + ", this one " + WorkText(b) +
           (a.known && b.known ? "" : ", if jobs take as long as his others");
  if (equal && !a.known && a.left_s > b.left_s)
    return "none of its jobs has succeeded yet, the first one goes ahead";
  if (equal && earlier && a.left_s > b.left_s)
    return "it is the older one: a part of its user's slots is for his oldest campaign";
  return equal && earlier ? "it was submitted earlier" : "it takes what this one cannot use";
}

}  // namespace cigri::policy
