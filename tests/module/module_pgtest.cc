#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <fstream>
#include <thread>

#include "core/error.h"
#include "module/module.h"
#include "process/spawn.h"
#include "tests/support/await.h"
#include "tests/support/pg.h"

namespace cigri::module {
namespace {

class ModulePgTest : public test::PgTest {
 protected:
  std::int64_t Number(const std::string& sql) { return Sql(sql)[0][0].as<std::int64_t>(); }
};

TEST_F(ModulePgTest, AnEpochThatLeadsNoMoreIsRefused) {
  Sql("UPDATE grid SET epoch = 7");
  auto db = Connect();
  db::Tx tx(*db);
  EXPECT_NO_THROW(CheckEpoch(tx, 7));
  EXPECT_THROW(CheckEpoch(tx, 6), StaleEpoch);
  EXPECT_THROW(CheckEpoch(tx, 8), StaleEpoch);
}

TEST_F(ModulePgTest, ANewLeaderWaitsForWhoHasCheckedTheEpochAndNobodyPassesAfterIt) {
  auto module = Connect(), leader = Connect();
  auto tx = std::make_unique<db::Tx>(*module);
  CheckEpoch(*tx, 0);
  std::thread election([&] {
    db::Tx raise(*leader);
    raise.Raw("UPDATE grid SET epoch = 1");
    raise.Commit();
  });
  while (Number("SELECT count(*) FROM pg_locks WHERE NOT granted") == 0) std::this_thread::yield();
  EXPECT_EQ(Number("SELECT epoch FROM grid"), 0);
  tx->Commit();
  election.join();
  tx.reset();
  db::Tx late(*module);
  EXPECT_THROW(CheckEpoch(late, 0), StaleEpoch);
}

// It said "exiting" and waited for the time of its next pass, up to 5 s, in which its host had no
// runner.
TEST_F(ModulePgTest, AModuleAloneThatHasToEndEndsAtOnce) {
  process::SpawnOptions options;
  options.environment =
      process::Environment{"CIGRI_DB=" + conninfo(), "CIGRI_EPOCH=99", "LANG=C.UTF-8"};
  options.death_signal = SIGKILL;
  const auto time_of = [&](const std::string& how) {
    const auto began = std::chrono::steady_clock::now();
    const pid_t module =
        process::Spawn({std::string(CIGRI_BIN_DIR) + "/metascheduler", how}, options);
    int status = 0;
    waitpid(module, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), kExitTryLater) << how;
    return std::chrono::steady_clock::now() - began;
  };
  const auto once = time_of("--once");
  EXPECT_LT(time_of("--loop"), once + Options{}.loop_every / 2);
}

// Where many jobs end, passes kept both cores busy, and a reader's session waited for its turn.
TEST_F(ModulePgTest, AModuleAndItsSessionsLetTheApiGoFirst) {
  process::SpawnOptions options;
  options.environment = process::Environment{"CIGRI_DB=" + conninfo(), "LANG=C.UTF-8"};
  options.death_signal = SIGKILL;
  const pid_t module = process::Spawn({std::string(CIGRI_BIN_DIR) + "/nikita", "--loop"}, options);
  EXPECT_TRUE(test::Await(
      [&] { return Number("SELECT count(*) FROM modules WHERE name = 'nikita'") == 1; }));
  const auto nice_of = [](pid_t pid) { return getpriority(PRIO_PROCESS, static_cast<id_t>(pid)); };
  const auto session = static_cast<pid_t>(
      Number("SELECT pid FROM pg_stat_activity WHERE application_name = 'cigri nikita'"));
  EXPECT_EQ(nice_of(module), nice_of(getpid()) + 5);
  EXPECT_EQ(nice_of(session), nice_of(module));
  const auto group = [&] {
    std::ifstream in("/proc/" + std::to_string(session) + "/autogroup");
    std::string line;
    return std::getline(in, line) ? line : "nice " + std::to_string(nice_of(module));
  };
  // Others than root may have to say it again, with the next pass.
  EXPECT_TRUE(test::Await([&] {
    Sql("NOTIFY cigri_wake");
    return group().find("nice " + std::to_string(nice_of(module))) != std::string::npos;
  })) << group();
  EXPECT_EQ(nice_of(Connect()->backend_pid()), nice_of(getpid()));
  kill(module, SIGTERM);
  waitpid(module, nullptr, 0);
}

// It left with 70, "unexpected error", and was started again.
TEST_F(ModulePgTest, AStatementThatAnOperatorEndsWhileAModuleConnectsIsTriedAgain) {
  auto locker = Connect();
  auto lock = std::make_unique<db::Tx>(*locker);
  lock->Raw("LOCK TABLE schema_migrations");
  process::SpawnOptions options;
  options.environment = process::Environment{"CIGRI_DB=" + conninfo(), "LANG=C.UTF-8"};
  options.death_signal = SIGKILL;
  const pid_t module = process::Spawn({std::string(CIGRI_BIN_DIR) + "/nikita", "--loop"}, options);
  // Looks for the schema's version, and has to wait for that.
  const auto cancel = [&] {
    return Number(
               "SELECT count(pg_cancel_backend(a.pid)) FROM pg_stat_activity AS a "
               "JOIN pg_locks AS l ON l.pid = a.pid AND NOT l.granted "
               "WHERE l.relation = 'schema_migrations'::regclass") == 1;
  };
  EXPECT_TRUE(test::Await(cancel));
  EXPECT_TRUE(test::Await(cancel)) << "it does not ask again";
  lock.reset();
  EXPECT_TRUE(test::Await(
      [&] { return Number("SELECT count(*) FROM modules WHERE name = 'nikita'") == 1; }));
  EXPECT_EQ(waitpid(module, nullptr, WNOHANG), 0);
  kill(module, SIGTERM);
  int status = 0;
  waitpid(module, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace cigri::module
