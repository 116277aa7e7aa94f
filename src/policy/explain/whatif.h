// What would change a decision for one campaign: each rule that holds it back is lifted, one at a
// time, in a copy of the snapshot, and the same Decide() is asked again.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "policy/model.h"

namespace cigri::policy {

/// Who could make the change: the campaign's user, the grid's operators, or nobody: time, the
/// cluster, other users' jobs.
enum class Doer { kUser, kOperator, kNobody };

struct WhatIf {
  Code code = Code::kNone;   ///< the rule that is lifted...
  std::int64_t cluster = 0;  ///< ...there; 0 = everywhere
  std::string change{};      ///< "max_jobs 4 instead of 3 on alpha"
  Doer doer = Doer::kNobody;
  double size = 0;        ///< how much is changed, in jobs, slots or levels: less is cheaper
  std::int64_t jobs = 0;  ///< jobs that it then gets more than it gets now
};

struct WhatIfs {
  std::int64_t jobs_now = 0;      ///< what the snapshot's decision gives it
  std::vector<Reason> reasons{};  ///< why no more, as of the snapshot
  std::vector<WhatIf> useful{};   ///< those that give it something, the cheapest first
  int tried = 0;
  bool cut = false;  ///< the time was over before all were tried
};

/// The cheapest changes are tried first; `out_of_time` is asked before each. Empty `reasons` when
/// the campaign is not in the snapshot, or waits for nothing.
WhatIfs FindWhatIfs(Snapshot snapshot, const State& carried, double now, std::uint64_t seed,
                    std::int64_t campaign, const std::function<bool()>& out_of_time);

}  // namespace cigri::policy
