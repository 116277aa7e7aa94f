// All SQL of the almighty: who leads, and whether the grid has work.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

#include "db/db.h"

namespace cigri::almighty {

/// What a candidate finds.
struct LastLeader {
  bool locked = false;                      ///< its session has the leader's lock
  std::chrono::milliseconds lease_over{0};  ///< its lease ended so long ago; negative: it has not
};
/// Takes the leader's lock for as long as the session lives, with `term` to begin an epoch, unless
/// another session has it. Never waits.
LastLeader TryLead(db::Tx& tx, std::chrono::milliseconds term);
/// Begins the epoch of the new leader `who`, with a lease of `term`; nothing that was claimed or
/// applied under an older epoch can commit from now on. The new epoch.
std::int64_t BeginEpoch(db::Tx& tx, const std::string& who, std::chrono::milliseconds term);
/// The leader of `epoch` leads for another `term`; false: another leads.
bool RenewLease(db::Tx& tx, std::int64_t epoch, std::chrono::milliseconds term);
/// Ends the session that holds the leader's lock, if its lease is over; whether it did.
bool EndExpiredLeader(db::Tx& tx);
/// Ends the transactions that keep a new epoch from beginning; their number.
std::size_t EndTransactionsOfOldEpoch(db::Tx& tx);

struct LeaderView {
  std::int64_t epoch = 0;  ///< of whoever leads now
  bool work = false;       ///< a campaign, a job or a batch is not over
};
/// The database server of this session: "10.0.0.2:5432", or its socket.
std::string ServerAddress(db::Tx& tx);
LeaderView LoadLeaderView(db::Tx& tx);
/// Wakes the runners of all hosts.
void NotifyGrants(db::Tx& tx);

}  // namespace cigri::almighty
