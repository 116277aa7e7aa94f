#include "policy/policies/common_limits.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace cigri::policy {
namespace {

constexpr int kEverywhere = -1;  // in place of a cluster

bool Open(const AllocationState& alloc, const PlacementAllocation& placement) {
  return placement.block == Code::kNone && alloc.clusters[placement.cluster].block == Code::kNone;
}

// Calls what(limit, cluster, slots) for each limit that jobs of campaign i draw from: the slots
// that it leaves to such jobs, there or kEverywhere. Resource classes come after the meters.
template <typename What>
void EachLimit(const AllocationState& alloc, int i, const What& what) {
  const CampaignAllocation& campaign = alloc.campaigns[i];
  const auto meter = [&](const MeterUse& use, int cluster, int slots) {
    const double each = use.per_slot + use.per_job / slots;
    if (each > 0) what(use.meter, cluster, alloc.meters[use.meter].room / each);
  };
  int widest = 1;
  for (int l = campaign.placements_begin; l < campaign.placements_end; ++l) {
    const PlacementAllocation& placement = alloc.placements[l];
    if (!Open(alloc, placement)) continue;
    widest = std::max(widest, placement.slots);
    for (const auto& use : alloc.clusters[placement.cluster].uses)
      meter(use, placement.cluster, placement.slots);
    for (int n = 0; n < placement.uses; ++n)
      meter(alloc.placement_uses[placement.uses_begin + n], placement.cluster, placement.slots);
    if (const int at = placement.resource_class; at > 0)
      what(static_cast<int>(alloc.meters.size()) + at, placement.cluster,
           alloc.classes[at - 1].free * placement.slots / placement.units());
  }
  for (const auto& use : campaign.uses) meter(use, kEverywhere, widest);
}

using Group = std::vector<std::size_t>;  // places of claims

// Claims all of whose waiting jobs draw from one limit that leaves less than is idle, or nothing. A
// claim alone where the limit is of all clusters together: its want counts what each of these
// leaves.
std::set<Group> GroupsOf(const AllocationState& alloc, const std::vector<Claim>& claims) {
  double idle = 0;
  for (const auto& c : alloc.clusters)
    if (c.block == Code::kNone) idle += c.Idle();
  std::unordered_map<int, Group> by_limit;
  std::unordered_map<int, int> campaigns_of;
  std::unordered_set<int> everywhere;
  for (std::size_t n = 0; n < claims.size(); ++n) {
    campaigns_of.clear();
    int campaigns = 0;
    for (const int i : claims[n].unit.campaigns) {
      if (alloc.Demand(i) <= 0) continue;
      EachLimit(alloc, i, [&](int limit, int cluster, double slots) {
        if (slots > 0 && slots >= (cluster < 0 ? idle : alloc.clusters[cluster].Idle())) return;
        if (cluster < 0) everywhere.insert(limit);
        if (int& seen = campaigns_of[limit]; seen == campaigns) ++seen;
      });
      ++campaigns;
    }
    for (const auto& [limit, seen] : campaigns_of)
      if (seen == campaigns) by_limit[limit].push_back(n);
  }
  std::set<Group> groups;
  for (auto& [limit, group] : by_limit)
    if (group.size() > 1 || everywhere.count(limit) != 0) groups.insert(std::move(group));
  return groups;
}

// Idle slots that the claims of a group can have together: a limit binds where all of them draw
// from it.
double IdleFor(const AllocationState& alloc, const std::vector<Claim>& claims, const Group& group) {
  struct Limit {
    int cluster = 0, drawing = 0;
    double slots = 0;
  };
  std::unordered_map<int, Limit> limits;
  std::vector<int> on(alloc.clusters.size(), 0);  // placements
  int campaigns = 0;
  for (const auto n : group)
    for (const int i : claims[n].unit.campaigns) {
      if (alloc.Demand(i) <= 0) continue;
      ++campaigns;
      const CampaignAllocation& c = alloc.campaigns[i];
      for (int l = c.placements_begin; l < c.placements_end; ++l)
        if (Open(alloc, alloc.placements[l])) ++on[alloc.placements[l].cluster];
      EachLimit(alloc, i, [&](int number, int cluster, double slots) {
        Limit& limit = limits[number];
        limit = {cluster, limit.drawing + 1, std::max(limit.slots, slots)};
      });
    }
  std::vector<double> idle(on.size(), 0);
  for (std::size_t k = 0; k < on.size(); ++k)
    if (on[k] > 0) idle[k] = alloc.clusters[k].Idle();
  for (const auto& [number, limit] : limits)
    if (limit.cluster >= 0 && limit.drawing >= on[limit.cluster])
      idle[limit.cluster] = std::min(idle[limit.cluster], limit.slots);
  double sum = 0;
  for (const double slots : idle) sum += slots;
  for (const auto& [number, limit] : limits)
    if (limit.cluster == kEverywhere && limit.drawing >= campaigns)
      sum = std::min(sum, limit.slots);
  return sum;
}

}  // namespace

void DivideCommonLimits(const AllocationState& alloc, std::vector<Claim>& claims) {
  if (alloc.meters.empty() && alloc.classes.empty()) return;
  struct Part {
    double slots = 0, weights = 0;
    std::vector<Claim*> members{};
  };
  std::vector<Part> parts;
  for (const auto& group : GroupsOf(alloc, claims)) {
    Part part{.slots = IdleFor(alloc, claims, group)};
    for (const auto n : group) {
      part.slots += claims[n].held, part.weights += claims[n].weight;
      part.members.push_back(&claims[n]);
    }
    parts.push_back(std::move(part));
  }
  // The tightest first: what it keeps from a claim is left to those of the next.
  std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
    return a.slots * b.weights < b.slots * a.weights;
  });
  for (const auto& part : parts) {
    const auto ideals = DivideTarget(part.slots, part.members);
    for (std::size_t n = 0; n < ideals.size(); ++n)
      part.members[n]->want = std::min(part.members[n]->want, ideals[n]);
  }
}

}  // namespace cigri::policy
