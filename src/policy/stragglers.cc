#include "policy/stragglers.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

namespace cigri::policy {
namespace {

bool Open(const AllocationState& alloc, const PlacementAllocation& p) {
  return p.block == Code::kNone && alloc.clusters[p.cluster].block == Code::kNone;
}

// How many jobs of the campaign run at the same time on clusters without stragglers: those that do,
// or will as soon as they are there, and its user's part of what is idle. A job in a queue may wait
// for long.
double AtOnceElsewhere(const AllocationState& alloc, const CampaignAllocation& campaign,
                       double users) {
  double jobs = 0;
  for (int l = campaign.placements_begin; l < campaign.placements_end; ++l) {
    const PlacementAllocation& p = alloc.placements[l];
    const ClusterAllocation& c = alloc.clusters[p.cluster];
    if (!Open(alloc, p) || p.row->straggler_share > 0) continue;
    const auto idle = static_cast<std::int64_t>(c.free / p.slots + kEpsilon);
    const double pending = std::max(0, p.row->in_flight - p.row->running);
    jobs += p.row->running + (1 - alloc.WaitsOf(p)) * pending;
    if (idle > 0) jobs += static_cast<double>(std::min(idle, alloc.RulesAllow(l))) / users;
  }
  return jobs;
}

}  // namespace

void KeepFromStragglers(AllocationState& alloc) {
  if (!alloc.stragglers) return;
  std::set<std::string> users;
  for (const auto& c : alloc.campaigns)
    if (c.in_play && c.left > 0) users.insert(c.row->user);
  for (const auto& campaign : alloc.campaigns) {
    const double mean_s = campaign.row->need_s > 0 ? MeanOf(*campaign.row) : 0;
    if (!campaign.in_play || !campaign.has_tasks() || mean_s <= 0 || campaign.row->test) continue;
    const double at_once = AtOnceElsewhere(alloc, campaign, static_cast<double>(users.size()));
    if (at_once < 1) continue;
    const double left_s =
        static_cast<double>(campaign.left + campaign.held_jobs) * mean_s / at_once;
    for (int l = campaign.placements_begin; l < campaign.placements_end; ++l) {
      PlacementAllocation& p = alloc.placements[l];
      if (!(p.row->straggler_share > 0) || p.left <= 0 || !Open(alloc, p)) continue;
      const double share = p.row->straggler_share, long_s = p.row->straggler_times * mean_s;
      // A task here is one less elsewhere, and may last until long after those.
      if (share * (long_s - left_s) <= mean_s / at_once) continue;
      p.left = 0;
      p.limit = Code::kStragglers;
      alloc.limit_numbers[l] = {std::round(1000 * share) / 10, long_s, left_s};
    }
  }
}

}  // namespace cigri::policy
