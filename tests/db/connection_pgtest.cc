// What callers see of a session that the server has ended.
#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "core/error.h"
#include "core/text.h"
#include "db/conninfo.h"
#include "db/deadline.h"
#include "db/transaction.h"
#include "process/spawn.h"
#include "tests/support/await.h"
#include "tests/support/pg.h"

namespace cigri {
namespace {

class ConnectionPgTest : public test::PgTest {
 protected:
  // Returns when the end has arrived at our side of the socket, unread.
  void EndSession(db::Connection& c) {
    Sql("SELECT pg_terminate_backend(" + std::to_string(c.backend_pid()) + ")");
    pollfd fd{c.socket(), POLLIN, 0};
    ASSERT_EQ(poll(&fd, 1, 20000), 1);
  }
  // Where its server listens.
  std::pair<std::string, std::string> HostAndPort() {
    pqxx::connection c(conninfo());
    return {c.hostname(), c.port()};
  }
};

// The server says 57P01 (57P02 after a crash) before it closes: that must not look like an SQL
// error, on which a module gives up its work and not its session.
TEST_F(ConnectionPgTest, ASessionThatTheServerEndedIsBroken) {
  auto begins = Connect();
  EndSession(*begins);
  EXPECT_THROW(db::Tx(*begins).Raw("SELECT 1"), db::Broken);
  EXPECT_FALSE(begins->alive());

  auto asks = Connect();
  db::Tx tx(*asks);
  EndSession(*asks);
  EXPECT_THROW(tx.Raw("SELECT 1"), db::Broken);

  auto prepares = Connect();
  db::Tx other(*prepares);
  EndSession(*prepares);
  EXPECT_THROW(other.Exec(db::Command{"one", "SELECT 1"}), db::Broken);

  auto commits = Connect();
  db::Tx last(*commits);
  last.Raw("SELECT 1");
  EndSession(*commits);
  EXPECT_THROW(last.Commit(), db::InDoubt) << "nobody knows whether it was committed";
}

// libpqxx says "Could not obtain client encoding: not connected." or "Connection lost while
// committing transaction ''".
TEST_F(ConnectionPgTest, HowASessionEndedIsSaidInWordsOfTheGrid) {
  const auto what = [](const auto& act) -> std::string {
    try {
      act();
    } catch (const db::Error& e) {
      return e.what();
    }
    return "nothing was thrown";
  };
  const std::string ended = "the database session has ended: ";
  auto begins = Connect();
  EndSession(*begins);
  EXPECT_EQ(what([&] { db::Tx(*begins).Raw("SELECT 1"); }),
            ended + "server closed the connection unexpectedly");

  auto commits = Connect();
  db::Tx last(*commits);
  last.Raw("SELECT 1");
  EndSession(*commits);
  EXPECT_EQ(what([&] { last.Commit(); }),
            ended + "terminating connection due to administrator command (it may have committed)");
}

struct NumberRow {
  std::int64_t n;
  static NumberRow Read(db::RowReader& reader) { return {reader.Get<std::int64_t>()}; }
};

struct SettingsRow {
  std::string text;
  static SettingsRow Read(db::RowReader& reader) { return {reader.Get<std::string>()}; }
};

TEST_F(ConnectionPgTest, AStatementSaysWhetherItsPlanIsMadeOnceOrForItsValues) {
  const db::Query<NumberRow> once{"Once", "SELECT $1::bigint AS n", true};
  const db::Query<NumberRow> each{"Each", "SELECT $1::bigint AS n"};
  const db::Query<NumberRow> plans{
      "Plans",
      "SELECT generic_plans * 100 + custom_plans FROM pg_prepared_statements WHERE name = $1"};
  auto c = Connect();
  const auto use = [&](bool commit) {
    db::Tx tx(*c);
    for (const int n : {1, 2}) {
      EXPECT_EQ(tx.One(once, n).n, n);
      EXPECT_EQ(tx.One(each, n).n, n);
    }
    EXPECT_EQ(tx.One(once, 3).n, 3);
    if (commit) tx.Commit();
  };
  use(true);
  use(false);
  use(true);
  db::Tx tx(*c);
  EXPECT_EQ(tx.One(plans, std::string("Once")).n, 900);
  EXPECT_EQ(tx.One(plans, std::string("Each")).n, 6);
}

// Each message waits for a processor on either side when the machine is busy.
TEST_F(ConnectionPgTest, WhatBeginsATransactionIsOneMessageWithTheSettingsOfItsFirstStatement) {
  auto c = Connect();
  const db::Query<NumberRow> once{"Once", "SELECT $1::bigint AS n", true};
  std::FILE* const trace = std::tmpfile();
  ASSERT_NE(trace, nullptr);
  {
    db::Tx tx(*c);
    db::Native(tx).conn().trace(trace);
  }
  {
    db::Tx tx(*c, db::Tx::Sync::kOff);
    EXPECT_EQ(tx.One(once, 1).n, 1);
    tx.Commit();
  }
  { const db::Tx nothing(*c); }
  db::Tx tx(*c);
  db::Native(tx).conn().trace(nullptr);
  std::rewind(trace);
  std::string sent;
  for (char line[1000]; std::fgets(line, sizeof line, trace) != nullptr;)
    if (const auto at = std::string(line).find("\tQuery\t"); at != std::string::npos)
      sent += line + at + 7;
  std::fclose(trace);
  EXPECT_EQ(sent,
            " \"ROLLBACK\"\n \"BEGIN; SET LOCAL synchronous_commit = off; SET plan_cache_mode = "
            "force_generic_plan; SET enable_seqscan = off\"\n \"COMMIT\"\n \"BEGIN\"\n");
}

// The first plan is made when a grid is new.
TEST_F(ConnectionPgTest, APlanThatWasMadeForAnEmptyTableGoesByTheIndexWhenItIsLarge) {
  auto c = Connect();
  db::Tx tx(*c);
  tx.Raw("CREATE TEMP TABLE grows (n bigint PRIMARY KEY)");
  const db::Query<NumberRow> one{"OneOfMany", "SELECT n FROM grows WHERE n = $1", true};
  const db::Query<NumberRow> scans{"Scans",
                                   "SELECT pg_stat_get_xact_numscans('grows'::regclass) + $1 AS n"};
  EXPECT_FALSE(tx.First(one, 1));
  tx.Raw("INSERT INTO grows SELECT generate_series(1, 10000)");
  const auto before = tx.One(scans, 0).n;
  EXPECT_TRUE(tx.First(one, 1));
  EXPECT_EQ(tx.One(scans, 0).n, before) << "of the table itself";
}

TEST_F(ConnectionPgTest, AnErrorInAStatementIsNotALostSession) {
  auto c = Connect();
  db::Tx tx(*c);
  EXPECT_THROW(tx.Raw("SELECT nonsense"), db::SqlError);
  EXPECT_TRUE(c->alive());
}

TEST_F(ConnectionPgTest, AStatementThatAnOperatorEndsIsAnErrorAndTheSessionGoesOn) {
  auto c = Connect();
  std::thread operator_([&] {
    test::Await([&] {
      return Sql("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE pid = " +
                 std::to_string(c->backend_pid()) + " AND query LIKE '%pg_sleep%'")
                 .size() == 1;
    });
  });
  try {
    db::Tx(*c).Raw("SELECT pg_sleep(60)");
    ADD_FAILURE() << "it was not ended";
  } catch (const db::SqlError& e) {
    EXPECT_EQ(e.sqlstate(), "57014");
  }
  operator_.join();
  EXPECT_TRUE(c->alive());
  EXPECT_NO_THROW(db::Tx(*c).Raw("SELECT 1")) << "the next pass repeats it";
}

// An operator may end it between its BEGIN and its settings.
TEST_F(ConnectionPgTest, WhenWhatBeginsATransactionFailsTheNextOneBeginsAnew) {
  pqxx::connection c(conninfo());
  EXPECT_THROW(db::OneMessageTransaction(c, "BEGIN; SELECT 1 / 0"), pqxx::sql_error);
  db::OneMessageTransaction next(c, "BEGIN");
  EXPECT_EQ(next.exec("SELECT 1")[0][0].as<int>(), 1);
}

TEST_F(ConnectionPgTest, WhenTheConnectionLimitIsReachedThatIsTheReason) {
  const std::string role = "limited_" + RandomHex(4);
  Sql("CREATE ROLE " + role + " LOGIN CONNECTION LIMIT 1");
  {
    const std::string as = test::TestServer() + " user=" + role;
    db::Connection first(as, "test");
    try {
      db::Connection second(as, "test");
      ADD_FAILURE() << "it was taken";
    } catch (const Fatal& e) {
      EXPECT_EQ(e.code(), kExitUnavailable) << "try again";
      EXPECT_NE(std::string(e.what()).find("too many connections"), std::string::npos) << e.what();
    }
  }
  EXPECT_TRUE(test::Await([&] {
    return Sql("SELECT 1 FROM pg_stat_activity WHERE usename = '" + role + "'").empty();
  }));
  Sql("DROP ROLE " + role);
}

// Stands for a frozen server: the statement does not end in time.
TEST_F(ConnectionPgTest, AStatementWithoutAnAnswerEndsTheSessionAtTheLimit) {
  db::Connection connection(conninfo(), "test", std::chrono::milliseconds(200));
  db::Tx tx(connection);
  try {
    tx.Raw("SELECT pg_sleep(60)");
    FAIL() << "it was answered";
  } catch (const db::Broken& e) {
    EXPECT_STREQ(e.what(), "the database has not answered for 0.2 s");
  }
  EXPECT_FALSE(connection.alive());
}

TEST_F(ConnectionPgTest, ACommitWithoutAnAnswerIsInDoubt) {
  Sql("CREATE TABLE slow (n int);"
      "CREATE FUNCTION wait() RETURNS trigger AS $$BEGIN PERFORM pg_sleep(2); RETURN NULL; END$$"
      " LANGUAGE plpgsql;"
      "CREATE CONSTRAINT TRIGGER late AFTER INSERT ON slow DEFERRABLE INITIALLY DEFERRED"
      " FOR EACH ROW EXECUTE FUNCTION wait()");
  db::Connection connection(conninfo(), "test", std::chrono::milliseconds(200));
  db::Tx tx(connection);
  tx.Raw("INSERT INTO slow VALUES (1)");
  EXPECT_THROW(tx.Commit(), db::InDoubt);
  EXPECT_TRUE(test::Await([&] { return Sql("SELECT count(*) FROM slow")[0][0].as<int>() == 1; }))
      << "it is not cancelled: nobody here knows what the server did";
}

// A kernel takes connections for a process that stands still.
class FrozenServer {
 public:
  FrozenServer() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(fd_.get(), any, size), 0);
    EXPECT_EQ(listen(fd_.get(), 100), 0);
    getsockname(fd_.get(), any, &size);
    port_ = std::to_string(ntohs(address.sin_port));
  }
  const std::string& port() const { return port_; }

