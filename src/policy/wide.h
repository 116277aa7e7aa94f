// Wide jobs among narrow ones: ageing, a bounded hold, and what may still go before (FBS-05,
// FBS-19, FAIR-08). Off until wide.gap is set.
#pragma once
#include "policy/ledger.h"

namespace cigri::policy {

/// Finds, per cluster, the wide job that is stuck, and how often it may still be passed.
void FindWide(Ledger& ledger, State& next);
/// A wide job that was held for, and fits now, goes before everybody.
void ServeHeldWide(Ledger& ledger);
/// Ages stuck wide jobs by what passed them; gives up holds that last too long.
void AgeWide(const Ledger& ledger, State& next);

}  // namespace cigri::policy
