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

std::int64_t TakeUnit(Ledger& ledger, const Unit& unit, std::int64_t want) {
  std::int64_t given = 0;
  if (ledger.AllFull()) return given;
  for (const int i : unit.campaigns) {
    const CampaignBook& campaign = ledger.campaigns[i];
    for (int l = campaign.lanes_begin; l < campaign.lanes_end && given < want; ++l) {
      if (ledger.Demand(i) <= 0) break;
      if (ledger.clusters[ledger.lanes[l].cluster].Full()) continue;
      given += ledger.Take(l, want - given);
    }
  }
  return given;
}

}  // namespace cigri::policy
