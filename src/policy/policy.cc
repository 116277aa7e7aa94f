#include "policy/policy.h"

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

std::int64_t TakeUnit(AllocationState& alloc, const Unit& unit, std::int64_t want) {
  std::int64_t given = 0;
  if (alloc.AllFull()) return given;
  for (const int i : unit.campaigns) {
    const CampaignAllocation& campaign = alloc.campaigns[i];
    for (int l = campaign.placements_begin; l < campaign.placements_end && given < want; ++l) {
      if (alloc.Demand(i) <= 0) break;
      if (alloc.clusters[alloc.placements[l].cluster].Full()) continue;
      given += alloc.Take(l, want - given);
    }
  }
  return given;
}

}  // namespace cigri::policy
