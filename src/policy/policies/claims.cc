#include "policy/policies/claims.h"

#include <algorithm>

#include "policy/policies/shares.h"
#include "policy/policy.h"

namespace cigri::policy {
namespace {

// What a unit could still take anywhere, in slots.
double Reach(const AllocationState& alloc, const Unit& unit) {
  double slots = 0;
  for (const int i : unit.campaigns) {
    const CampaignAllocation& c = alloc.campaigns[i];
    std::int64_t jobs = 0;
    const std::int64_t demand = alloc.Demand(i);
    double mine = 0;
    for (int l = c.placements_begin; l < c.placements_end && jobs < demand; ++l) {
      if (alloc.clusters[alloc.placements[l].cluster].Full()) continue;
      const std::int64_t n = std::min(alloc.RoomOf(l).jobs, demand - jobs);
      jobs += n;
      mine += static_cast<double>(n) * alloc.placements[l].slots;
    }
    slots += mine;
  }
  return slots;
}

}  // namespace

std::vector<Claim> MakeClaims(const AllocationState& alloc, std::vector<Unit> units) {
  std::vector<Claim> claims;
  claims.reserve(units.size());
  for (auto& unit : units) {
    const CampaignAllocation& head = alloc.campaigns[unit.head()];
    Claim claim{.unit = std::move(unit), .weight = head.weight};
    for (const int i : claim.unit.campaigns) claim.held += alloc.campaigns[i].held_slots;
    claim.want = claim.held + Reach(alloc, claim.unit);
    claims.push_back(std::move(claim));
  }
  return claims;
}

double Engines(const AllocationState& alloc, const std::vector<Claim>& claims) {
  double total = alloc.TotalRoom();
  for (const auto& claim : claims) total += claim.held;
  return total;
}

void SetTargets(double total, std::vector<Claim>& claims) {
  std::vector<double> weights, caps;
  for (const auto& c : claims) weights.push_back(c.weight), caps.push_back(c.want);
  const auto ideals = WaterFill(total, weights, caps);
  for (std::size_t i = 0; i < claims.size(); ++i) claims[i].target = RoundUp(ideals[i]);
}

void Give(AllocationState& alloc, std::vector<Claim>& claims) {
  for (auto& c : claims)
    if (c.target > c.held) TakeUnit(alloc, c.unit, c.target - c.held);
  std::vector<Claim*> hungry;
  for (auto& c : claims) hungry.push_back(&c);
  while (!hungry.empty()) {
    const double room = alloc.TotalRoom();
    double weights = 0;
    for (const auto* c : hungry) weights += c->weight;
    std::erase_if(hungry, [&](Claim* c) {
      const double ask = std::max(1.0, RoundUp(room * c->weight / weights));
      return TakeUnit(alloc, c->unit, ask) < ask;
    });
  }
}

}  // namespace cigri::policy
