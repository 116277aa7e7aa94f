// The policies, one maker for each: src/policy/policy.cc knows them all by their names.
#pragma once
#include "policy/policy.h"

namespace cigri::policy {

const Policy& FifoPolicy();
const Policy& AffinityPolicy();
const Policy& UsagePolicy();
const Policy& SlaPolicy();
const Policy& FairsharePolicy();
const Policy& FairshareSimplePolicy();
const Policy& LotteryPolicy();
const Policy& StridePolicy();
const Policy& DynamicPolicy();

}  // namespace cigri::policy