 private:
  process::Fd fd_{::socket(AF_INET, SOCK_STREAM, 0)};
  std::string port_;
};

// Of a server that Patroni has made the primary, each new session asked the standbys first.
TEST_F(ConnectionPgTest, TheServerOfTheLastSessionIsAskedFirst) {
  const auto [host, port] = HostAndPort();
  const auto several = "host=127.0.0.1," + host + " port=1," + port;
  db::NoteSession("another one");
  EXPECT_EQ(db::LastServerFirst(several), several);
  Connect();
  EXPECT_NE(db::LastServerFirst(several).find("host='" + host + ",127.0.0.1' port='" + port),
            std::string::npos)
      << db::LastServerFirst(several);
}

TEST(DeadlineTest, AWaitForAServerThatAnswersNobodyEnds) {
  const FrozenServer frozen;
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  const process::Fd one(pair[0]), other(pair[1]);
  const auto began = std::chrono::steady_clock::now();
  {
    const db::Deadline wait(one.get(), std::chrono::seconds(60),
                            db::ServerName("127.0.0.1", frozen.port()));
    char byte;
    EXPECT_EQ(read(one.get(), &byte, 1), 0) << "the socket is closed";
    EXPECT_EQ(wait.ended(), db::Deadline::End::kServerSilent);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(30));
}

