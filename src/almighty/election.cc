#include "almighty/election.h"

#include <unistd.h>

#include <thread>

#include "almighty/store.h"
#include "core/log.h"

namespace cigri::almighty {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

}  // namespace

std::string HostAndPid(pid_t pid) { return HostName() + ":" + std::to_string(pid); }

// By our clock another leads when the lease is over, perhaps for as long as this process was
// paused.
void RenewLease(Leadership& leadership, Term term) {
  const auto now = Clock::now();
  if (now >= leadership.lease_ends) throw std::runtime_error("the lease is over");
  db::Tx tx(*leadership.session, db::Tx::Sync::kOff);
  if (!RenewLease(tx, leadership.epoch, term.length))
    throw std::runtime_error("another almighty has the lease");
  tx.Commit();
  leadership.lease_ends = now + term.length;
}

bool Candidate::TakeLock() {
  db::Tx tx(*connection_);
  const auto last = TryLead(tx, term_.length);
  tx.Commit();
  last_lease_ended_ = Clock::now() - last.lease_over;
  return !last.locked;
}

// The lock is free some moments after its session was ended.
bool Candidate::EndExpiredLeader() {
  db::Tx tx(*connection_);
  const bool ended = almighty::EndExpiredLeader(tx);
  tx.Commit();
  if (!ended) return false;
  log::warn("the leader has not renewed its lease: its session is ended");
  for (int i = 0; i < 50; ++i) {
    if (TakeLock()) return true;
    std::this_thread::sleep_for(milliseconds(20));
  }
  return false;
}

// A module of the last leader may hold the epoch in a transaction that does not go on. One that
// does ends within some milliseconds.
std::int64_t Candidate::BeginEpoch() {
  for (int tries = 0;; ++tries) {
    try {
      db::Tx tx(*connection_);
      tx.Raw("SET LOCAL lock_timeout = " + std::to_string(term_.patience().count() / 8));
      const auto epoch = almighty::BeginEpoch(tx, HostAndPid(getpid()), term_.length);
      tx.Commit();
      return epoch;
    } catch (const db::SqlError& e) {
      constexpr const char* kLockNotAvailable = "55P03";
      if (e.sqlstate() != kLockNotAvailable || tries == 3) throw;
    }
    db::Tx tx(*connection_);
    log::warn("{} transactions of the last leader's modules are ended",
              EndTransactionsOfOldEpoch(tx));
    tx.Commit();
  }
}

std::optional<Leadership> Candidate::Try() {
  if (!connection_ || !connection_->alive()) {
    connection_ = std::make_unique<db::Connection>(conninfo_, "cigri almighty", term_.patience());
    db::RequireSchema(*connection_);
  }
  try {
    const bool free = TakeLock();
    if (!free && !EndExpiredLeader()) return std::nullopt;
    const auto lease_ends = Clock::now() + term_.length;
    const auto epoch = BeginEpoch();
    return Leadership{std::move(connection_), epoch, lease_ends, last_lease_ended_, !free};
  } catch (...) {
    connection_.reset();  // the lock goes with it
    throw;
  }
}

}  // namespace cigri::almighty
