// Who leads: a lock that lives as long as a session, a lease that ends unless it is renewed, and an
// epoch that outlives both.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "db/db.h"
#include "module/term.h"

namespace cigri::almighty {

using module::Term;

/// As `grid.leader` names an almighty of this host.
std::string HostAndPid(pid_t pid);

/// The session that holds the leader's lock. Lost with the session: whoever has it must then stop
/// everything it has started.
struct Leadership {
  std::unique_ptr<db::Connection> session;
  std::int64_t epoch = 0;
  /// By our clock: from here on another may lead.
  std::chrono::steady_clock::time_point lease_ends{};
  /// By our clock: until when the last leader led.
  std::chrono::steady_clock::time_point last_lease_ended{};
  /// The last leader did not end: its lease did. Its process may still be there, paused.
  bool taken_over = false;
};

/// Leads for another term. Throws when its lease is over by our clock, or another has it: then
/// nothing more may be started or stepped.
void RenewLease(Leadership& leadership, Term term);

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
  std::chrono::steady_clock::time_point last_lease_ended_{};
};

}  // namespace cigri::almighty
