#include <sql/grid.h>
#include <sys/stat.h>

#include "http/client.h"
#include "tests/almighty/fixture.h"

namespace cigri {
namespace {

using test::Alive;
using test::Await;
using test::Running;

class AlmightyPgTest : public test::PgTest {
 protected:
  void SetUp() override {
    PgTest::SetUp();
    setenv("CIGRI_DB", conninfo().c_str(), 1);
    setenv("CIGRI_HOME", bin.dir().c_str(), 1);
    Sql("CREATE TABLE fake_passes (id serial, name text, pid int, step bigint, epoch "
        "bigint);CREATE TABLE fake_orders (name text, what text)");
  }
  void TearDown() override {
    PgTest::TearDown();
    unsetenv("CIGRI_DB");
    unsetenv("CIGRI_HOME");
    unsetenv("CIGRICONFFILE");
  }
  void Configure(const std::string& text) {
    std::ofstream(bin.dir() + "/cigri.conf") << text;
    setenv("CIGRICONFFILE", (bin.dir() + "/cigri.conf").c_str(), 1);
  }

  Running Almighty() { return Running({bin.dir() + "/almighty", "--bin-dir", bin.dir()}); }
  std::int64_t Number(const std::string& sql) { return Sql(sql)[0][0].as<std::int64_t>(); }
  std::int64_t Passes(const std::string& name) {
    return Number("SELECT count(*) FROM fake_passes WHERE name = '" + name + "'");
  }
  // The modules of the leader of `epoch`, and a runner.
  bool AllHavePassed(std::int64_t epoch) {
    return Number("SELECT count(DISTINCT name) FROM fake_passes WHERE name = 'runner' OR epoch = " +
                  std::to_string(epoch)) == 6;
  }
  pid_t PidOf(const std::string& name) {
    const auto rows =
        Sql("SELECT pid FROM fake_passes WHERE name = '" + name + "' ORDER BY id DESC LIMIT 1");
    return rows.empty() ? 0 : rows[0][0].as<pid_t>();
  }
  std::int64_t Restarts(const std::string& name) {
    return Number(
        "SELECT coalesce(sum(count), 0) FROM events WHERE code = 'MODULE_RESTARTED' AND "
        "fingerprint = '" +
        name + "'");
  }
  void EndTheLeadersSession() {
    Sql("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND classid = "
        "(hashtext('cigri almighty')::bigint & 4294967295)::oid AND objid = "
        "(hashtext(current_schema())::bigint & 4294967295)::oid");
  }
  void Order(const std::string& name, const std::string& what) {
    Sql("INSERT INTO fake_orders VALUES ('" + name + "', '" + what + "'); NOTIFY cigri_wake");
  }

