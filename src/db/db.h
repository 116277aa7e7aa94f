// PostgreSQL for the modules: connections, transactions, named statements, notices. The types of
// libpqxx end in this folder (native.h is for it and for tests).
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "db/params.h"
#include "db/rows.h"
#include "db/statement.h"

namespace cigri::db {

/// What the server or the session refused. The texts are the server's.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
/// The connection is gone, or the server is not there. Callers reconnect; what was in a
/// transaction is lost.
class Broken : public Error {
 public:
  using Error::Error;
};
/// The connection was lost during a commit: it may have been committed. Look, never repeat.
class InDoubt : public Error {
 public:
  using Error::Error;
};
class SqlError : public Error {
 public:
  SqlError(const std::string& what, std::string sqlstate)
      : Error(what), sqlstate_(std::move(sqlstate)) {}
  const std::string& sqlstate() const { return sqlstate_; }

 private:
  std::string sqlstate_;
};
/// A value that the column's type does not take.
class DataError : public SqlError {
 public:
  using SqlError::SqlError;
};
class ConstraintViolation : public SqlError {
 public:
  using SqlError::SqlError;
};
class UniqueViolation : public ConstraintViolation {
 public:
  using ConstraintViolation::ConstraintViolation;
};

class Tx;

/// What a session is for. One that reads takes no other transactions than Tx::Snapshot.
enum class SessionKind { kAll, kReads };

/// How long one statement may take before its session counts as lost, unless its user says so.
inline constexpr std::chrono::milliseconds kStatementLimit = std::chrono::minutes(1);

/// One session. Statements are prepared on their first use. Not for two threads at once.
class Connection {
 public:
  /// Connects with the defaults of conninfo.h. `application` shows in pg_stat_activity ("cigri
  /// runner"). A statement or a commit that is not answered within `limit` (0: no limit) ends the
  /// session here, whatever the server does: it throws Broken, or InDoubt for a commit.
  /// Throws Fatal(kExitUnavailable) with one line that says what to do when nobody answers, or when
  /// the server only reads (a standby); Fatal(kExitConfig) behind a pooler in transaction mode.
  /// `nicer`: how much lower its priority in the server is than that of this process.
  Connection(const std::string& conninfo, const std::string& application,
             std::chrono::milliseconds limit = kStatementLimit, int nicer = 0,
             SessionKind kind = SessionKind::kAll);
  ~Connection();
  Connection(const Connection&) = delete;

  /// False once the session is lost; make a new Connection then (locks and LISTENs are gone too).
  bool alive() const;
  /// True after many transactions: the server's process has grown by what it caches (1.5 to 2 MB),
  /// and gives it back only by ending. Whoever has nothing to do for a while makes a new one.
  bool worn() const { return transactions_ > 100; }
  int backend_pid() const { return pid_; }

  /// LISTENs on `channel`, if it does not yet; Wait() returns its notices.
  void Listen(const std::string& channel);
  /// Waits at most `ms` for notices; the channels that were notified (empty: none in time).
  std::set<std::string> Wait(int ms);
  /// The socket, for poll(); call Wait(0) when it is readable.
  int socket() const;

 private:
  friend class Tx;
  /// Runs `body`, which asks the server for something, under the limit of this session.
  template <typename Body>
  auto Limited(const Body& body) -> decltype(body());

  struct Impl;
  std::unique_ptr<Impl> impl_;
  std::chrono::milliseconds limit_;
  int pid_ = 0, transactions_ = 0;
};

/// A transaction, from its first statement on: rolled back unless Commit() is reached. `Sync::kOff`
/// commits without waiting for the disk, for what its writer repeats anyway (heartbeats,
/// statistics); never for intents, accepted campaigns, status updates or kills.
class Tx {
 public:
  enum class Sync { kOn, kOff };
  explicit Tx(Connection& connection, Sync sync = Sync::kOn);
  /// Reads only, all of it one snapshot: numbers of several statements fit together. Of a session
  /// that reads.
  struct Snapshot {};
  Tx(Connection& connection, Snapshot);
  ~Tx();
  Tx(const Tx&) = delete;

