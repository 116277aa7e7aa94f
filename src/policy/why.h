// From the books at the end of a decision to the reasons of those that still wait.
#pragma once
#include <vector>

#include "policy/ledger.h"

namespace cigri::policy {

/// One reason per open lane of each campaign that still waits, its main one first.
std::vector<Reason> ReasonsOf(const Ledger& ledger, const State& next);

}  // namespace cigri::policy
