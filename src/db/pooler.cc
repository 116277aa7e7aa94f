#include "db/pooler.h"

#include <mutex>
#include <set>

#include "db/connect.h"
#include "db/deadline.h"

namespace cigri::db {
namespace {

constexpr std::chrono::milliseconds kLimit{3000};
constexpr int kTries = 5;

/// The databases, by conninfo, that this process has found to keep sessions.
class Known {
 public:
  bool Has(const std::string& conninfo) {
    const std::lock_guard lock(mutex_);
    return known_.count(conninfo) != 0;
  }
  void Add(const std::string& conninfo) {
    const std::lock_guard lock(mutex_);
    known_.insert(conninfo);
  }

 private:
  std::mutex mutex_;
  std::set<std::string> known_;
};

int BackendOf(pqxx::transaction_base& tx) {
  return tx.exec("SELECT pg_backend_pid()")[0][0].as<int>();
}

}  // namespace

// A pooler gives out the server that was returned last: within an open transaction the second
// session gets the one that we have just used. Where the pooler keeps sessions it cannot.
bool IsSharedByPooler(pqxx::connection_base& session, int backend_pid,
                      const std::string& conninfo) {
  static Known keeps_sessions;
  // A pooler makes up the process that it names at the start of a session.
  if (session.backendpid() == backend_pid || keeps_sessions.Has(conninfo)) return false;
  try {
    PqxxConnection other(conninfo);
    const Deadline other_waits(other.sock(), kLimit, "");
    for (int i = 0; i < kTries; ++i) {
      {
        pqxx::nontransaction tx(session);
        backend_pid = BackendOf(tx);
      }
      pqxx::work tx(other);
      if (BackendOf(tx) == backend_pid) return true;
    }
  } catch (const pqxx::failure&) {
    return false;  // there is no second session to be had: nothing is known
  }
  keeps_sessions.Add(conninfo);
  return false;
}

}  // namespace cigri::db