// A session that waited for nothing did not notice: no notice woke its process, and whoever used it
// next waited for seconds, one after another.
TEST(DeadlineTest, AllSessionsWithAServerThatAnswersNobodyEnd) {
  const FrozenServer frozen;
  const auto server = db::ServerName("127.0.0.1", frozen.port());
  int pairs[3][2];
  for (auto& pair : pairs) ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  const db::OpenSession idle(pairs[0][0], server), others(pairs[1][0], "host='another' port=1");
  const db::Deadline wait(pairs[2][0], std::chrono::seconds(60), server);
  char byte;
  EXPECT_EQ(read(pairs[0][0], &byte, 1), 0) << "its process hears of it";
  EXPECT_TRUE(idle.silent());
  EXPECT_FALSE(others.silent());
  EXPECT_EQ(write(pairs[1][0], "x", 1), 1);
  for (auto& pair : pairs)
    for (const int fd : pair) close(fd);
}

// libpq waits for a host that is off or paused until the connect_timeout is over: each tool of an
// operator, as long as that host is away.
TEST_F(ConnectionPgTest, ASilentServerDoesNotHoldUpTheNext) {
  const FrozenServer frozen;
  const auto [host, port] = HostAndPort();
  const auto began = std::chrono::steady_clock::now();
  db::Connection connection(conninfo() + " connect_timeout=60 host=127.0.0.1,127.0.0.1," + host +
                                " port=" + frozen.port() + ",1," + port,
                            "test");
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(30));
  db::Tx tx(connection);
  EXPECT_NO_THROW(tx.Raw("SELECT 1"));
}

