// Looks before a campaign is given anything on a cluster: too fast to be true, or better elsewhere.
#pragma once
#include "policy/ledger.h"

namespace cigri::policy {

/// Successes in a row that are looked at before a campaign's lane is called a sink; 0 = never.
int SinkCount(const PolicyConfig& config, const Campaign& campaign);
/// CIG-11: holds a campaign where its jobs end much faster than elsewhere; adds to plan and state.
void HoldSinks(Ledger& ledger, PlanResult& result);
/// GRID-23: closes clusters without its data to a campaign that waits for one that has it.
void WaitForAffinity(Ledger& ledger);

}  // namespace cigri::policy
