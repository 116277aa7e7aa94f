#include "policy/guard.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace cigri::policy {
namespace {

// Median of the campaign's medians on its other clusters; 0 = nothing to compare with.
double MedianElsewhere(const AllocationState& alloc, const CampaignAllocation& campaign, int here) {
  std::vector<double> medians;
  for (int l = campaign.placements_begin; l < campaign.placements_end; ++l)
    if (l != here && alloc.placements[l].row->median_s > 0)
      medians.push_back(alloc.placements[l].row->median_s);
  if (medians.empty()) return 0;
  auto middle = medians.begin() + static_cast<std::ptrdiff_t>(medians.size() / 2);
  std::nth_element(medians.begin(), middle, medians.end());
  return *middle;
}

// Where it is held already, each job that was still there and ended too fast is one more of them.
bool IsBlackHole(const AllocationState& alloc, const CampaignAllocation& campaign, int l) {
  const Placement& placement = *alloc.placements[l].row;
  const bool held = alloc.placements[l].block == Code::kBlackHole;
  const int needed = held ? 1 : BlackHoleCount(alloc.config, *campaign.row);
  if (needed == 0 || placement.recent < needed) return false;
  if (placement.recent_longest_s < campaign.row->min_duration_s) return true;
  if (alloc.config.black_hole_count <= 0) return false;
  // Short jobs are short everywhere: without another cluster nothing is known.
  const double elsewhere = MedianElsewhere(alloc, campaign, l);
  return elsewhere > alloc.config.black_hole_min_s &&
         placement.recent_longest_s < elsewhere * alloc.config.black_hole_fraction;
}

}  // namespace

int BlackHoleCount(const PolicyConfig& config, const Campaign& campaign) {
  constexpr int kUserSaysSo = 5;  // with min_duration in the JDL and no rule of the operator
  if (config.black_hole_count > 0) return config.black_hole_count;
  return campaign.min_duration_s > 0 ? kUserSaysSo : 0;
}

double Yield(double need_s, double life_s) {
  if (!(life_s > 0) || !(need_s > 0)) return 1;
  const double deaths = std::min(need_s / life_s, 100.0);
  return deaths / std::expm1(deaths);
}

bool OnlyProbes(const PolicyConfig& config, const Campaign& campaign, const Placement& placement) {
  return config.survival_kills > 0 && placement.bursts >= config.survival_kills &&
         campaign.need_s > 0 && placement.median_survival_s > 0 &&
         placement.median_survival_s <= campaign.need_s;
}

double NextProbe(const PolicyConfig& config, const Placement& placement) {
  constexpr double kFirstS = 120, kMostS = 3600;
  const int doubled = std::clamp(placement.bursts - config.survival_kills, 0, 10);
  return placement.killed_at + std::min(kMostS, std::ldexp(kFirstS, doubled));
}

std::int64_t CanaryJobsLeft(const PolicyConfig& config, const Placement& placement, double now,
                            bool shared) {
  constexpr double kEachS = 60;
  const double ran_s = placement.running * now - placement.running_since;
  const auto more = static_cast<std::int64_t>(std::clamp(ran_s / kEachS, 0.0, 1e6));
  const int at_once =
      shared ? std::max(1, config.canary_jobs / std::max(1, placement.slots)) : config.canary_jobs;
  return std::min(at_once, config.canary_jobs - placement.tried) + more - placement.in_flight;
}

void HoldBlackHoles(AllocationState& alloc, PlanResult& result) {
  for (const auto& campaign : alloc.campaigns) {
    if (BlackHoleCount(alloc.config, *campaign.row) == 0) continue;
    for (int l = campaign.placements_begin; l < campaign.placements_end; ++l) {
      PlacementAllocation& placement = alloc.placements[l];
      const bool open = placement.block == Code::kNone || placement.block == Code::kBlackHole;
      if (!open || !IsBlackHole(alloc, campaign, l)) continue;
      placement.block = Code::kBlackHole;
      Hold hold{.campaign = campaign.row->id,
                .cluster = placement.row->cluster,
                .code = "BLACK_HOLE",
                .since = alloc.now,
                .until = alloc.now + alloc.config.black_hole_hold_s,
                .requeue = placement.row->recent};
      const auto [it, fresh] = result.next.holds.try_emplace({hold.campaign, hold.cluster}, hold);
      if (!fresh) hold.since = it->second.since, hold.until = it->second.until;
      it->second = hold;
      result.plan.holds.push_back(hold);
    }
  }
}

void WaitForAffinity(AllocationState& alloc) {
  for (auto& campaign : alloc.campaigns) {
    const double patience = campaign.row->affinity_wait_s > 0 ? campaign.row->affinity_wait_s
                                                              : alloc.config.affinity_wait_s;
    if (alloc.now - campaign.row->waiting_since >= patience) continue;
    bool has_local = false;
    for (int l = campaign.placements_begin; l < campaign.placements_end; ++l) {
      const PlacementAllocation& placement = alloc.placements[l];
      has_local = has_local || (placement.row->local && placement.block == Code::kNone &&
                                alloc.clusters[placement.cluster].block == Code::kNone);
    }
    for (int l = campaign.placements_begin; has_local && l < campaign.placements_end; ++l) {
      PlacementAllocation& placement = alloc.placements[l];
      if (placement.block == Code::kNone && !placement.row->local)
        placement.block = Code::kAffinityWait;
    }
  }
}

}  // namespace cigri::policy
