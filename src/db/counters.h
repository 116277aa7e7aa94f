#pragma once
#include "core/counters.h"
#include "db/db.h"

namespace cigri::db {

/// Adds `deltas` to the rows of `writer` ("runner", "updator"), in one statement.
void AddCounters(Tx& tx, const CounterDeltas& deltas, const std::string& writer);

}  // namespace cigri::db
