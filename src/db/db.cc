#include "db/db.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <ctime>

#include "core/error.h"
#include "core/text.h"
#include "db/connect.h"
#include "db/conninfo.h"
#include "db/deadline.h"
#include "db/native.h"
#include "db/niceness.h"
#include "db/pooler.h"
#include "db/reads.h"
#include "db/rows_impl.h"
#include "db/transaction.h"

namespace cigri::db {
namespace {

constexpr const char* kAnswersNobody = "the database answers nobody";

// What changes the grid is written for READ COMMITTED.
constexpr const char* kWriteSettings =
    "SET plan_cache_mode = force_custom_plan; "
    "SET default_transaction_isolation = 'read committed'";

// Whatever role, database or server say: leader and modules hold sessions that are idle for long,
// clients parse the times of the API, and NULL in an array is not a word.
// PostgreSQL 12 and 13 have no limit for idle sessions.
constexpr const char* kSessionSettings =
    "; SELECT set_config('idle_session_timeout', '0', false)"
    " WHERE current_setting('idle_session_timeout', true) IS NOT NULL; "
    "SET client_encoding = 'UTF8'; SET DateStyle = 'ISO'; SET lock_timeout = '20s'; "
    "SET idle_in_transaction_session_timeout = '60s'; SET jit = off; "
    "SET extra_float_digits = 1; SET array_nulls = on; SET standard_conforming_strings = on";

struct Inbox : pqxx::notification_receiver {
  Inbox(pqxx::connection_base& c, const std::string& channel, std::set<std::string>& seen)
      : notification_receiver(c, channel), seen_(seen) {}
  void operator()(const std::string&, int) override { seen_.insert(channel()); }
  std::set<std::string>& seen_;
};

}  // namespace

struct Connection::Impl {
  explicit Impl(const std::string& conninfo) : c(conninfo) {
    const char *host = c.hostname(), *port = c.port();
    if (host != nullptr && port != nullptr) server = ServerName(host, port);
    session.emplace(c.sock(), server);
  }
  PqxxConnection c;
  std::string server;  ///< the one of several that this session has
  std::optional<OpenSession> session;
  std::set<std::string> prepared;
  bool reads = false;    ///< SessionKind::kReads
  bool generic = false;  ///< as SetPlans left it
  Niceness niceness;
  std::set<std::string> notices;
  std::vector<std::unique_ptr<Inbox>> inboxes;
};

template <typename Body>
auto Connection::Limited(const Body& body) -> decltype(body()) {
  const Deadline deadline(impl_->c.sock(), limit_, impl_->server);
  const auto why = [&]() -> std::string {
    switch (deadline.ended()) {
      case Deadline::End::kLimit:
        return "the database has not answered for " + HumanDuration(limit_.count() / 1000.0);
      case Deadline::End::kServerSilent:
        return kAnswersNobody;
      default:
        return impl_->session->silent() ? kAnswersNobody : impl_->c.HowItEnded();
    }
  };
  try {
    return Translated(body);
  } catch (const InDoubt&) {
    throw InDoubt(why() + " (it may have committed)");
  } catch (const Broken&) {
    throw Broken(why());
  } catch (const Error&) {
    // libpqxx takes some lost connections for faults of the statement.
    if (impl_->c.is_open()) throw;
    throw Broken(why());
  }
}

Connection::Connection(const std::string& conninfo, const std::string& application,
                       std::chrono::milliseconds limit, int nicer, SessionKind kind)
    : limit_(limit) {
  constexpr const char* kHint =
      "see whether this PostgreSQL runs and takes writes; another one: $CIGRI_DB, DATABASE_* in "
      "cigri.conf or PG*; one of its own: `cigri up --embedded`";
  try {
    const std::string whole = LastServerFirst(WithConnectionDefaults(conninfo));
    impl_ = std::make_unique<Impl>(whole);
    impl_->reads = kind == SessionKind::kReads;
    // A silent reconnect would lose locks and settings. Deprecated in 6.4, the default in 7.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    impl_->c.inhibit_reactivation(true);
#pragma GCC diagnostic pop
    const bool reads_only = Limited([&] {
      pqxx::nontransaction setup(impl_->c);
      // In one call: after a fail-over all of a grid's sessions begin at once. Plans cached while
      // tables were empty cost 1.4 times (reference: performance, section 8).
      const std::string plans = kind == SessionKind::kReads ? kReadSettings : kWriteSettings;
      const auto row = setup.exec(plans + kSessionSettings + "; SET application_name = " +
                                  setup.quote(application) +
                                  "; SELECT current_setting('transaction_read_only') = 'on', "
                                  "pg_backend_pid()")[0];
      pid_ = row[1].as<int>();
      return row[0].as<bool>();
    });
    if (IsSharedByPooler(impl_->c, pid_, whole))
      throw Fatal(kExitConfig,
                  "the database is behind a pooler in transaction mode (as pgbouncer has it): it "
                  "gives our session to others after each transaction",
                  "name the server itself in DATABASE_HOST and DATABASE_PORT, or set "
                  "pool_mode = session for this database");
    impl_->niceness = Niceness(impl_->c.sock(), pid_, nicer);
    if (reads_only)
      throw Fatal(kExitUnavailable, "no database: this server is a standby, which only reads",
                  "name all hosts in DATABASE_HOST, separated by commas: the tools find the one "
                  "that takes writes");
    NoteSession(impl_->server);
  } catch (const pqxx::broken_connection& e) {
    throw Fatal(kExitUnavailable,
                "no database: " + std::string(Trim(Split(Trim(e.what()), '\n').front())), kHint);
  } catch (const Broken& e) {
    throw Fatal(kExitUnavailable, std::string("no database: ") + e.what(), kHint);
  }
}
Connection::~Connection() = default;

bool Connection::alive() const { return impl_->c.is_open() && !impl_->session->silent(); }
int Connection::socket() const { return impl_->c.sock(); }

void Connection::Listen(const std::string& channel) {
  for (const auto& inbox : impl_->inboxes)
    if (inbox->channel() == channel) return;
  Limited([&] {
    impl_->inboxes.push_back(std::make_unique<Inbox>(impl_->c, channel, impl_->notices));
  });
}

std::set<std::string> Connection::Wait(int ms) {
  return Translated([&] {
    impl_->c.get_notifs();
    if (impl_->notices.empty() && ms > 0) impl_->c.await_notification(ms / 1000, ms % 1000 * 1000);
    return std::exchange(impl_->notices, {});
  });
}

struct Tx::Impl {
  pqxx::dbtransaction& Begun() {
    if (!work) work = std::make_unique<OneMessageTransaction>(c, begin);
    return *work;
  }
  pqxx::connection_base& c;
  std::string begin;    ///< what goes to the server before the first statement
  bool generic_before;  ///< what a rollback returns to
  std::unique_ptr<pqxx::dbtransaction> work{};  ///< none before the first statement
  ReadTransaction* reads = nullptr;             ///< the same, of a snapshot
  bool over = false;                            ///< committed: nothing more is sent
};

// The one door to libpqxx behind a transaction.
class NativeAccess {
 public:
  static pqxx::dbtransaction& Work(Tx& tx) { return tx.impl_->Begun(); }
};
pqxx::dbtransaction& Native(Tx& tx) { return NativeAccess::Work(tx); }

Tx::Tx(Connection& connection, Sync sync)
    : Tx(connection, sync == Sync::kOn ? "BEGIN" : "BEGIN; SET LOCAL synchronous_commit = off") {}
Tx::Tx(Connection& connection, Snapshot) : Tx(connection, "") {
  if (!connection.impl_->reads) throw std::logic_error("a snapshot of a session that writes, too");
  auto reads = std::make_unique<ReadTransaction>(connection.impl_->c, &connection.impl_->prepared);
  impl_->reads = reads.get();
  impl_->work = std::move(reads);
}
Tx::Tx(Connection& connection, const char* begin)
    : connection_(connection),
      impl_(std::make_unique<Impl>(Impl{connection.impl_->c, begin, connection.impl_->generic})) {
  connection_.impl_->niceness.Repeat();
  ++connection_.transactions_;
}
Tx::~Tx() {
  if (impl_->over) return;
  connection_.impl_->generic = impl_->generic_before;
  if (!impl_->work) return;
  const Deadline deadline(connection_.impl_->c.sock(), connection_.limit_,
                          connection_.impl_->server);
  impl_.reset();  // rolls back what is not committed
}

// A generic plan is made once and serves any values: making it takes most of the time of a
// statement that joins many tables for few rows. It is made by the indexes, since it must also
// serve when the tables, empty at first, are large.
void Tx::SetPlans(bool generic) {
  bool& now = connection_.impl_->generic;
  if (now == generic) return;
  const std::string plans =
      generic ? "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off"
              : "SET plan_cache_mode = force_custom_plan; SET enable_seqscan = on";
  if (impl_->work)
    impl_->work->exec(plans);
  else
    impl_->begin += "; " + plans;
  now = generic;
}

Rows Tx::Run(const char* name, const char* sql, bool generic, const Params& params) {
  return connection_.Limited([&] {
    if (impl_->reads != nullptr)
      return Rows(std::make_shared<Rows::Impl>(
          Rows::Impl{impl_->reads->Run({name, sql, generic, params}), name}));
    SetPlans(generic);
    if (connection_.impl_->prepared.insert(name).second) connection_.impl_->c.prepare(name, sql);
    std::vector<const char*> values;
    for (const auto& value : params.values()) values.push_back(value ? value->c_str() : nullptr);
    return Rows(std::make_shared<Rows::Impl>(Rows::Impl{
        impl_->Begun().exec_prepared(name, pqxx::prepare::make_dynamic_params(values)), name}));
  });
}

void Tx::Ahead(const char* name, const char* sql, bool generic, const Params& params) {
  if (impl_->reads != nullptr) impl_->reads->Ahead({name, sql, generic, params});
}

void Tx::NothingFollows() {
  if (impl_->reads != nullptr) impl_->reads->NothingFollows();
}

const Rows& Tx::Single(const Rows& rows, const char* name) {
  if (rows.size() != 1)
    throw Error(std::string(name) + ": " + std::to_string(rows.size()) + " rows instead of one");
  return rows;
}

void Tx::Raw(const std::string& sql) {
  connection_.Limited([&] { impl_->Begun().exec(sql); });
}
void Tx::Commit() {
  if (impl_->work) connection_.Limited([&] { impl_->work->commit(); });
  impl_->generic_before = connection_.impl_->generic;
  impl_->over = true;
}

namespace {

// How long callers wait for a session while the database is away, and the pause between two tries.
constexpr std::chrono::milliseconds kPatience{1000}, kBetweenTries{200};

// "22:18:25", with the day when it is not today's.
std::string TimeOf(std::chrono::steady_clock::time_point at) {
  const auto ago = std::chrono::steady_clock::now() - at;
  const std::time_t then =
      std::time(nullptr) - std::chrono::duration_cast<std::chrono::seconds>(ago).count();
  std::tm local{};
  localtime_r(&then, &local);
  char text[40];
  std::strftime(text, sizeof text, ago < std::chrono::hours(12) ? "%H:%M:%S" : "%Y-%m-%d %H:%M:%S",
                &local);
  return text;
}

}  // namespace

Pool::Pool(std::string conninfo, std::string application, int most, int nicer, SessionKind kind)
    : conninfo_(std::move(conninfo)),
      application_(std::move(application)),
      most_(most),
      nicer_(nicer),
      kind_(kind) {}

Pool::~Pool() {
  {
    std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  if (seeker_.joinable()) seeker_.join();
  for (Attempt& late : late_) late.thread.join();
}

std::unique_ptr<Connection> Pool::Connect() const {
  return std::make_unique<Connection>(conninfo_, application_, kStatementLimit, nicer_, kind_);
}

Pool::Lease Pool::Get() {
  std::unique_lock lock(mutex_);
  const auto turn = turns_.emplace(turns_.end());
  const bool is_free = turn->wait_for(lock, std::chrono::seconds(10),
                                      [&] { return turn == turns_.begin() && out_ < most_; });
  turns_.erase(turn);
  if (is_free) ++out_;  // before another wait: others may come meanwhile
  WakeNext();
  if (!is_free)
    throw Fatal(kExitTryLater, "all database connections are busy", "try again in some seconds");
  if (away_since_)
    changed_.wait_until(lock, std::max(*away_since_ + kPatience, Clock::now() + kBetweenTries),
                        [&] { return !away_since_; });
  while (!idle_.empty() && !idle_.back().connection->alive()) idle_.pop_back();
  try {
    if (away_since_) ThrowAway();
    if (idle_.empty()) return Lease(this, Make(lock));
  } catch (...) {
    --out_;
    WakeNext();
    throw;
  }
  auto connection = std::move(idle_.back().connection);
  idle_.pop_back();
  return Lease(this, std::move(connection));
}

void Pool::WakeNext() {
  if (!turns_.empty() && out_ < most_) turns_.front().notify_one();
}

// Users read it, too: an operator asks `cigri doctor`.
constexpr const char* kAwayHint =
    "running jobs go on; try again in some seconds, and if it lasts, tell an operator";

void Pool::ThrowAway() const {
  throw Fatal(kExitUnavailable,
              "the database has been unavailable since " + TimeOf(*away_since_) + ": " + why_away_,
              kAwayHint);
}

std::unique_ptr<Connection> Pool::Make(std::unique_lock<std::mutex>& lock) {
  const auto begin = Clock::now();
  std::list<Attempt> attempts(1);
  Attempt& mine = attempts.front();
  mine.thread = std::thread([this, &mine] {
    std::unique_ptr<Connection> made;
    std::exception_ptr error;
    try {
      made = Connect();
    } catch (...) {
      error = std::current_exception();
    }
    std::lock_guard guard(mutex_);
    if (!mine.is_late) mine.made = std::move(made);  // else it is closed, without the mutex
    mine.error = error;
    mine.is_over = true;
    changed_.notify_all();
  });
  if (!changed_.wait_until(lock, begin + kPatience, [&] { return mine.is_over; })) {
    mine.is_late = true;
    late_.remove_if([](Attempt& late) {
      if (late.is_over) late.thread.join();
      return late.is_over;
    });
    late_.splice(late_.end(), attempts);
    BeginAway(begin);
    ThrowAway();
  }
  mine.thread.join();  // it has let the mutex go for good
  if (mine.error == nullptr) return std::move(mine.made);
  try {
    std::rethrow_exception(mine.error);
  } catch (const Fatal& e) {
    if (e.code() != kExitUnavailable) throw;
    why_away_ = e.what();
    BeginAway(begin);
    throw Fatal(e.code(), e.what(), kAwayHint);
  }
}

void Pool::BeginAway(Clock::time_point since) {
  if (away_since_ || ends_) return;
  away_since_ = since;
  if (seeker_.joinable()) seeker_.join();  // of the last time: it has let the mutex go for good
  seeker_ = std::thread([this] { Seek(); });
}

void Pool::Seek() {
  std::unique_lock lock(mutex_);
  while (!ends_) {
    lock.unlock();
    std::unique_ptr<Connection> made;
    std::string why;
    try {
      made = Connect();
    } catch (const std::exception& e) {
      why = e.what();
    }
    lock.lock();
    if (made) {
      if (idle_.empty()) idle_.push_back({std::move(made), Clock::now()});
      away_since_.reset();
      changed_.notify_all();
      return;
    }
    why_away_ = why;
    changed_.wait_for(lock, kBetweenTries, [this] { return ends_; });
  }
}

void Pool::CloseIdle(std::chrono::steady_clock::duration age) {
  std::vector<Idle> closing;  // closed without the lock
  std::lock_guard lock(mutex_);
  const auto before = std::chrono::steady_clock::now() - age;
  const auto kept = std::find_if(idle_.begin(), idle_.end(),
                                 [&](const Idle& idle) { return idle.since > before; });
  closing.assign(std::make_move_iterator(idle_.begin()), std::make_move_iterator(kept));
  idle_.erase(idle_.begin(), kept);
}

Pool::Lease::~Lease() {
  if (connection_ == nullptr) return;
  std::lock_guard lock(pool_->mutex_);
  --pool_->out_;
  pool_->WakeNext();
  if (connection_->alive()) {
    pool_->idle_.push_back({std::move(connection_), std::chrono::steady_clock::now()});
  } else {
    pool_->idle_.clear();  // they went with the server
    pool_->BeginAway(since_);
  }
}

}  // namespace cigri::db
