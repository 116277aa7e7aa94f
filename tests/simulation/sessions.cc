#include "tests/simulation/sessions.h"

#include <dlfcn.h>
#include <libpq-fe.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "core/text.h"
#include "tests/simulation/faults.h"
#include "tests/simulation/scheduler.h"

extern "C" int __real_poll(pollfd*, nfds_t, int);
extern "C" int __real_shutdown(int, int);

namespace cigri::test::sessions {

const char* const kClockSql =
    "CREATE FUNCTION now() RETURNS timestamptz LANGUAGE sql STABLE AS $$ SELECT "
    "to_timestamp(coalesce(nullif(current_setting('sim.now', true), ''), "
    "'1893456000')::double precision) $$;"
    "CREATE FUNCTION clock_timestamp() RETURNS timestamptz LANGUAGE sql STABLE AS $$ SELECT "
    "to_timestamp(coalesce(nullif(current_setting('sim.now', true), ''), "
    "'1893456000')::double precision) $$;"
    // The harness ends it: its server process then serves another session (Cut).
    "CREATE FUNCTION pg_terminate_backend(pid int) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN "
    "RAISE NOTICE 'ends %', pid; RETURN true; END $$;";

namespace {

using std::chrono::microseconds;
constexpr microseconds kStatement{200};
constexpr int kRealLimitMs = 20000;

template <typename F>
F* Real(const char* name) {
  auto* found = reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
  if (found == nullptr) std::abort();
  return found;
}
#define REAL(name) static auto* const real_##name = Real<decltype(name)>(#name)

struct Session {
  int process = 0, fd = -1, pid = 0;
  std::int64_t lock_timeout_ms = 0, lock_timeout_tx_ms = -1;
  bool waits = false, answered = false;  // for a lock; its answer is there
  bool gone = false;                     // its server process
  bool in_transaction = false;
  bool broken = false;      // for its client; its server process serves another session then
  bool told = false;        // its client has heard of it
  bool has_a_name = false;  // a table names its server process
  std::int64_t begins = 0;  // the epoch that its transaction begins
  std::string conninfo;
  std::set<std::string> prepared;  // by its server process
  std::set<std::string> steps;     // of its transaction
  std::string takes;               // the cluster that its transaction takes
  std::set<std::string> claims;    // clusters for which it intends batches
  std::set<std::string> settles;   // batches that it records or closes
};

// A server process whose session is over, for the next one.
struct Idle {
  PGconn* connection;
  Session session;
  unsigned run;
};

std::map<PGconn*, Session> g_sessions;
// Server processes whose sessions are over: they know the tables and have planned the statements,
// which a new one takes 20 ms for.
std::vector<Idle> g_idle;
unsigned g_run = 0;
PGconn* g_control = nullptr;
bool g_killed_job_seen = false;
std::map<int, std::int64_t> g_epochs;  // by process
std::int64_t g_epoch = 0;              // of whoever leads
int g_stale_writes = 0;
std::map<std::string, int> g_runners;  // the process that has taken a cluster last, by its id
thread_local std::string t_call;
thread_local bool t_takes_over = false;

[[noreturn]] void Give(const char* why) {
  std::fprintf(stderr, "the simulation has lost its server: %s\n", why);
  std::abort();
}

bool Ready(int fd, int ms = 0) {
  pollfd one{fd, POLLIN, 0};
  return __real_poll(&one, 1, ms) > 0;
}

PGresult* Control(const std::string& sql) {
  REAL(PQexec);
  return real_PQexec(g_control, sql.c_str());
}
bool Holds(const std::string& condition) {
  PGresult* result = Control("SELECT " + condition);
  if (PQntuples(result) != 1) Give(PQerrorMessage(g_control));
  const bool holds = *PQgetvalue(result, 0, 0) == 't';
  PQclear(result);
  return holds;
}
bool IsBlocked(const Session& s) {
  return Holds("cardinality(pg_blocking_pids(" + std::to_string(s.pid) + ")) > 0");
}

// A statement that waits for a lock goes on when another session lets it: what it then does is
// over, or it waits again, before anybody else runs.
void SettleLocks() {
  for (auto& [connection, s] : g_sessions) {
    if (!s.waits || s.answered) continue;
    for (int i = 0; !(s.answered = Ready(s.fd)) && !IsBlocked(s); ++i) {
      if (i == 100000) Give("a statement neither ends nor waits");
      usleep(50);
    }
  }
}

// Waits until its server process has let go all that it had. One that waits for a lock would not
// look at its socket.
void AwaitEnd(Session& s) {
  const std::string pid = std::to_string(s.pid);
  for (int i = 0; Holds("EXISTS (SELECT FROM pg_stat_activity WHERE pid = " + pid + ")"); ++i) {
    if (i == 0) PQclear(Control("SELECT pg_terminate_backend(" + pid + ")"));
    if (i == 10000) Give("a session does not end");
    usleep(200);
  }
  s.gone = true;
}

std::string SchemaOf(const Session& s) {
  const auto path = s.conninfo.substr(s.conninfo.find("search_path=") + 12);
  return path.substr(0, path.find_first_of(", '"));
}

// What a server process does at the end of its session, but for its own end: a table that names it
// names nobody then.
bool Clean(PGconn* connection, const Session& s) {
  REAL(PQexec);
  const bool open = PQtransactionStatus(connection) != PQTRANS_IDLE;
  PGresult* result =
      real_PQexec(connection, open ? "ROLLBACK; UNLISTEN *; RESET ALL; SELECT "
                                     "pg_advisory_unlock_all()"
                                   : "UNLISTEN *; RESET ALL; SELECT pg_advisory_unlock_all()");
  const bool lives = PQresultStatus(result) == PGRES_TUPLES_OK;
  PQclear(result);
  while (PGnotify* notice = PQnotifies(connection)) PQfreemem(notice);
  if (!lives || !s.has_a_name) return lives;
  result = Control("SET lock_timeout = '10ms'; UPDATE " + SchemaOf(s) +
                   ".runners SET session = -1 WHERE session = " + std::to_string(s.pid));
  const bool done = PQresultStatus(result) == PGRES_COMMAND_OK;
  PQclear(result);
  return done;
}

void Cut(PGconn* connection, Session& s) {
  if (s.gone || s.broken) return;
  if (s.waits || s.process == 0 || !Clean(connection, s))
    AwaitEnd(s);
  else
    s.broken = true;
  s.answered = true;
  SettleLocks();
}

bool IsBroken(const PGconn* connection) {
  const auto found = g_sessions.find(const_cast<PGconn*>(connection));
  return found != g_sessions.end() && found->second.broken;
}

// As libpq answers on a lost connection: an error the first time, nothing later.
PGresult* Lost(PGconn* connection, Session& s) {
  return std::exchange(s.told, true) ? nullptr : PQmakeEmptyPGresult(connection, PGRES_FATAL_ERROR);
}

// The server processes that the last statement of this thread has ended.
thread_local std::vector<int> t_ended;

void Notice(void*, const PGresult* result) {
  const std::string text = PQresultErrorMessage(result);
  if (const auto at = text.find("ends "); at != text.npos)
    t_ended.push_back(std::atoi(text.c_str() + at + 5));
}

void CutEnded() {
  for (const int pid : std::exchange(t_ended, {}))
    for (auto& [connection, s] : g_sessions)
      if (s.pid == pid) Cut(connection, s);
}

const std::map<std::string, std::string>& StepsOfStatements() {
  static const std::map<std::string, std::string> steps{
      {"IntendBatches", "submit: intend"},
      {"MarkInDoubt", "submit: in doubt"},
      {"NoteAbsence", "submit: look up"},
      {"MarkReleased", "submit: release"},
      {"UnreleasedBatches", "submit: release"},
      {"KillCalled", "kill: ask"},
      {"KillCallFailed", "kill: answer"},
      {"KillCallCameLate", "kill: answer"},
      {"EndJobs", "status: apply"},
      {"MoveJobs", "status: apply"},
      {"PutRetries", "status: requeue"},
      {"SetFeedToken", "status: acknowledge"},
      {"TryLead", "election: try lock"},
      {"ReserveLease", "election: try lock"},
      {"EndExpiredLeader", "election: expire"},
      {"EndTransactionsOfOldEpoch", "election: take over"},
      {"BeginEpoch", "election: raise epoch"},
      {"BeginLease", "election: lease"},
      {"RenewLease", "election: renew"},
      {"TakeCluster", "runner: take cluster"},
      {"EndTransactionsOfCluster", "runner: take cluster"},
      {"RenewRunner", "runner: renew"},
      {"SetWantedState", "user: ask"},
      {"RetryFailedTasks", "user: ask"},
      {"RequestKill", "user: ask"},
      {"DrainCluster", "user: ask"},
      {"ResumeCluster", "user: ask"},
      {"SetCampaign", "user: ask"},
      {"ChangeCluster", "user: ask"},
      {"SetPolicy", "user: ask"},
      {"LeaveClusters", "user: ask"},
      {"InsertCampaign", "user: submit"},
      {"InsertSegment", "user: submit"},
      {"InsertRequestKey", "user: submit"},
      {"CampaignOfRequestKey", "user: submit"},
      {"PutForecasts", "predict: write"},
      {"InsertGrants", "plan: write"},
      {"ClearGrants", "plan: write"}};
  return steps;
}

std::vector<std::string> StepsOf(const Session& s, const std::string& what) {
  if (what == "COMMIT") return {s.steps.begin(), s.steps.end()};
  std::vector<std::string> steps;
  if (what == "RecordBatch")
    steps.push_back(t_call == "find" ? "submit: adopt" : "submit: record");
  else if (what == "CloseBatch" && t_call == "find")
    steps.push_back("submit: abandon");
  else if (const auto it = StepsOfStatements().find(what); it != StepsOfStatements().end())
    steps.push_back(it->second);
  if (what == "EndJobs" && g_killed_job_seen) steps.push_back("kill: confirm");
  if (t_takes_over && (what == "BeginEpoch" || what == "BeginLease" || what == "TryLead"))
    steps.push_back("election: take over");
  return steps;
}

// "SET lock_timeout = '20s'", "SET LOCAL lock_timeout = 2000": by the world's clock.
bool TakeLockTimeout(Session& s, const std::string& sql) {
  const auto at = sql.find("lock_timeout = ");
  if (at == sql.npos) return false;
  const std::string value = sql.substr(at + 15);
  const bool seconds = value.find('s') != value.npos;
  const auto ms = std::atoll(value.c_str() + (value[0] == '\'' ? 1 : 0)) * (seconds ? 1000 : 1);
  (sql.find("LOCAL") != sql.npos ? s.lock_timeout_tx_ms : s.lock_timeout_ms) = ms;
  return true;
}

void AwaitAnswer(PGconn* connection, bool* lock_timed_out) {
  Session& s = g_sessions.at(connection);
  while (!Ready(s.fd, 3)) {
    if (!IsBlocked(s)) continue;
    world::Trace("waits for a lock");
    s.waits = true;
    s.answered = false;
    const auto limit = s.lock_timeout_tx_ms >= 0 ? s.lock_timeout_tx_ms : s.lock_timeout_ms;
    const bool in_time = world::WaitUntil([&s] { return s.answered || Ready(s.fd); },
                                          limit == 0 ? -1 : world::Now() + limit * 1'000'000);
    if (!in_time && !s.answered && !Ready(s.fd)) {
      PQclear(Control("SELECT pg_cancel_backend(" + std::to_string(s.pid) + ")"));
      if (!Ready(s.fd, kRealLimitMs)) Give("a statement cannot be cancelled");
      *lock_timed_out = true;
    }
    s.waits = false;
    return;
  }
}

PGresult* LockTimeout() {
  return Control(
      "DO $$ BEGIN RAISE EXCEPTION 'canceling statement due to lock timeout' "
      "USING ERRCODE = '55P03'; END $$");
}

std::string Told(const std::string& what, const PGresult* result, bool lock_timed_out, bool cut) {
  std::string told = what;
  if (PQresultStatus(result) == PGRES_TUPLES_OK)
    told += " " + std::to_string(PQntuples(result));
  else
    told += std::string(" ") + PQcmdTuples(const_cast<PGresult*>(result));
  if (lock_timed_out)
    told += " lock timeout";
  else if (const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE); state != nullptr)
    told += std::string(" ") + state;
  return told + (cut ? " cut after" : "");
}

// After a commit: an epoch begins, or something was written under the one of this process. nikita's
// collection of kills is the same in any epoch, and a runner has leases of its own.
void NoteEpoch(const Session& s) {
  if (s.begins > 0) g_epoch = s.begins;
  const auto own = g_epochs.find(s.process);
  if (own == g_epochs.end() || own->second == g_epoch) return;
  for (const char* step :
       {"status: apply", "status: acknowledge", "kill: ask", "predict: write", "plan: write"})
    if (s.steps.count(step) != 0) {
      ++g_stale_writes;
      world::Trace(std::string(step) + " under an epoch that is over");
    }
}

// After a commit: a cluster is taken, or something was written about one that is another's.
void NoteRunner(const Session& s) {
  if (!s.takes.empty()) g_runners[s.takes] = s.process;
  auto clusters = s.claims;
  for (const auto& batch : s.settles) {
    PGresult* result =
        Control("SELECT cluster_id FROM " + SchemaOf(s) + ".batches WHERE id = " + batch);
    if (PQntuples(result) != 1) Give(PQerrorMessage(g_control));
    clusters.insert(PQgetvalue(result, 0, 0));
    PQclear(result);
  }
  for (const auto& cluster : clusters)
    if (g_runners[cluster] != s.process) {
      ++g_stale_writes;
      world::Trace("a batch by a runner that has cluster " + cluster + " no more");
    }
}

// What a thread does from here to the next statement is one step for all others.
PGresult* Execute(PGconn* connection, const std::string& what, const std::function<int()>& send,
                  const std::function<PGresult*()>& real) {
  const auto found = g_sessions.find(connection);
  if (!world::IsOn() || found == g_sessions.end()) return real();
  REAL(PQgetResult);
  Session& s = found->second;  // its owner is here: nobody else erases it
  world::Pass(kStatement);
  if (world::Chance(s.in_transaction ? 10 : 40)) world::Yield();
  const auto steps = StepsOf(s, what);
  Fault fault = s.process == 0 ? Fault::kNone : Faults::OfProcess().At(steps);
  if (fault == Fault::kPaused || fault == Fault::kOutlived) {
    world::Trace(what + (fault == Fault::kPaused ? " paused" : " outlived"));
    Pause(fault == Fault::kOutlived);
  }
  if (fault == Fault::kKilled) {
    world::Trace(what + " killed");
    Kill(s.process);
  }
  if (fault == Fault::kLost) world::Trace(what + " cut before");
  if (fault == Fault::kLost || world::IsDead(s.process)) Cut(connection, s);
  if (s.broken) return Lost(connection, s);
  if (s.gone) return real();
  while (PGresult* old = real_PQgetResult(connection)) PQclear(old);
  if (send() == 0) return real();
  bool lock_timed_out = false;
  AwaitAnswer(connection, &lock_timed_out);
  PGresult* last = nullptr;
  while (PGresult* result = real_PQgetResult(connection)) {
    PQclear(last);
    last = result;
  }
  if (what == "BeginEpoch" && PQntuples(last) == 1) s.begins = std::atoll(PQgetvalue(last, 0, 0));
  if (PQtransactionStatus(connection) == PQTRANS_IDLE) {
    if (what == "COMMIT" && PQresultStatus(last) == PGRES_COMMAND_OK) {
      NoteEpoch(s);
      NoteRunner(s);
    }
    s.begins = 0;
    s.steps.clear();
    s.takes.clear();
    s.claims.clear();
    s.settles.clear();
    s.in_transaction = false;
    s.lock_timeout_tx_ms = -1;
    SettleLocks();
  } else {
    s.in_transaction = true;
    s.steps.insert(steps.begin(), steps.end());
  }
  if (s.process != 0) world::Trace(Told(what, last, lock_timed_out, fault == Fault::kAnswer));
  if (StartsWith(what, "EndTransactionsOf") || what == "EndExpiredLeader") {
    CutEnded();
    if (what == "EndExpiredLeader") t_takes_over = PQntuples(last) > 0;
  }
  if (what == "RenewLease") t_takes_over = false;
  if (what == "AddRunner") s.has_a_name = true;
  if (fault == Fault::kAnswer) {
    PQclear(last);
    Cut(connection, s);
    return s.broken ? Lost(connection, s) : real();
  }
  if (lock_timed_out) {
    PQclear(last);
    return LockTimeout();
  }
  return last;
}

}  // namespace