// The old primary is frozen, and a standby takes over while a session waits for the old one.
TEST_F(ConnectionPgTest, WhoBecomesThePrimaryWhileAnotherIsSilentIsAskedAgain) {
  const FrozenServer frozen;
  const auto [host, port] = HostAndPort();
  const std::string database = pqxx::connection(conninfo()).dbname();
  Sql("ALTER DATABASE " + database + " SET default_transaction_read_only = on");
  const auto sessions = [&] {
    return Sql("SELECT sessions FROM pg_stat_database WHERE datname = current_database()")[0][0]
        .as<int>();
  };
  const int before = sessions();
  std::string error;
  std::thread waits([&, host = host, port = port] {
    try {
      db::Connection(conninfo() + " connect_timeout=60 host=127.0.0.1," + host +
                         " port=" + frozen.port() + "," + port + " target_session_attrs=read-write",
                     "test");
    } catch (const std::exception& e) {
      error = e.what();
    }
  });
  EXPECT_TRUE(test::Await([&] { return sessions() > before + 1; })) << "it was refused";
  Sql("SET default_transaction_read_only = off; ALTER DATABASE " + database +
      " RESET default_transaction_read_only");
  const auto began = std::chrono::steady_clock::now();
  waits.join();
  EXPECT_EQ(error, "");
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(30));
}

TEST_F(ConnectionPgTest, WhenNoServerTakesASessionTheFirstSaysWhy) {
  const FrozenServer frozen;
  const auto [host, port] = HostAndPort();
  const auto why = [&](const std::string& servers) -> std::string {
    try {
      db::Connection(conninfo() + " connect_timeout=2 " + servers, "test");
    } catch (const Fatal& e) {
      EXPECT_EQ(e.code(), kExitUnavailable);
      return e.what();
    }
    return "a session was taken";
  };
  EXPECT_EQ(why("host=127.0.0.1,127.0.0.1 port=" + frozen.port() + ",1"),
            "no database: connection to server at \"127.0.0.1\", port " + frozen.port() +
                " failed: timeout expired");
  EXPECT_EQ(
      why("host=127.0.0.1,127.0.0.1 port=1," + frozen.port()),
      "no database: connection to server at \"127.0.0.1\", port 1 failed: Connection refused");
  const auto reads =
      why("host=" + host + "," + host + " port=" + port + "," + port +
          " options='-c default_transaction_read_only=on' target_session_attrs=read-write");
  EXPECT_NE(reads.find("session is read-only"), std::string::npos) << reads;
}

