// PostgreSQL for the modules: connections, transactions, named statements, arrays, notices.
// The only folder that includes pqxx.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <pqxx/pqxx>
#include <set>
#include <string>
#include <vector>

#include "db/statement.h"

namespace cigri::db {

/// The connection is gone, or the server is not there. Callers reconnect; what was in a
/// transaction is lost, except that the outcome of a commit is unknown (pqxx::in_doubt_error).
using Broken = pqxx::broken_connection;

/// An array parameter: Array(std::vector<std::int64_t>{1, 2}) is passed as '{1,2}', to be cast
/// in the statement ($1::bigint[]). A nullopt element is NULL.
std::string Array(const std::vector<std::int64_t>& values);
std::string Array(const std::vector<int>& values);
std::string Array(const std::vector<double>& values);
std::string Array(const std::vector<bool>& values);
std::string Array(const std::vector<std::string>& values);
std::string Array(const std::vector<std::optional<std::string>>& values);
std::string Array(const std::vector<std::optional<std::int64_t>>& values);
std::string Array(const std::vector<std::optional<double>>& values);
/// The other way, for a field of a type like bigint[] or text[]; NULL is empty.
std::vector<std::int64_t> Int64s(const pqxx::field& field);
std::vector<std::string> Strings(const pqxx::field& field);

template <typename T>
std::optional<T> Opt(const pqxx::field& field) {
  if (field.is_null()) return std::nullopt;
  return field.as<T>();
}

class Tx;

/// One session. Statements are prepared on their first use. Not for two threads at once.
class Connection {
 public:
  /// Throws Fatal(kExitUnavailable) with one line that says what to do when nobody answers.
  /// `application` shows in pg_stat_activity ("cigri runner").
  Connection(const std::string& conninfo, const std::string& application);
  ~Connection();
  Connection(const Connection&) = delete;

  /// False once the session is lost; make a new Connection then (locks and LISTENs are gone too).
  bool alive() const;
  /// True after many transactions: the server's process has grown by what it caches (1.5 to 2 MB),
  /// and gives it back only by ending. Whoever has nothing to do for a while makes a new one.
  bool worn() const { return transactions_ > 100; }
  int backend_pid() const { return pid_; }

  /// LISTENs on `channel`; Wait() returns its notices.
  void Listen(const std::string& channel);
  /// Waits at most `ms` for notices; the channels that were notified (empty: none in time).
  std::set<std::string> Wait(int ms);
  /// The socket, for poll(); call Wait(0) when it is readable.
  int socket() const;

 private:
  friend class Tx;
  struct Impl;
  std::unique_ptr<Impl> impl_;
  int pid_ = 0, transactions_ = 0;
};

/// A transaction: rolled back unless Commit() is reached. `Sync::kOff` is for what the next poll
/// repeats (folds, heartbeats, statistics); never for intents, accepted campaigns or kills.
class Tx {
 public:
  enum class Sync { kOn, kOff };
  explicit Tx(Connection& connection, Sync sync = Sync::kOn);
  ~Tx();
  Tx(const Tx&) = delete;

  /// Runs a named statement; parameters: numbers, strings, bool, std::optional of these, Array().
  template <typename... Args>
  pqxx::result Exec(const Statement& statement, const Args&... args) {
    Prepare(statement);
    return work().exec_prepared(statement.name, args...);
  }
  /// For statements without a name: tests, `cigri`, migrations. Never with data in the text.
  pqxx::result Raw(const std::string& sql);
  template <typename... Args>
  pqxx::result RawParams(const std::string& sql, const Args&... args) {
    return work().exec_params(sql, args...);
  }
  void Commit();
  pqxx::work& work();

 private:
  void Prepare(const Statement& statement);
  Connection& connection_;
  std::unique_ptr<pqxx::work> work_;
};

/// A bounded set of connections for a server with threads. A lost session is not given out again.
class Pool {
 public:
  Pool(std::string conninfo, std::string application, int most);
  class Lease {
   public:
    Lease(Lease&&) = default;
    ~Lease();
    Connection& operator*() { return *connection_; }
    Connection* operator->() { return connection_.get(); }

   private:
    friend class Pool;
    Lease(Pool* pool, std::unique_ptr<Connection> c) : pool_(pool), connection_(std::move(c)) {}
    Pool* pool_;
    std::unique_ptr<Connection> connection_;
  };
  /// Waits for a free one, at most 10 s (then throws Fatal(kExitTryLater)).
  Lease Get();
  /// Closes sessions that nobody has used for `age`: an idle server costs the database nothing.
  void CloseIdle(std::chrono::steady_clock::duration age);

 private:
  struct Idle {
    std::unique_ptr<Connection> connection;
    std::chrono::steady_clock::time_point since;
  };
  std::string conninfo_, application_;
  int most_, out_ = 0;
  std::vector<Idle> idle_;  // the last used at the end: the first ones fall idle
  std::mutex mutex_;
  std::condition_variable returned_;
};

/// What a database is to us before we write a byte to it.
enum class SchemaKind { kEmpty, kOurs, kOlder, kNewer, kOtherBuild, kCigri3, kForeign };
struct SchemaState {
  SchemaKind kind;
  int version = 0;     ///< of ours, 0 else
  std::string detail;  ///< for people: "tables parameters, bag_of_tasks: a CiGri 3 database"
};
/// Looks at the current schema (the first of search_path) only; writes nothing.
SchemaState InspectSchema(Connection& connection);
/// Brings an empty or older schema of ours to the version of this program, one transaction a
/// migration, under an advisory lock. Throws Fatal(kExitConfig) for a CiGri 3, foreign or newer
/// one, and for one made from another text: a database that is not ours is never written.
void Migrate(Connection& connection);
/// Throws Fatal(kExitConfig / kExitUnavailable), one line with what to do, unless the schema is
/// ours and of this program's version. What every module calls after connecting.
void RequireSchema(Connection& connection);
int SchemaVersion();

}  // namespace cigri::db