  test::BinFolder bin{{"almighty"}};
};

TEST_F(AlmightyPgTest, ANoticeStartsACycleInWhichTheModulesPassInOrder) {
  auto almighty = Almighty();
  ASSERT_TRUE(Await([&] { return AllHavePassed(1); }));
  const std::string newest =
      "(SELECT * FROM fake_passes WHERE name <> 'runner' AND step = (SELECT max(step) FROM "
      "fake_passes WHERE name <> 'runner')) AS newest";
  const auto before = Number("SELECT max(step) FROM " + newest);
  const auto runner = Passes("runner");
  Sql("NOTIFY cigri_wake");
  // One that was busy when its step came passes twice in the next cycle.
  ASSERT_TRUE(Await([&] {
    return Number("SELECT count(DISTINCT name) FROM " + newest + " WHERE step > " +
                  std::to_string(before)) == 5;
  }));
  EXPECT_TRUE(Await([&] { return Passes("runner") > runner; })) << "after the plan";
  std::vector<std::string> order;
  for (const auto& row :
       Sql("SELECT name FROM " + newest + " WHERE name NOT IN ('nikita', 'notifier') ORDER BY id"))
    order.push_back(row[0].c_str());
  EXPECT_EQ(order, (std::vector<std::string>{"updator", "predictor", "metascheduler"}));
}

TEST_F(AlmightyPgTest, AKilledModuleIsBackAndAnEventSaysSo) {
  auto almighty = Almighty();
  ASSERT_TRUE(Await([&] { return AllHavePassed(1); }));
  for (const char* name : {"runner", "updator", "nikita", "metascheduler", "predictor"}) {
    const pid_t old = PidOf(name);
    kill(old, SIGKILL);
    EXPECT_TRUE(Await([&] { return PidOf(name) != old; })) << name;
    EXPECT_TRUE(Await([&] { return Restarts(name) == 1; })) << name;
  }
}

// It held up its grid until somebody looked: the one that sends nothing, the one that plans
// nothing.
TEST_F(AlmightyPgTest, AStoppedModuleIsReplaced) {
  auto almighty = Almighty();
  ASSERT_TRUE(Await([&] { return AllHavePassed(1); }));
  const pid_t runner = PidOf("runner");
  kill(runner, SIGSTOP);
  EXPECT_TRUE(Await([&] { return PidOf("runner") != runner && Restarts("runner") == 1; }));
  for (const char* name : {"nikita", "metascheduler"}) {
    const pid_t old = PidOf(name);
    kill(old, SIGSTOP);
    EXPECT_TRUE(Await([&] { return PidOf(name) != old; })) << name;
    EXPECT_EQ(Number(std::string("SELECT count(*) FROM events WHERE code = 'MODULE_STUCK' AND "
                                 "message LIKE '%SIGSTOP%' AND fingerprint = '") +
                     name + "'"),
              1);
  }
}

// Programs that were replaced under a running grid ended again and again, and only the log knew
// why.
TEST_F(AlmightyPgTest, WhatKeepsAModuleFromRunningIsKnownUntilItMakesAPass) {
  auto almighty = Almighty();
  ASSERT_TRUE(Await([&] { return AllHavePassed(1); }));
  const std::string newest = " WHERE number = " + std::to_string(db::SchemaVersion());
  Sql("UPDATE schema_migrations SET number = 0" + newest);
  for (const char* name : {"updator", "predictor", "metascheduler", "nikita", "notifier"}) {
    kill(PidOf(name), SIGKILL);
    EXPECT_TRUE(Await([&] {
      return Number(std::string("SELECT count(*) FROM ended_modules WHERE name = '") + name +
                    "' AND why LIKE 'the database has schema version%; run `cigri upgrade`'") == 1;
    })) << name;
  }
  Sql("UPDATE schema_migrations SET number = " + std::to_string(db::SchemaVersion()) +
      " WHERE number = 0");
  EXPECT_TRUE(Await([&] { return Number("SELECT count(*) FROM ended_modules") == 0; }));
}

TEST_F(AlmightyPgTest, AModuleThatCannotBeStartedIsKnownToo) {
  auto almighty = Almighty();
  ASSERT_TRUE(Await([&] { return AllHavePassed(1); }));
  const std::string program = bin.dir() + "/nikita";
  std::filesystem::rename(program, program + ".away");
  kill(PidOf("nikita"), SIGKILL);
  EXPECT_TRUE(Await([&] {
    return Number(
               "SELECT count(*) FROM ended_modules WHERE name = 'nikita' AND why LIKE "
               "'%No such file%'") == 1;
  }));
  std::filesystem::rename(program + ".away", program);
  EXPECT_TRUE(Await([&] { return Number("SELECT count(*) FROM ended_modules") == 0; }));
}

TEST_F(AlmightyPgTest, AModuleThatCrashesOrThrowsInItsPassHoldsUpNobody) {
  auto almighty = Almighty();
  ASSERT_TRUE(Await([&] { return AllHavePassed(1); }));
  const pid_t predictor = PidOf("predictor"), updator = PidOf("updator");
  Order("predictor", "crash");
  ASSERT_TRUE(Await([&] { return PidOf("predictor") != predictor; }));
  const auto before = Passes("runner");
  Order("updator", "throw");
  ASSERT_TRUE(Await([&] { return Passes("runner") > before; }));
  ASSERT_TRUE(Await([&] { return Number("SELECT count(*) FROM fake_orders") == 0; }));
  const auto passes = Passes("updator");
  Sql("NOTIFY cigri_wake");
  ASSERT_TRUE(Await([&] { return Passes("updator") > passes; }));
  EXPECT_EQ(PidOf("updator"), updator) << "an exception ends a pass, not a module";
}

TEST_F(AlmightyPgTest, AModuleThatHangsIsLeftBehindAfterItsBudget) {
  auto almighty = Almighty();
  ASSERT_TRUE(Await([&] { return AllHavePassed(1); }));
  const auto hung = Passes("predictor");
  Order("predictor", "hang");
  ASSERT_TRUE(Await([&] { return Passes("predictor") > hung; }));
  const auto before = Passes("metascheduler");
  EXPECT_TRUE(Await([&] {
    Sql("NOTIFY cigri_wake");
    return Passes("metascheduler") > before + 2;
  }));
}

TEST_F(AlmightyPgTest, TheChildrenOfAKilledAlmightyEndAndTheOneThatWaitedLeadsInANewEpoch) {
  auto first = Almighty();
  ASSERT_TRUE(Await([&] { return AllHavePassed(1); }));
  auto second = Almighty();
  std::vector<pid_t> children;
  for (const char* name : {"updator", "predictor", "metascheduler", "runner", "nikita", "notifier"})
    children.push_back(PidOf(name));
  first.Kill(SIGKILL);
  ASSERT_TRUE(Await([&] { return AllHavePassed(2); }));
  for (const pid_t child : children) EXPECT_TRUE(Await([&] { return !Alive(child); })) << child;
  EXPECT_EQ(Number("SELECT epoch FROM grid"), 2);
  EXPECT_NE(
      Sql("SELECT leader FROM grid")[0][0].as<std::string>().find(std::to_string(second.pid())),
      std::string::npos);
}

TEST_F(AlmightyPgTest, TwoAlmightiesNeverLeadAtOnce) {
  auto first = Almighty(), second = Almighty(), third = Almighty();
  ASSERT_TRUE(Await([&] { return Number("SELECT epoch FROM grid") >= 1 && AllHavePassed(1); }));
  Sql("NOTIFY cigri_wake");
  const auto before = Passes("updator");
  ASSERT_TRUE(Await([&] {
    Sql("NOTIFY cigri_wake");
    return Passes("updator") > before + 20;
  }));
  EXPECT_EQ(Number("SELECT epoch FROM grid"), 1);
  EXPECT_EQ(Number("SELECT count(DISTINCT pid) FROM fake_passes WHERE name = 'updator'"), 1);
}

TEST_F(AlmightyPgTest, WhoseSessionIsLostStopsItsModulesAndStandsForElectionAgain) {
  auto almighty = Almighty();
  ASSERT_TRUE(Await([&] { return AllHavePassed(1); }));
  const pid_t nikita = PidOf("nikita");
  EndTheLeadersSession();
  ASSERT_TRUE(Await([&] { return AllHavePassed(2); }));
  EXPECT_TRUE(Await([&] { return !Alive(nikita); }));
}

TEST_F(AlmightyPgTest, AnAlmightyThatSeesAnotherEpochStopsLeading) {
  Configure("SAFETY_TICK = 0.2\n");
  // A grid at rest looks only twice a minute.
  Sql("INSERT INTO campaigns (grid_user, name, nb_params, first_task_id, jdl) "
      "VALUES ('alice', 'busy', 1, 1, '{}')");
  auto almighty = Almighty();
  ASSERT_TRUE(Await([&] { return AllHavePassed(1); }));
  Sql("UPDATE grid SET epoch = 41");
  EXPECT_TRUE(Await([&] { return AllHavePassed(42); }));
  EXPECT_EQ(Number("SELECT count(*) FROM fake_passes WHERE epoch = 41"), 0);
}

// TECH-03, reference/high-availability: a leader that stands still must not lead for ever.
TEST_F(AlmightyPgTest, ALeaderThatStandsStillIsReplacedAndDoesNotLeadWhenItGoesOn) {
  Configure("LEADER_TERM = 1\n");
  auto first = Almighty();
  ASSERT_TRUE(Await([&] { return AllHavePassed(1); }));
  const pid_t nikita = PidOf("nikita");
  auto second = Almighty();
  kill(first.pid(), SIGSTOP);
  ASSERT_TRUE(Await([&] { return AllHavePassed(2); }));
  EXPECT_NE(
      Sql("SELECT leader FROM grid")[0][0].as<std::string>().find(std::to_string(second.pid())),
      std::string::npos);
  kill(first.pid(), SIGCONT);
  EXPECT_TRUE(Await([&] { return !Alive(nikita); })) << "it ends what it has started";
  EXPECT_EQ(Number("SELECT epoch FROM grid"), 2);
  EXPECT_EQ(Number("SELECT count(*) FROM fake_passes WHERE epoch = 1 AND name <> 'runner' AND id > "
                   "(SELECT min(id) FROM fake_passes WHERE epoch = 2)"),
            0);
}

TEST_F(AlmightyPgTest, ATransactionOfAStandingModuleDoesNotKeepTheNextLeaderOut) {
  Configure("LEADER_TERM = 1\n");
  auto first = Almighty();
  ASSERT_TRUE(Await([&] { return AllHavePassed(1); }));
  db::Connection module(conninfo(), "cigri runner");
  db::Tx tx(module);
  tx.Exec(sql::kHoldEpoch, std::int64_t{1});
  first.Kill(SIGKILL);
  auto second = Almighty();
  EXPECT_TRUE(Await([&] { return AllHavePassed(2); }));
  EXPECT_THROW(tx.Commit(), db::Error) << "what it claimed under the old epoch is gone";
}

TEST_F(AlmightyPgTest, ALeaderThatRenewsIsNotReplaced) {
  Configure("LEADER_TERM = 1\n");
  auto first = Almighty(), second = Almighty();
  ASSERT_TRUE(Await([&] { return AllHavePassed(1); }));
  const auto lease = [&] {
    return Number("SELECT (extract(epoch FROM ends_at) * 1000)::bigint FROM leader_lease");
  };
  const auto begun = lease();
  ASSERT_TRUE(Await([&] { return lease() > begun + 3000; })) << "three terms long";
  EXPECT_EQ(Number("SELECT epoch FROM grid"), 1);
}

// high-availability 4, 5: nobody's jobs and tools wait for an election.
TEST_F(AlmightyPgTest, TheServicesOutliveTheLead) {
  auto almighty = Almighty();
  ASSERT_TRUE(Await([&] { return AllHavePassed(1); }));
  const auto healthy = [&] {
    return http::Client(http::Endpoint::Parse("unix:" + bin.dir() + "/run/api.sock"), {})
        .Get("/health")
        .ok();
  };
  ASSERT_TRUE(Await(healthy));
  struct stat before {
  }, after{};
  ASSERT_EQ(stat((bin.dir() + "/run/api.sock").c_str(), &before), 0);
  const pid_t runner = PidOf("runner");
  EndTheLeadersSession();
  ASSERT_TRUE(Await([&] { return AllHavePassed(2); }));
  EXPECT_TRUE(Await([&] {
    return Number(
               "SELECT count(*) FROM fake_passes WHERE name = 'runner' AND id > (SELECT min(id) "
               "FROM fake_passes WHERE name = 'metascheduler' AND epoch = 2)") > 0;
  })) << "the next leader's plan wakes it";
  EXPECT_EQ(PidOf("runner"), runner);
  EXPECT_TRUE(healthy());
  ASSERT_EQ(stat((bin.dir() + "/run/api.sock").c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino) << "the same listener";
}

TEST_F(AlmightyPgTest, WhoeverOfAHomeIsLeftKeepsItsServices) {
  auto first = Almighty();
  ASSERT_TRUE(Await([&] { return AllHavePassed(1); }));
  auto second = Almighty();
  const auto healthy = [&] {
    return http::Client(http::Endpoint::Parse("unix:" + bin.dir() + "/run/api.sock"), {})
        .Get("/health")
        .ok();
  };
  ASSERT_TRUE(Await(healthy));
  first.Kill(SIGKILL);
  EXPECT_TRUE(Await([&] { return AllHavePassed(2) && healthy(); }));
}

// Each host has a runner, which serves its share of the clusters whoever leads.
TEST_F(AlmightyPgTest, TheRunnerOfAHostGoesOnWhenItsAlmightyBeginsToLead) {
  auto first = Almighty();
  ASSERT_TRUE(Await([&] { return AllHavePassed(1); }));
  const pid_t of_leader = PidOf("runner");
  std::filesystem::create_directories(bin.dir() + "/other/run");
  setenv("CIGRI_HOME", (bin.dir() + "/other").c_str(), 1);
  auto second = Almighty();
  setenv("CIGRI_HOME", bin.dir().c_str(), 1);
  const auto others = [&] {
    return Sql("SELECT DISTINCT pid FROM fake_passes WHERE name = 'runner' AND pid <> " +
               std::to_string(of_leader));
  };
  ASSERT_TRUE(Await([&] { return others().size() == 1; }));
  kill(others()[0][0].as<pid_t>(), SIGKILL);
  ASSERT_TRUE(Await([&] { return others().size() == 2; })) << "it restarts it";
  pid_t runner = 0;
  for (const auto& row : others())
    if (Alive(row[0].as<pid_t>())) runner = row[0].as<pid_t>();
  first.Kill(SIGKILL);
  ASSERT_TRUE(Await([&] { return AllHavePassed(2); }));
  EXPECT_TRUE(Await([&] { return !Alive(of_leader); }));
  EXPECT_TRUE(Alive(runner));
  EXPECT_EQ(others().size(), 2u);
}

// The next plan was sent half a minute later: what comes during a statement wakes no poll().
TEST_F(AlmightyPgTest, AModuleAloneMissesNoNoticeOfItsPass) {
  Running runner({bin.dir() + "/runner", "--loop"});
  ASSERT_TRUE(Await([&] { return Passes("runner") == 1; }));
  const auto blocker = Connect();
  db::Tx lock(*blocker);
  lock.Raw("LOCK TABLE fake_passes IN SHARE MODE");
  Sql("NOTIFY cigri_grants");
  ASSERT_TRUE(Await([&] {
    return Number(
               "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = "
               "'fake_passes'::regclass") == 1;
  }));
  Sql("NOTIFY cigri_grants");
  lock.Commit();
  EXPECT_TRUE(Await([&] { return Passes("runner") == 3; }, std::chrono::seconds(15)));
}

TEST_F(AlmightyPgTest, WithoutAnyNoticeTheSafetyTickStartsCycles) {  // TECH-04
  Configure("SAFETY_TICK = 0.2\n");
  Sql("INSERT INTO campaigns (grid_user, name, nb_params, first_task_id, jdl) "
      "VALUES ('alice', 'busy', 1, 1, '{}')");
  auto almighty = Almighty();
  ASSERT_TRUE(Await([&] { return AllHavePassed(1); }));
  const auto before = Passes("metascheduler");
  EXPECT_TRUE(Await([&] { return Passes("metascheduler") >= before + 10; }));
}

TEST_F(AlmightyPgTest, AskedToEndItEndsItsChildrenFirst) {
  auto almighty = Almighty();
  ASSERT_TRUE(Await([&] { return AllHavePassed(1); }));
  const pid_t runner = PidOf("runner");
  EXPECT_EQ(almighty.Kill(SIGTERM), 0);
  EXPECT_FALSE(Alive(runner));
}

TEST_F(AlmightyPgTest, RandomKillsOfAnyChildLeaveAllModulesPassing) {
  auto almighty = Almighty();
  ASSERT_TRUE(Await([&] { return AllHavePassed(1); }));
  const char* names[] = {"updator", "predictor", "metascheduler", "runner", "nikita", "notifier"};
  for (int i = 0; i < 25; ++i) {
    const pid_t victim = PidOf(names[i * 7 % 6]);
    kill(victim, SIGKILL);
    ASSERT_TRUE(Await([&] { return PidOf(names[i * 7 % 6]) != victim; })) << i;
  }
  const auto last = Number("SELECT max(id) FROM fake_passes");
  Sql("NOTIFY cigri_wake");
  EXPECT_TRUE(Await([&] {
    return Number("SELECT count(DISTINCT name) FROM fake_passes WHERE id > " +
                  std::to_string(last)) == 6;
  }));
  EXPECT_EQ(Number("SELECT epoch FROM grid"), 1);
}

}  // namespace
}  // namespace cigri
