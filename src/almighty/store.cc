#include "almighty/store.h"

#include <sql/grid.h>
#include <sql/leases.h>

namespace cigri::almighty {

LastLeader TryLead(db::Tx& tx, std::chrono::milliseconds term) {
  const auto row = tx.One(sql::kTryLead);
  if (row.taken) tx.Exec(sql::kReserveLease, static_cast<double>(term.count()) / 1000);
  return {!row.taken,
          std::chrono::milliseconds(static_cast<std::int64_t>(1000 * row.lease_over_s))};
}

std::int64_t BeginEpoch(db::Tx& tx, const std::string& who, std::chrono::milliseconds term) {
  const auto epoch = tx.One(sql::kBeginEpoch, who).epoch;
  tx.Exec(sql::kBeginLease, epoch, static_cast<double>(term.count()) / 1000);
  return epoch;
}

bool RenewLease(db::Tx& tx, std::int64_t epoch, std::chrono::milliseconds term) {
  return tx.Exec(sql::kRenewLease, epoch, static_cast<double>(term.count()) / 1000) == 1;
}

bool EndExpiredLeader(db::Tx& tx) { return !tx.Exec(sql::kEndExpiredLeader).empty(); }

std::size_t EndTransactionsOfOldEpoch(db::Tx& tx) {
  return tx.Exec(sql::kEndTransactionsOfOldEpoch).size();
}

std::string ServerAddress(db::Tx& tx) { return tx.One(sql::kServerAddress).address; }

void NotifyGrants(db::Tx& tx) { tx.Exec(sql::kNotifyGrants); }

LeaderView LoadLeaderView(db::Tx& tx) {
  const auto row = tx.One(sql::kLeaderView);
  return {row.epoch, row.work};
}

}  // namespace cigri::almighty
