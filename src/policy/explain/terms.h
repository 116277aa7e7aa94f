// By which term of the policy one campaign comes before another: for readers who ask why.
#pragma once
#include <string>

#include "policy/model.h"

namespace cigri::policy {

/// "user bob has used 12 slot-min a share lately, user alice 340": what puts `winner` before
/// `loser` on `cluster`, of what the policy compares. "" when one of them is not in the snapshot.
std::string WhyFirst(const Snapshot& snapshot, const State& carried, double now,
                     std::int64_t winner, std::int64_t loser, std::int64_t cluster);

}  // namespace cigri::policy
