#include "api/http/context.h"

#include <sql/audit.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "api/http/change_notifier.h"
#include "api/http/kept_counts.h"
#include "api/http/metrics.h"
#include "api/why/snapshot.h"

namespace cigri::api {
namespace {

thread_local const ActingFor* acting = nullptr;

int OwnNice() { return getpriority(PRIO_PROCESS, static_cast<id_t>(getpid())); }

}  // namespace

ActingFor::ActingFor(std::string a_user, std::string a_source, std::string a_request)
    : user(std::move(a_user)), source(std::move(a_source)), request(std::move(a_request)) {
  acting = this;
}

ActingFor::~ActingFor() { acting = nullptr; }

Context::Context(Config a_config, const std::string& conninfo, int connections)
    : config(std::move(a_config)),
      pool(conninfo, "cigri api", connections, std::max(0, kNiceOfSubmissions - OwnNice())),
      readers(conninfo, "cigri api", connections, 0, db::SessionKind::kReads),
      notifier(std::make_unique<ChangeNotifier>(conninfo)),
      metrics(std::make_unique<Metrics>()),
      kept_counts(std::make_unique<KeptCounts>()),
      snapshots(std::make_unique<SnapshotCache>()),
      make_cluster([conninfo](const clusterdb::ClusterRow& row) {
        return clusterdb::MakeDriver(row, conninfo, clusterdb::Caller::kApi);
      }) {}

Context::~Context() = default;

void Context::Run(db::Pool& sessions, Kind kind, const Statements& before,
                  const Statements& body) {
  bool lost = false;
  const auto once = [&] {
    auto session = sessions.Get();
    try {
      if (kind == Kind::kRead) {
        db::Tx tx(*session, db::Tx::Snapshot{});
        body(tx);
        tx.Commit();
        return;
      }
      if (before) {
        db::Tx tx(*session, db::Tx::Sync::kOff);
        before(tx);
        tx.Commit();
      }
      db::Tx tx(*session);
      if (acting != nullptr) tx.Exec(sql::kActFor, acting->user, acting->source, acting->request);
      body(tx);
      tx.Commit();
    } catch (const db::InDoubt&) {
      throw;  // it may have been committed: never once more
    } catch (...) {
      lost = !session->alive();
      throw;
    }
  };
  try {
    once();
  } catch (...) {
    if (!lost) throw;
    once();  // the session had gone with a restart of the server, and nothing was committed
  }
}

}  // namespace cigri::api
