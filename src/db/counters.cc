#include "db/counters.h"

#include <sql/jobs.h>

namespace cigri::db {

void AddCounters(Tx& tx, const CounterDeltas& deltas, const std::string& writer) {
  RowSet<std::int64_t, std::int64_t, std::string, std::string, std::int64_t, std::int64_t, double,
         std::int64_t>
      rows;
  for (const auto& [key, delta] : deltas.all()) {
    if (delta.n == 0 && delta.slots == 0 && delta.sum_start == 0 && delta.riders == 0) continue;
    const auto& [campaign, cluster, kind, state] = key;
    rows.Add(campaign, cluster, kind, state, delta.n, delta.slots, delta.sum_start, delta.riders);
  }
  if (!rows.empty()) tx.Exec(sql::kAddCounters, writer, rows);
}

}  // namespace cigri::db
