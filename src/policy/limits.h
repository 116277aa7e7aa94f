// Caps, quotas, licences, start rates and reserves: the operator's rules as meters of the ledger.
#pragma once
#include "policy/ledger.h"

namespace cigri::policy {

/// Adds the meters of the configuration to the ledger; `next.rates` is brought up to `now`.
void AddLimits(Ledger& ledger, State& next);
/// Takes what this decision started off the buckets of `next.rates`.
void SpendRates(const Ledger& ledger, State& next);

}  // namespace cigri::policy