void Begin(const std::string& conninfo) {
  REAL(PQconnectdb);
  g_control = real_PQconnectdb(conninfo.c_str());
  if (PQstatus(g_control) != CONNECTION_OK) Give(PQerrorMessage(g_control));
}

void BeginRun() {
  ++g_run;
  g_killed_job_seen = false;
  g_epochs.clear();
  g_epoch = 0;
  g_stale_writes = 0;
  g_runners.clear();
}

void End() {
  REAL(PQfinish);
  for (auto& idle : g_idle) {
    real_PQfinish(idle.connection);
    AwaitEnd(idle.session);
    close(idle.session.fd);
  }
  g_idle.clear();
  real_PQfinish(g_control);
  g_control = nullptr;
}

void Kill(int process) {
  if (world::IsDead(process)) return;
  for (const int child : world::ChildrenOf(process)) Kill(child);  // PR_SET_PDEATHSIG
  world::Kill(process);
  for (auto& [connection, s] : g_sessions)
    if (s.process == process) Cut(connection, s);
}

void Pause(bool outlived) {
  using std::chrono::milliseconds;
  const int process = world::Process(), almighty = world::ParentOf(process);
  const auto ms = outlived ? 9000 + world::Random(8000) : 100 + world::Random(24000);
  if (outlived && almighty != 0)
    world::Freeze(almighty, milliseconds(ms + 500 + world::Random(4000)));
  world::Freeze(process, milliseconds(ms));
  world::Yield();
}

