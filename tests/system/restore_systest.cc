// A grid whose database is restored to an older state, while its clusters went on: what they ran
// since the backup runs no second time, by the jobs' own record.
#include "core/text.h"
#include "db/db.h"
#include "db/native.h"
#include "tests/system/grid.h"

namespace cigri::test {
namespace {

class RestoreTest : public ::testing::Test {
 protected:
  void SetUp() override { grid.Up(); }
  void TearDown() override {
    if (HasFailure()) std::fprintf(stderr, "%s\n", grid.Log().c_str());
    grid.Down();
  }
  bool AwaitLines(std::size_t n) {
    return Await([&] { return grid.Lines("out").size() >= n; }, Seconds(60));
  }
  void ExpectChecked() {
    Result check;
    EXPECT_TRUE(Await(
        [&] {
          return (check = grid.Run({"gridadmin", "check"})).code == 0;
        },
        Seconds(20)))
        << check.out << check.err;
  }

  // Tasks whose job began when the grid was taking it back from a queue: it may have done its work.
  std::multiset<std::string> RecalledTooLate() {
    db::Connection connection(std::string(Trim(Slurp(grid.home() + "/conninfo"))), "operator");
    db::Tx tx(connection);
    std::multiset<std::string> tasks;
    for (const auto& row : db::Native(tx).exec("SELECT idx FROM done WHERE exit_class = 'our_kill' "
                                               "AND started_at IS NOT NULL"))
      tasks.insert(row[0].c_str());
    return tasks;
  }

  Grid grid{"alpha=2,beta=2"};
};

TEST_F(RestoreTest, WhatRanSinceTheBackupRunsOnceAndCounts) {
  // Each seventh task asks to be run again the first time: retries are sent in sets, not in ranges.
  grid.Script("job",
              "#!/bin/sh\nsleep 0.1\n"
              "[ $(($1 % 7)) != 3 ] || [ -e tried.$1 ] || { touch tried.$1; exit 66; }\n"
              "echo $1 >> out\n");
  const int n = 400;
  const int id = grid.Submit(Jdl(grid, "restored", "./job", {{"nb_jobs", n}}));
  ASSERT_TRUE(AwaitLines(50));
  const std::string file = grid.work() + "/state.dump";
  grid.Ok({"cigri", "backup", file});
  const auto at_backup = grid.Lines("out").size();
  ASSERT_TRUE(AwaitLines(at_backup + 100));
  grid.Script("other", "#!/bin/sh\ntrue\n");
  const int lost = grid.Submit(Jdl(grid, "lost", "./other", {{"nb_jobs", 4}}));
  grid.Ok({"cigri", "down", "--keep-jobs"});
  grid.Ok({"cigri", "restore", file});
  grid.Up();
  ASSERT_TRUE(grid.AwaitOver(id, Seconds(120))) << grid.Progress(id);
  EXPECT_EQ(grid.Progress(id).value("done", 0), n) << grid.Progress(id);
  std::map<std::string, int> times;
  for (const auto& task : grid.Lines("out")) ++times[task];
  const auto recalled = RecalledTooLate();
  for (const auto& task : Indexes(n)) {
    EXPECT_GE(times[task], 1) << "task " << task;
    EXPECT_LE(times[task], 1 + static_cast<int>(recalled.count(task))) << "task " << task;
  }
  ExpectChecked();
  EXPECT_GT(grid.Submit(Jdl(grid, "new", "./other", {{"nb_jobs", 1}})), lost)
      << "the number of a campaign that was lost is not given out again";
}

TEST_F(RestoreTest, OnlyAGridThatIsDownIsRestoredAndOnlyFromABackup) {
  const std::string file = grid.work() + "/state.dump";
  grid.Ok({"cigri", "backup", file});
  const auto up = grid.Run({"cigri", "restore", file});
  EXPECT_NE(up.code, 0);
  EXPECT_NE(up.err.find("cigri down --keep-jobs"), std::string::npos) << up.err;
  grid.Ok({"cigri", "down", "--keep-jobs"});
  grid.Script("other.dump", "not a backup");
  EXPECT_NE(grid.Run({"cigri", "restore", grid.work() + "/other.dump"}).code, 0);
  grid.Up();
}

TEST_F(RestoreTest, AnUpgradeKeepsCampaignsAndJobs) {
  grid.Script("job", "#!/bin/sh\nsleep 0.2\necho $1 >> out\n");
  const int id = grid.Submit(Jdl(grid, "upgraded", "./job", {{"nb_jobs", 60}}));
  ASSERT_TRUE(AwaitLines(5));
  const auto database = Slurp(grid.home() + "/grid.json");
  const auto said = grid.Ok({"cigri", "upgrade"});
  EXPECT_EQ(Slurp(grid.home() + "/grid.json"), database) << "it took another database for its own";
  EXPECT_NE(said.find("backup: " + grid.home() + "/backup/"), std::string::npos) << said;
  ASSERT_TRUE(grid.AwaitOver(id)) << grid.Progress(id);
  EXPECT_EQ(grid.SortedLines("out"), Indexes(60));
}

// A schema that has no migration yet is older than these programs, and its first one cannot pass
// here: what was there is kept in a backup before that.
TEST_F(RestoreTest, AnOlderSchemaIsBackedUpBeforeItIsChanged) {
  grid.Ok(
      {"/bin/sh", "-c",
       "psql -qd \"$(cat '" + grid.home() + "/conninfo')\" -c 'DELETE FROM schema_migrations'"});
  const auto result = grid.Run({"cigri", "upgrade"});
  EXPECT_NE(result.code, 0);
  EXPECT_NE(result.out.find("backup: " + grid.home() + "/backup/"), std::string::npos)
      << result.out << result.err;
}

}  // namespace
}  // namespace cigri::test
