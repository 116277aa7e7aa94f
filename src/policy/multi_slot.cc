#include "policy/multi_slot.h"

#include <algorithm>
#include <cmath>

namespace cigri::policy {
namespace {

State::Pair KeyOf(const AllocationState& alloc, const PlacementAllocation& placement) {
  return {alloc.campaigns[placement.campaign].row->id, placement.row->cluster};
}

bool Resting(const State& next, const State::Pair& key, double now) {
  const auto it = next.ageing.find(key);
  return it != next.ageing.end() && now < it->second.rest_until;
}

double AgeOf(const State& next, const State::Pair& key) {
  const auto it = next.ageing.find(key);
  return it == next.ageing.end() ? 0 : it->second.age;
}

// Ready, allowed, and kept out by nothing but its width.
bool WantsSlots(const AllocationState& alloc, const PlacementAllocation& placement) {
  const CampaignAllocation& campaign = alloc.campaigns[placement.campaign];
  const ClusterAllocation& cluster = alloc.clusters[placement.cluster];
  return placement.slots > 1 && placement.block == Code::kNone && placement.left > 0 &&
         campaign.in_play && campaign.left > placement.avoid && cluster.block == Code::kNone &&
         alloc.HasUnits(placement);
}

// Starts that may still pass before the gap is reached: its age only grows, by `multi_slot_step`
// each.
double PassLeft(const PolicyConfig& config, double age) {
  return std::max(0.0, std::ceil((config.multi_slot_age - age) / config.multi_slot_step - 1e-9));
}

}  // namespace

void FindMultiSlot(AllocationState& alloc, State& next) {
  const PolicyConfig& config = alloc.config;
  if (config.multi_slot_age < 0 || config.multi_slot_step <= 0) return;
  for (std::size_t l = 0; l < alloc.placements.size(); ++l) {
    const PlacementAllocation& placement = alloc.placements[l];
    const State::Pair key = KeyOf(alloc, placement);
    if (!WantsSlots(alloc, placement) || Resting(next, key, alloc.now)) continue;
    alloc.clusters[placement.cluster].multi_slots.push_back(
        {.placement = static_cast<int>(l), .pass = PassLeft(config, AgeOf(next, key))});
  }
  for (auto& cluster : alloc.clusters) {
    // The one passed most often first; of equals the earliest (placements are in that order).
    std::stable_sort(cluster.multi_slots.begin(), cluster.multi_slots.end(),
                     [](const auto& a, const auto& b) { return a.pass < b.pass; });
    cluster.releases = cluster.row->releases;
    alloc.NextMultiSlot(cluster);
  }
}

void ServeReserved(AllocationState& alloc) {
  if (alloc.config.multi_slot_age <= 0)
    return;  // 0: order of submission, nothing is brought forward
  for (auto& cluster : alloc.clusters) {
    if (!cluster.HasMultiSlot() || cluster.multi_slots[cluster.multi_slot].pass > 0) continue;
    const int placement = cluster.multi_slots[cluster.multi_slot].placement;
    if (cluster.free >= alloc.placements[placement].slots) alloc.Take(placement, 1);
  }
}

void AgeMultiSlot(const AllocationState& alloc, State& next) {
  if (alloc.config.multi_slot_age < 0) return;
  for (const auto& cluster : alloc.clusters) {
    for (const auto& multi_slot : cluster.multi_slots) {
      const PlacementAllocation& placement = alloc.placements[multi_slot.placement];
      if (placement.given > 0) {
        next.ageing.erase(KeyOf(alloc, placement));
        continue;
      }
      State::Ageing& ageing = next.ageing[KeyOf(alloc, placement)];
      ageing.age += alloc.config.multi_slot_step * multi_slot.bypassed;
      if (multi_slot.pass > 0 || cluster.free <= 0) {
        ageing.held_since = 0;
      } else if (ageing.held_since == 0) {
        ageing.held_since = alloc.now;
      } else if (alloc.now - ageing.held_since >= alloc.config.multi_slot_hold_s) {
        ageing = {.rest_until = alloc.now + alloc.config.multi_slot_rest_s};
      }
    }
  }
}

}  // namespace cigri::policy
