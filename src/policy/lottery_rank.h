// The ranks by which the lottery deals (TECH-22), for --why; they are computed with its draws.
// Internal to src/policy.
#pragma once
#include <vector>

#include "policy/allocation_state.h"
#include "policy/usage_summary.h"

namespace cigri::policy {

/// What one who draws has against all who draw, and the rank that follows (policy lottery): chances
/// are as 1 / rank.
struct LotteryRank {
  double used = 0, held = 0;  ///< parts: of what all have used in usage.window, of what all hold
  double rank = 0;            ///< 0: draws nothing
};

/// By campaign, as the lottery would begin now.
std::vector<LotteryRank> LotteryRanks(AllocationState alloc, const UsageSummary& usage_summary);

}  // namespace cigri::policy