// As an administrator sets them for a role, a database or a whole server.
TEST_F(ConnectionPgTest, SettingsOfTheSiteThatWouldStopTheGridAreNotThoseOfItsSessions) {
  const std::string site =
      " options='-c default_transaction_isolation=serializable -c idle_session_timeout=1s"
      " -c DateStyle=SQL,DMY -c extra_float_digits=-3 -c array_nulls=off"
      " -c standard_conforming_strings=off' client_encoding=LATIN1";
  if (pqxx::connection(conninfo()).server_version() < 140000) GTEST_SKIP() << "no such limit";
  db::Connection writes(conninfo() + site, "test");
  db::Connection reads(conninfo() + site, "test", std::chrono::seconds(60), 0,
                       db::SessionKind::kReads);
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  const db::Query<SettingsRow> settings{
      "Settings",
      "SELECT current_setting('transaction_isolation') || ' ' || '2026-12-24 18:00'::timestamp || "
      "' ' || 1893456000.123456::double precision || ' \\n ' || length('é')"};
  const std::string same = " 2026-12-24 18:00:00 1893456000.123456 \\n 1";
  EXPECT_EQ(db::Tx(writes).One(settings).text, "read committed" + same);
  db::Tx snapshot(reads, db::Tx::Snapshot{});
  EXPECT_EQ(snapshot.One(settings).text, "repeatable read" + same);
  const db::Query<NumberRow> nulls{
      "Nulls", "SELECT count(*) AS n FROM unnest($1::int[]) AS a (value) WHERE value IS NULL"};
  EXPECT_EQ(db::Tx(writes).One(nulls, std::vector<std::optional<std::int64_t>>{1, std::nullopt}).n,
            1);
}

TEST_F(ConnectionPgTest, ASessionWithoutALimitWaits) {
  db::Connection connection(conninfo(), "test", std::chrono::milliseconds(0));
  db::Tx tx(connection);
  EXPECT_NO_THROW(tx.Raw("SELECT pg_sleep(0.3)"));
}

TEST_F(ConnectionPgTest, AServerThatOnlyReadsIsNoDatabase) {
  try {
    db::Connection(conninfo() + " options='-c default_transaction_read_only=on'", "test");
    FAIL() << "it was taken";
  } catch (const Fatal& e) {
    EXPECT_EQ(e.code(), kExitUnavailable);
    EXPECT_NE(std::string(e.what()).find("standby"), std::string::npos) << e.what();
    EXPECT_NE(e.hint().find("DATABASE_HOST"), std::string::npos) << e.hint();
  }
}

TEST(ConninfoTest, WhatAStringLeavesOpenIsSetAndWhatItSaysStays) {
  const auto one = db::WithConnectionDefaults("host=db1 connect_timeout=9 password='a\\'b c'");
  EXPECT_NE(one.find("connect_timeout='9'"), std::string::npos) << one;
  EXPECT_NE(one.find("tcp_user_timeout='10000'"), std::string::npos) << one;
  EXPECT_NE(one.find("password='a\\'b c'"), std::string::npos) << one;
  EXPECT_EQ(one.find("target_session_attrs"), std::string::npos) << one;
  for (const char* several : {"host=db1,db2", "postgresql://db1:5432,db2:5433/cigri"}) {
    const auto all = db::WithConnectionDefaults(several);
    EXPECT_NE(all.find("target_session_attrs='read-write'"), std::string::npos) << all;
  }
  EXPECT_NE(db::WithConnectionDefaults("host=a,b target_session_attrs=any").find("'any'"),
            std::string::npos);
  EXPECT_EQ(db::WithConnectionDefaults("no such = thing ="), "no such = thing =");
}

}  // namespace
}  // namespace cigri
