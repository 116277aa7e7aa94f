#include "policy/policy.h"

#include <algorithm>
#include <cmath>

#include "policy/policies/policies.h"

namespace cigri::policy {

const Policy& PolicyOf(PolicyKind kind) {
  switch (kind) {
    case PolicyKind::kFifo:
      return FifoPolicy();
    case PolicyKind::kAffinity:
      return AffinityPolicy();
    case PolicyKind::kUsage:
      return UsagePolicy();
    case PolicyKind::kSla:
      return SlaPolicy();
    case PolicyKind::kLottery:
      return LotteryPolicy();
    case PolicyKind::kStride:
      return StridePolicy();
    case PolicyKind::kDynamic:
      return DynamicPolicy();
    case PolicyKind::kFairshare:
      return FairsharePolicy();
    case PolicyKind::kFairshareSimple:
      return FairshareSimplePolicy();
  }
  return FifoPolicy();
}

double TakeUnit(AllocationState& alloc, const Unit& unit, double want) {
  constexpr double kHair = 1e-9, kMost = 1e9;
  double given = 0;
  if (alloc.AllFull()) return given;
  for (const int i : unit.campaigns) {
    const CampaignAllocation& campaign = alloc.campaigns[i];
    for (int l = campaign.placements_begin; l < campaign.placements_end && given < want; ++l) {
      if (alloc.Demand(i) <= 0) break;
      if (alloc.clusters[alloc.placements[l].cluster].Full()) continue;
      const int slots = alloc.placements[l].slots;
      const double jobs = std::ceil(std::min(kMost, (want - given) / slots) - kHair);
      given += slots * static_cast<double>(alloc.Take(l, static_cast<std::int64_t>(jobs)));
    }
  }
  return given;
}

}  // namespace cigri::policy