  /// Runs a statement. Arguments: numbers, strings, bool, std::optional of these, vectors (arrays),
  /// RowSet. All rows, in the server's order.
  template <typename R, typename... Args>
  std::vector<R> Exec(const Query<R>& query, const Args&... args) {
    return Read<R>(Run(query.name, query.sql, query.generic, Params(args...)));
  }
  /// The only row; throws Error when there is none, or more than one.
  template <typename R, typename... Args>
  R One(const Query<R>& query, const Args&... args) {
    const Rows rows = Run(query.name, query.sql, query.generic, Params(args...));
    return Read<R>(Single(rows, query.name)).front();
  }
  /// The first row, if there is one.
  template <typename R, typename... Args>
  std::optional<R> First(const Query<R>& query, const Args&... args) {
    const Rows rows = Run(query.name, query.sql, query.generic, Params(args...));
    if (rows.size() == 0) return std::nullopt;
    RowReader reader(rows, 0);
    return R::Read(reader);
  }
  /// The number of rows that a statement without an answer changed.
  template <typename... Args>
  std::size_t Exec(const Command& command, const Args&... args) {
    return Run(command.name, command.sql, command.generic, Params(args...)).affected();
  }
  /// Of a snapshot: the next statement that is run takes this one along, in one message, and an
  /// Exec() of it with the same arguments later has its answer already. On a busy machine each
  /// message waits for a processor on either side, longer than most statements take. In another
  /// transaction it does nothing.
  template <typename R, typename... Args>
  void Ahead(const Query<R>& query, const Args&... args) {
    Ahead(query.name, query.sql, query.generic, Params(args...));
  }
  /// Of a snapshot: the commit goes along with the next statement that is run, too. Any that
  /// follows is refused.
  void NothingFollows();
  /// For text without data in it: NOTIFY, SET, migrations.
  void Raw(const std::string& sql);
  /// Throws InDoubt when the connection is lost meanwhile.
  void Commit();

 private:
  friend class NativeAccess;
  Tx(Connection& connection, const char* begin);
  Rows Run(const char* name, const char* sql, bool generic, const Params& params);
  void SetPlans(bool generic);
  void Ahead(const char* name, const char* sql, bool generic, const Params& params);
  static const Rows& Single(const Rows& rows, const char* name);
  template <typename R>
  static std::vector<R> Read(const Rows& rows) {
    std::vector<R> out;
    out.reserve(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      RowReader reader(rows, i);
      out.push_back(R::Read(reader));
    }
    return out;
  }

  struct Impl;
  Connection& connection_;
  std::unique_ptr<Impl> impl_;
};

/// A bounded set of connections for a server with threads. A lost session is not given out again.
/// While no new one can be made one thread tries, and callers get an error within a second, however
/// long a server that does not answer keeps that thread.
class Pool {
 public:
  /// Its sessions are as those of Connection.
  Pool(std::string conninfo, std::string application, int most, int nicer = 0,
       SessionKind kind = SessionKind::kAll);
  ~Pool();
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
    std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
  };
  /// Waits for a free one, at most 10 s (then throws Fatal(kExitTryLater)). Who came first is
  /// served first: whoever asks again and again does not keep others waiting. Throws
  /// Fatal(kExitUnavailable) with the time since when the database has been unavailable.
  Lease Get();
  /// Closes sessions that nobody has used for `age`: an idle server costs the database nothing.
  void CloseIdle(std::chrono::steady_clock::duration age);

 private:
  struct Idle {
    std::unique_ptr<Connection> connection;
    std::chrono::steady_clock::time_point since;
  };
  using Clock = std::chrono::steady_clock;
  std::unique_ptr<Connection> Connect() const;
  /// A session that is being made, in a thread of its own: whoever needs it waits no longer than
  /// the others while the database is away.
  struct Attempt {
    std::unique_ptr<Connection> made;
    std::exception_ptr error;
    bool is_over = false, is_late = false;
    std::thread thread;
  };
  /// With the mutex held, as what follows: to whoever has the next turn.
  void WakeNext();
  /// Throws what the attempt has thrown.
  std::unique_ptr<Connection> Make(std::unique_lock<std::mutex>& lock);
  [[noreturn]] void ThrowAway() const;
  /// No session can be made, or one was lost that nobody has heard of since.
  void BeginAway(Clock::time_point since);
  void Seek();

  std::string conninfo_, application_;
  int most_, nicer_, out_ = 0;
  SessionKind kind_;
  std::optional<Clock::time_point> away_since_;
  std::string why_away_ = "the server has not answered";
  bool ends_ = false;
  std::thread seeker_;       // makes a session while the database is away
  std::list<Attempt> late_;  // nobody needs what they make any more
  std::vector<Idle> idle_;   // the last used at the end: the first ones fall idle
  std::mutex mutex_;
  std::list<std::condition_variable> turns_;  // a waiter each: the first one is woken, not all
  std::condition_variable changed_;           // the database is away or back, an attempt is over
};

/// What a database is to us before we write a byte to it.
enum class SchemaKind { kEmpty, kOurs, kOlder, kNewer, kOtherBuild, kCigri3, kForeign };
struct SchemaState {
  SchemaKind kind;
  int version = 0;     ///< of ours, 0 else
  std::string detail;  ///< for messages: "tables parameters, bag_of_tasks: a CiGri 3 database"
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
/// Whether migration `number` of this program has the text of which `checksum` was made.
bool IsOurMigration(int number, const std::string& checksum);

}  // namespace cigri::db
