// What every handler may use: the configuration, the database, the clusters' drivers, news.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>

#include "clusterdb/clusterdb.h"
#include "core/config.h"
#include "core/limit_uses.h"
#include "db/db.h"
#include "rules/rules.h"

namespace cigri::api {

class ChangeNotifier;
class KeptCounts;
class Metrics;
class SnapshotCache;

/// Who submits thousands of campaigns has as much of the machine as the modules; readers go first.
constexpr int kNiceOfSubmissions = 5;

/// While it lives, what this thread changes in the database is recorded as this caller's (table
/// `audit`).
class ActingFor {
 public:
  ActingFor(std::string user, std::string source, std::string request);
  ~ActingFor();
  ActingFor(const ActingFor&) = delete;
  const std::string user, source, request;
};

/// One per process, shared by all threads.
class Context {
 public:
  /// `conninfo` of the database; at most `connections` sessions that change something, and as many
  /// that read, opened on demand.
  Context(Config a_config, const std::string& conninfo, int connections = 8);
  ~Context();
  Context(const Context&) = delete;

  /// Runs `body(Tx&)` in a transaction, commits it, and returns what it returned. A session that
  /// turns out to be lost is replaced and the body run once more (nothing was committed then);
  /// a commit whose outcome is unknown is a 503 that says so, never repeated.
  template <typename Body>
  auto Transact(Body body) {
    return In(pool, Kind::kWrite, nullptr, body);
  }

  /// The same, with `before(Tx&)` committed first on the same session: locks that it takes are held
  /// by nobody meanwhile. Its commit waits for no disk, since the one of `body` makes it last.
  template <typename Body>
  auto Transact(const std::function<void(db::Tx&)>& before, Body body) {
    return In(pool, Kind::kWrite, before, body);
  }

  /// The same for what only reads, in one snapshot: numbers of several statements fit together.
  /// Readers have sessions of their own, so they do not wait for those who submit.
  template <typename Body>
  auto Read(Body body) {
    return In(readers, Kind::kRead, nullptr, body);
  }

  const Config config;
  db::Pool pool;     ///< of sessions that change something
  db::Pool readers;  ///< of sessions that only read
  /// Tells when long polls are to look again (read/progress.cc).
  std::unique_ptr<ChangeNotifier> notifier;
  std::unique_ptr<Metrics> metrics;
  /// How many campaigns there are (kept_counts.h).
  std::unique_ptr<KeptCounts> kept_counts;
  /// For explanations (why/snapshot.h).
  std::unique_ptr<SnapshotCache> snapshots;
  /// Drivers for reading output and for checks; a test puts a fake in its place.
  std::function<std::unique_ptr<cluster::Cluster>(const clusterdb::ClusterRow&)> make_cluster;

  /// Adds what callers have of this server now; nothing without a server.
  std::function<void(limits::Uses&)> add_uses = [](limits::Uses&) {};

  rules::Limits rule_limits;  ///< of one run of the admission rules

 private:
  enum class Kind { kRead, kWrite };
  using Statements = std::function<void(db::Tx&)>;
  template <typename Body>
  auto In(db::Pool& sessions, Kind kind, const Statements& before, Body&& body) {
    using Result = decltype(body(std::declval<db::Tx&>()));
    if constexpr (std::is_void_v<Result>) {
      Run(sessions, kind, before, [&](db::Tx& tx) { body(tx); });
    } else {
      std::optional<Result> result;
      Run(sessions, kind, before, [&](db::Tx& tx) { result.emplace(body(tx)); });
      return std::move(*result);
    }
  }
  static void Run(db::Pool& sessions, Kind kind, const Statements& before,
                  const Statements& body);
};

}  // namespace cigri::api
