#include "policy/recall.h"

#include <algorithm>
#include <cmath>

namespace cigri::policy {
namespace {

// Jobs of the placement that the idle slots of its own cluster will not start.
std::int64_t Waiting(const AllocationState& alloc, const PlacementAllocation& placement) {
  const int pending = placement.row->in_flight - placement.row->running;
  return static_cast<std::int64_t>(alloc.WaitsOf(placement) * std::max(0, pending));
}

bool MayRecall(const CampaignAllocation& c) {
  return c.in_play && c.row->active && !c.row->test && c.left <= 0 && c.open_placements >= 2;
}

// Its jobs that wait on one cluster; n = 0: no other cluster would start any.
Recall RecallFrom(AllocationState& alloc, const CampaignAllocation& c, int from) {
  const auto id_of = [&](int l) { return alloc.clusters[alloc.placements[l].cluster].row->id; };
  const std::int64_t waiting = Waiting(alloc, alloc.placements[from]);
  Recall recall{.campaign = c.row->id, .cluster = id_of(from), .waiting = int(waiting)};
  for (int l = c.placements_begin; l < c.placements_end && recall.n < waiting; ++l) {
    const std::int64_t n = l == from ? 0 : alloc.TakeIdle(l, waiting - recall.n);
    if (n > 0 && recall.n == 0) recall.to = id_of(l);
    recall.n += static_cast<int>(n);
  }
  return recall;
}

}  // namespace

std::vector<Recall> ChooseRecalls(AllocationState& alloc) {
  std::vector<Recall> recalls;
  const auto idle = [](const auto& c) { return c.block == Code::kNone && c.free > 0; };
  if (std::none_of(alloc.clusters.begin(), alloc.clusters.end(), idle)) return recalls;
  for (const auto& c : alloc.campaigns) {
    if (!MayRecall(c)) continue;
    for (int l = c.placements_begin; l < c.placements_end; ++l)
      if (const Recall recall = RecallFrom(alloc, c, l); recall.n > 0) recalls.push_back(recall);
  }
  return recalls;
}

void ReasonsOf(const AllocationState& alloc, const std::vector<Recall>& recalls,
               const TakeReason& take) {
  for (const auto& recall : recalls) {
    const auto to = std::find_if(alloc.clusters.begin(), alloc.clusters.end(),
                                 [&](const auto& c) { return c.row->id == recall.to; });
    take({.campaign = recall.campaign,
          .cluster = recall.cluster,
          .code = Code::kRecalled,
          .numbers = {double(recall.n), double(recall.waiting)},
          .detail = to->row->name});
  }
}

}  // namespace cigri::policy
