// Who leads: a lock that lives as long as a session, a lease that ends unless it is renewed, and an
// epoch that outlives both.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "db/db.h"

namespace cigri::almighty {

/// How long a leader leads without renewing its lease. The database judges when it is over, by its
/// own clock; the leader counts by its steady clock from before it asked, so it stops first.
struct Term {
  std::chrono::milliseconds length{8000};
  std::chrono::milliseconds renew_every() const { return length / 4; }
  /// How long the leader waits for an answer of the database. A renewal that starts in time then
  /// ends, one way or the other, before the lease does.
  std::chrono::milliseconds patience() const { return length / 2; }
};

/// The session that holds the leader's lock. Lost with the session: whoever has it must then stop
/// everything it has started.
struct Leadership {
  std::unique_ptr<db::Connection> session;
  std::int64_t epoch = 0;
  /// By our clock: from here on another may lead.
  std::chrono::steady_clock::time_point lease_ends{};
  /// The last leader did not end: its lease did. Its process may still be there, paused.
  bool taken_over = false;
};

class Candidate {
 public:
  Candidate(std::string conninfo, Term term) : conninfo_(std::move(conninfo)), term_(term) {}
  /// Tries once, without waiting; nothing when another leads. Throws Fatal(kExitUnavailable) or
  /// db::Broken when there is no database, Fatal(kExitConfig) when its schema is not ours.
  std::optional<Leadership> Try();

 private:
  bool TakeLock();
  bool EndExpiredLeader();
  std::int64_t BeginEpoch();

  std::string conninfo_;
  Term term_;
  std::unique_ptr<db::Connection> connection_;
};

}  // namespace cigri::almighty
