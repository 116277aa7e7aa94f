// The share tree project > user > campaign of those that want something now.
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "policy/allocation_state.h"
#include "policy/usage_summary.h"

namespace cigri::policy {

struct Leaf {
  double weight = 0;  ///< its part of the whole, its ancestors' factors in it; they sum to 1
  double share = 0;   ///< the same by shares alone, whatever was used
  double order = 0;   ///< 0, 1, 2...: level by level, the best factor first (FAIR-12)
};

using Lags = std::map<std::string, State::Lag>;  ///< by UserKey

/// One leaf for each of `campaigns` (places in the allocation state), in their order. Shares and
/// usage are normalised among the siblings that are here: who is away neither keeps nor saves up
/// slots. The order of users and projects is by `lags` if given, else by usage.
std::vector<Leaf> FairTree(const AllocationState& alloc, const UsageSummary& usage_summary,
                           const std::vector<int>& campaigns, const Lags* lags = nullptr);

/// What each of `users` (project, or "" for the user's own in the configuration; user) is due of
/// the whole by the tree, whatever was used: it sums to 1 (FAIR-02, FAIR-04).
std::vector<double> DueParts(const PolicyConfig& config,
                             const std::vector<std::pair<std::string, std::string>>& users);

}  // namespace cigri::policy
