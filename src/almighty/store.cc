#include "almighty/store.h"

#include <sql/grid.h>

namespace cigri::almighty {

bool TryLead(db::Tx& tx) { return tx.One(sql::kTryLead).pg_try_advisory_lock; }

std::int64_t BeginEpoch(db::Tx& tx, const std::string& who) {
  return tx.One(sql::kBeginEpoch, who).epoch;
}

LeaderView LoadLeaderView(db::Tx& tx) {
  const auto row = tx.One(sql::kLeaderView);
  return {row.epoch, row.work};
}

}  // namespace cigri::almighty
