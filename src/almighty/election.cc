#include "almighty/election.h"

#include <sql/grid.h>
#include <unistd.h>

namespace cigri::almighty {
namespace {

std::string HostAndPid() {
  char name[256] = "localhost";
  gethostname(name, sizeof name - 1);
  return std::string(name) + ":" + std::to_string(getpid());
}

bool TakeLock(db::Connection& connection) {
  db::Tx tx(connection);
  const bool taken = tx.One(sql::kTryLead).pg_try_advisory_lock;
  tx.Commit();
  return taken;
}

std::int64_t BeginEpoch(db::Connection& connection) {
  db::Tx tx(connection);
  const auto epoch = tx.One(sql::kBeginEpoch, HostAndPid()).epoch;
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
    const auto epoch = BeginEpoch(*connection_);
    return Leadership{std::move(connection_), epoch};
  } catch (...) {
    connection_.reset();  // the lock goes with it
    throw;
  }
}

}  // namespace cigri::almighty
