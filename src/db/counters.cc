#include "db/counters.h"

#include <sql/shared.h>

namespace cigri::db {

void AddCounters(Tx& tx, const CounterDeltas& deltas, const std::string& writer) {
  std::vector<std::int64_t> campaigns, clusters, n, slots;
  std::vector<std::string> kinds, states;
  std::vector<double> starts;
  for (const auto& [key, delta] : deltas.all()) {
    if (delta.n == 0 && delta.slots == 0 && delta.sum_start == 0) continue;
    campaigns.push_back(std::get<0>(key));
    clusters.push_back(std::get<1>(key));
    kinds.push_back(std::get<2>(key));
    states.push_back(std::get<3>(key));
    n.push_back(delta.n);
    slots.push_back(delta.slots);
    starts.push_back(delta.sum_start);
  }
  if (campaigns.empty()) return;
  tx.Exec(sql::shared::kAddCounters, Array(campaigns), Array(clusters), Array(kinds), Array(states),
          Array(n), writer, Array(slots), Array(starts));
}

}  // namespace cigri::db
