#include "policy/policies/claims.h"

#include <algorithm>

#include "policy/policies/shares.h"
#include "policy/policy.h"

namespace cigri::policy {
namespace {

// What a unit could still take anywhere, in slots.
double Reach(const Ledger& ledger, const Unit& unit) {
  double slots = 0;
  for (const int i : unit.campaigns) {
    const CampaignBook& c = ledger.campaigns[i];
    std::int64_t jobs = 0;
    const std::int64_t demand = ledger.Demand(i);
    double mine = 0;
    for (int l = c.lanes_begin; l < c.lanes_end && jobs < demand; ++l) {
      if (ledger.clusters[ledger.lanes[l].cluster].Full()) continue;
      const std::int64_t n = std::min(ledger.RoomOf(l).jobs, demand - jobs);
      jobs += n;
      mine += static_cast<double>(n) * ledger.lanes[l].slots;
    }
    slots += mine;
  }
  return slots;
}

}  // namespace

std::vector<Claim> MakeClaims(Ledger& ledger, const std::vector<int>& campaigns) {
  auto units = MakeUnits(ledger, campaigns);
  std::vector<Claim> claims;
  claims.reserve(units.size());
  for (auto& unit : units) {
    const CampaignBook& head = ledger.campaigns[unit.head()];
    Claim claim{.unit = std::move(unit), .weight = head.weight};
    for (const int i : claim.unit.campaigns) claim.held += ledger.campaigns[i].held_slots;
    claim.want = claim.held + Reach(ledger, claim.unit);
    if (head.lanes_begin < head.lanes_end) claim.width = ledger.lanes[head.lanes_begin].slots;
    claims.push_back(std::move(claim));
  }
  return claims;
}

double Engines(const Ledger& ledger, const std::vector<Claim>& claims) {
  double total = ledger.TotalRoom();
  for (const auto& claim : claims) total += claim.held;
  return total;
}

void SetTargets(double total, std::vector<Claim>& claims) {
  std::vector<double> weights, caps;
  for (const auto& c : claims) weights.push_back(c.weight), caps.push_back(c.want);
  const auto ideals = WaterFill(total, weights, caps);
  for (std::size_t i = 0; i < claims.size(); ++i) claims[i].target = RoundUp(ideals[i]);
}

void Give(Ledger& ledger, std::vector<Claim>& claims) {
  auto jobs_for = [](const Claim& c, double slots) {
    return static_cast<std::int64_t>(RoundUp(slots / c.width));
  };
  for (auto& c : claims)
    if (c.target > c.held) TakeUnit(ledger, c.unit, jobs_for(c, c.target - c.held));
  std::vector<Claim*> hungry;
  for (auto& c : claims) hungry.push_back(&c);
  while (!hungry.empty()) {
    const double room = ledger.TotalRoom();
    double weights = 0;
    for (const auto* c : hungry) weights += c->weight;
    std::erase_if(hungry, [&](Claim* c) {
      const auto ask = std::max<std::int64_t>(1, jobs_for(*c, room * c->weight / weights));
      return TakeUnit(ledger, c->unit, ask) < ask;
    });
  }
}

}  // namespace cigri::policy
