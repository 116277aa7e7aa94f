#include "almighty/election.h"

#include <unistd.h>

#include "almighty/store.h"

namespace cigri::almighty {
namespace {

std::string HostAndPid() {
  char name[256] = "localhost";
  gethostname(name, sizeof name - 1);
  return std::string(name) + ":" + std::to_string(getpid());
}

bool TakeLock(db::Connection& connection) {
  db::Tx tx(connection);
  const bool taken = TryLead(tx);
  tx.Commit();
  return taken;
}

std::int64_t NextEpoch(db::Connection& connection) {
  db::Tx tx(connection);
  const auto epoch = BeginEpoch(tx, HostAndPid());
  tx.Commit();
  return epoch;
}

}  // namespace

std::optional<Leadership> Candidate::Try() {
  if (!connection_ || !connection_->alive()) {
    connection_ = std::make_unique<db::Connection>(conninfo_, "cigri almighty");
    db::RequireSchema(*connection_);
  }
  try {
    if (!TakeLock(*connection_)) return std::nullopt;
    const auto epoch = NextEpoch(*connection_);
    return Leadership{std::move(connection_), epoch};
  } catch (...) {
    connection_.reset();  // the lock goes with it
    throw;
  }
}

}  // namespace cigri::almighty
