#include "policy/wide.h"

#include <algorithm>
#include <cmath>

namespace cigri::policy {
namespace {

State::Pair KeyOf(const Ledger& ledger, const LaneBook& lane) {
  return {ledger.campaigns[lane.campaign].row->id, lane.row->cluster};
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
bool WantsWidth(const Ledger& ledger, const LaneBook& lane) {
  const CampaignBook& campaign = ledger.campaigns[lane.campaign];
  const ClusterBook& cluster = ledger.clusters[lane.cluster];
  return lane.slots > 1 && lane.block == Code::kNone && lane.left > 0 && campaign.in_play &&
         campaign.left > lane.avoid && cluster.block == Code::kNone;
}

// Starts that may still pass before the gap is reached: its age only grows, by `wide_step` each.
double PassLeft(const PolicyConfig& config, double age) {
  return std::max(0.0, std::ceil((config.wide_gap - age) / config.wide_step - 1e-9));
}

}  // namespace

void FindWide(Ledger& ledger, State& next) {
  const PolicyConfig& config = ledger.config;
  if (config.wide_gap < 0 || config.wide_step <= 0) return;
  for (std::size_t l = 0; l < ledger.lanes.size(); ++l) {
    const LaneBook& lane = ledger.lanes[l];
    const State::Pair key = KeyOf(ledger, lane);
    if (!WantsWidth(ledger, lane) || Resting(next, key, ledger.now)) continue;
    ledger.clusters[lane.cluster].wides.push_back(
        {.lane = static_cast<int>(l), .pass = PassLeft(config, AgeOf(next, key))});
  }
  for (auto& cluster : ledger.clusters) {
    // The one passed most often first; of equals the earliest (lanes are in that order).
    std::stable_sort(cluster.wides.begin(), cluster.wides.end(),
                     [](const auto& a, const auto& b) { return a.pass < b.pass; });
    cluster.releases = cluster.row->releases;
    ledger.NextWide(cluster);
  }
}

void ServeHeldWide(Ledger& ledger) {
  if (ledger.config.wide_gap <= 0) return;  // 0: order of submission, nothing is brought forward
  for (auto& cluster : ledger.clusters) {
    if (!cluster.HasWide() || cluster.wides[cluster.wide].pass > 0) continue;
    const int lane = cluster.wides[cluster.wide].lane;
    if (cluster.free >= ledger.lanes[lane].slots) ledger.Take(lane, 1);
  }
}

void AgeWide(const Ledger& ledger, State& next) {
  if (ledger.config.wide_gap < 0) return;
  for (const auto& cluster : ledger.clusters) {
    for (const auto& wide : cluster.wides) {
      const LaneBook& lane = ledger.lanes[wide.lane];
      if (lane.given > 0) {
        next.ageing.erase(KeyOf(ledger, lane));
        continue;
      }
      State::Ageing& ageing = next.ageing[KeyOf(ledger, lane)];
      ageing.age += ledger.config.wide_step * wide.passed;
      if (wide.pass > 0 || cluster.free <= 0) {
        ageing.held_since = 0;
      } else if (ageing.held_since == 0) {
        ageing.held_since = ledger.now;
      } else if (ledger.now - ageing.held_since >= ledger.config.wide_hold_s) {
        ageing = {.rest_until = ledger.now + ledger.config.wide_rest_s};
      }
    }
  }
}

}  // namespace cigri::policy
