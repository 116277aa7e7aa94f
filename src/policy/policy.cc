#include "policy/policy.h"

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

}  // namespace cigri::policy