void SetEpoch(int process, std::int64_t epoch) { g_epochs[process] = epoch; }
int StaleWrites() { return g_stale_writes; }

void Called(const std::string& call) { t_call = call; }
void KilledJobSeen() { g_killed_job_seen = true; }

namespace {

// In one order in each run: first what this run has used.
PGconn* Reuse(const std::string& conninfo) {
  auto best = g_idle.end();
  for (auto it = g_idle.begin(); it != g_idle.end(); ++it)
    if (it->session.conninfo == conninfo && (best == g_idle.end() || it->run >= best->run))
      best = it;
  if (best == g_idle.end()) return nullptr;
  PGconn* connection = best->connection;
  Session& s = g_sessions[connection] = std::move(best->session);
  g_idle.erase(best);
  s.process = world::Process();
  return connection;
}

std::string FirstWord(const std::string& sql) { return sql.substr(0, sql.find_first_of(" ;")); }

}  // namespace

extern "C" {

PGconn* PQconnectdb(const char* conninfo) {
  REAL(PQconnectdb);
  if (!world::IsOn() || g_control == nullptr) return real_PQconnectdb(conninfo);
  world::Pass(kStatement);
  world::Yield();
  const bool refused = world::IsDead(world::Process());
  if (refused) return real_PQconnectdb("host=/nonexistent");
  if (PGconn* connection = Reuse(conninfo)) return connection;
  PGconn* connection = real_PQconnectdb(conninfo);
  if (PQstatus(connection) != CONNECTION_OK) return connection;
  Session& s = g_sessions[connection];
  s.conninfo = conninfo;
  s.process = world::Process();
  PQsetNoticeReceiver(connection, Notice, nullptr);
  s.fd = dup(PQsocket(connection));  // libpq closes its own when the session is lost
  s.pid = PQbackendPID(connection);
  return connection;
}

void PQfinish(PGconn* connection) {
  REAL(PQfinish);
  const auto found = g_sessions.find(connection);
  if (found == g_sessions.end()) return real_PQfinish(connection);
  Session s = found->second;
  g_sessions.erase(found);
  if (!s.gone && s.process != 0 && world::IsOn() &&
      PQtransactionStatus(connection) != PQTRANS_UNKNOWN && (s.broken || Clean(connection, s))) {
    Session idle;
    idle.conninfo = s.conninfo;
    idle.prepared = std::move(s.prepared);
    idle.fd = s.fd;
    idle.pid = s.pid;
    g_idle.push_back({connection, std::move(idle), g_run});
    return SettleLocks();
  }
  real_PQfinish(connection);
  if (!s.gone && g_control != nullptr) AwaitEnd(s);
  close(s.fd);
  SettleLocks();
}

PGresult* PQexec(PGconn* connection, const char* sql) {
  REAL(PQexec);
  std::string text = sql;
  const auto found = g_sessions.find(connection);
  if (world::IsOn() && found != g_sessions.end()) {
    // Small tables: what the product plans anew for its values would be most of the time here.
    text = ReplaceAll(text, "force_custom_plan", "force_generic_plan");
    if (StartsWith(text, "BEGIN"))
      text += "; SET LOCAL sim.now = '" + std::to_string(1893456000 + world::Now() / 1000000000) +
              "." + std::to_string(1000000000 + world::Now() % 1000000000).substr(1, 6) + "'";
    else if (text.find("; SET application_name") == text.npos &&
             TakeLockTimeout(found->second, text))
      text = StartsWith(text, "SET LOCAL") ? "SET LOCAL lock_timeout = 0" : "SET lock_timeout = 0";
  }
  return Execute(
      connection, FirstWord(text), [&] { return PQsendQuery(connection, text.c_str()); },
      [&] { return real_PQexec(connection, text.c_str()); });
}

PGresult* PQexecPrepared(PGconn* connection, const char* name, int n, const char* const* values,
                         const int* lengths, const int* formats, int result_format) {
  REAL(PQexecPrepared);
  PGresult* result = Execute(
      connection, name,
      [&] {
        return PQsendQueryPrepared(connection, name, n, values, lengths, formats, result_format);
      },
      [&] {
        return real_PQexecPrepared(connection, name, n, values, lengths, formats, result_format);
      });
  const auto found = g_sessions.find(connection);
  if (found == g_sessions.end() || PQtransactionStatus(connection) != PQTRANS_INTRANS)
    return result;
  const std::string what = name;
  if (what == "TakeCluster" && PQntuples(result) == 1) found->second.takes = values[0];
  if (what == "IntendBatches") found->second.claims.insert(values[1]);
  if (what == "RecordBatch" || what == "CloseBatch") found->second.settles.insert(values[0]);
  return result;
}

PGresult* PQprepare(PGconn* connection, const char* name, const char* sql, int n,
                    const Oid* types) {
  REAL(PQprepare);
  const auto found = g_sessions.find(connection);
  if (found == g_sessions.end()) return real_PQprepare(connection, name, sql, n, types);
  Session& s = found->second;
  if (s.broken) return Lost(connection, s);
  if (s.prepared.count(name) != 0) return PQmakeEmptyPGresult(connection, PGRES_COMMAND_OK);
  PGresult* result = real_PQprepare(connection, name, sql, n, types);
  if (PQresultStatus(result) == PGRES_COMMAND_OK) s.prepared.insert(name);
  return result;
}

ConnStatusType PQstatus(const PGconn* connection) {
  REAL(PQstatus);
  return IsBroken(connection) ? CONNECTION_BAD : real_PQstatus(connection);
}
char* PQerrorMessage(const PGconn* connection) {
  REAL(PQerrorMessage);
  static char lost[] = "server closed the connection unexpectedly";
  return IsBroken(connection) ? lost : real_PQerrorMessage(connection);
}
int PQclientEncoding(const PGconn* connection) {
  REAL(PQclientEncoding);
  return IsBroken(connection) ? -1 : real_PQclientEncoding(connection);
}
int PQconsumeInput(PGconn* connection) {
  REAL(PQconsumeInput);
  return IsBroken(connection) ? 0 : real_PQconsumeInput(connection);
}

// What watches over the deadlines is one thread for all processes here, and runs while one of them
// stands still. That one's own would stand still, too.
int __wrap_shutdown(int fd, int how) {
  if (world::IsOn())
    for (const auto& [connection, s] : g_sessions)
      if (!s.waits && !s.broken && !s.gone && PQsocket(connection) == fd) return 0;
  return __real_shutdown(fd, how);
}

PGPing PQping(const char* conninfo) {
  REAL(PQping);
  return world::IsOn() ? PQPING_OK : real_PQping(conninfo);
}

}  // extern "C"

}  // namespace cigri::test::sessions
