// What real schedulers do wrong, under a whole grid.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "core/text.h"
#include "tests/realgrid/five_clusters.h"

namespace cigri::test {
namespace {

class RealErrorsTest : public FiveClusters {};

// Slurm without accounting and with MinJobAge 5: only the jobs' own records tell how they ended.
TEST_F(RealErrorsTest, AGridThatWasDownLongerThanSlurmRemembersRunsNothingTwice) {
  const int id =
      Submit("forgotten", 10, "while [ ! -e go ]; do sleep 1; done; [ $1 != 7 ] || exit 9",
             {{"max_tries", 1}}, {"slurm2"});
  ASSERT_TRUE(Await([&] { return grid().Progress(id).value("running", 0) == 10; }, Seconds(180)))
      << grid().Progress(id);
  const auto grid_id = Rows("SELECT grid_id FROM grid")[0][0];
  grid().Ok({"cigri", "down", "--keep-jobs"});
  grid().Script("go", "");
  const auto squeue = AtSlurm(2, "scontrol -o show jobs | grep -c Name=cigri." +
                                     std::to_string(id) + "." + grid_id + ". || true");
  ASSERT_TRUE(Await([&] { return std::string(Trim(Shell(squeue))) == "0"; }, Seconds(180)));
  EXPECT_EQ(Written("forgotten"), 9);
  grid().Up();
  ASSERT_TRUE(grid().AwaitOver(id, Seconds(240))) << grid().Progress(id);
  EXPECT_EQ(grid().Progress(id).value("done", 0), 9) << grid().Progress(id);
  EXPECT_EQ(grid().Progress(id).value("failed", 0), 1) << grid().Progress(id);
  auto indexes = Indexes(10);
  std::erase(indexes, "7");
  EXPECT_EQ(grid().SortedLines("forgotten.out"), indexes);
  EXPECT_EQ(
      Number("SELECT wait_status FROM done WHERE idx = 7 AND campaign_id = " + std::to_string(id)),
      9 << 8);
  ExpectConservation();
}

// slurmctld saves its state late: killed, it has forgotten what it had accepted, and gives the same
// ids to the next. It then drains the nodes where the jobs it has forgotten still are.
TEST_F(RealErrorsTest, AControllerThatCrashesAndGivesItsIdsOutAgainLosesAndDoublesNothing) {
  const int n = Sized(300, 100);
  const int id = Submit("crash", n, "", {}, {"slurm2"});
  ASSERT_TRUE(Await([&] { return Written("crash") > n / 10; }, Seconds(180)))
      << grid().Progress(id);
  for (int cycle = 0; cycle < 2; ++cycle) {
    const int then = Written("crash");
    RunScript("slurm-down", "--kill --only slurmctld " + SlurmName(2));
    StartSlurm();
    // Others come first, and get the ids that were ours.
    Shell(AtSlurm(2,
                  "for i in 1 2 3 4 5; do runuser -u grid -- sbatch -p normal -D /tmp -o /dev/null "
                  "--wrap true; done"));
    ASSERT_TRUE(Await(
        [&] {
          // As their operator does: what Slurm has drained and held over its own confusion.
          Shell(AtSlurm(2,
                        "sinfo -hN -t drain -o %N | sort -u | xargs -rI@ scontrol update "
                        "nodename=@ state=resume; squeue -h -n wrap -t PD -o %A | xargs -r "
                        "scancel"));
          return Written("crash") > std::min(n - 1, then + n / 10);
        },
        Seconds(240)))
        << grid().Progress(id);
  }
  ExpectEachOnce(id, "crash", n, Seconds(400));
  ExpectConservation();
}

// "500 ... Job is killed." It is not: it runs when the scheduler is back.
TEST_F(RealErrorsTest, WhatOarAcceptsWhileItsServerIsDownIsAdoptedAndRunsOnce) {
  RunScript("oar-down", "", "OAR_DOWN_ONLY=server");
  const int id = Submit("killed", 6, "", {}, {"oar1"});
  EXPECT_TRUE(Await(
      [&] {
        return Number(
                   "SELECT count(*) FROM batches WHERE doubtful_since IS NOT NULL AND campaign_id "
                   "= " +
                   std::to_string(id)) > 0;
      },
      Seconds(90)))
      << grid().Progress(id);
  RunScript("oar-up");
  ExpectEachOnce(id, "killed", 6, Seconds(240));
  ExpectConservation();
}

class RealMemoryTest : public ::testing::Test {};

// Slurm looks once a second, and kills what uses more than it asked for.
TEST_F(RealMemoryTest, ATaskThatSlurmKillsForItsMemoryIsRetriedWithMore) {
  if (!Allowed()) GTEST_SKIP() << "needs CIGRI_REAL=1 and root: it starts Slurm";
  Grid grid("here=1");
  const bool newest = std::getenv("CIGRI_REAL_SLURM_API") != nullptr;
  RunScript("slurm-down", "--wipe slurm1");  // it may be of another release
  const auto up = grid.Run(
      {"/usr/bin/env", std::string("SLURM_UP_RELEASE=") + (newest ? "trixie" : ""),
       "SLURM_UP_EXTRA=SelectTypeParameters=CR_CPU_Memory\nJobAcctGatherType=jobacct_gather/linux\n"
       "JobAcctGatherFrequency=task=1\nJobAcctGatherParams=OverMemoryKill",
       "cigri", "up", "--embedded", "--slots", "here=1", "--with", "slurm"},
      "", Seconds(300));
  ASSERT_EQ(up.code, 0) << up.out << up.err;
  std::filesystem::permissions(grid.work(), std::filesystem::perms(0777));
  const auto script = grid.Script(
      "eat", "#!/bin/sh\numask 0; cd " + grid.work() +
                 "; echo $1 >> started\n"
                 "perl -e '$x = \"a\" x ($ARGV[0] << 20); sleep 6' $1 && echo $1 >> ended\n");
  const int id = grid.Submit(json{{"name", "eat"},
                                  {"exec_file", script},
                                  {"mem", "auto:100M"},
                                  {"walltime", "10m"},
                                  {"params", {"20", "200"}},
                                  {"clusters", {{"slurm1", json::object()}}}});
  EXPECT_TRUE(grid.AwaitOver(id, Seconds(200))) << grid.Progress(id);
  EXPECT_EQ(grid.SortedLines("ended"), (Arguments{"20", "200"})) << grid.Progress(id);
  const auto started = grid.SortedLines("started");
  EXPECT_EQ(std::count(started.begin(), started.end(), "20"), 1);
  EXPECT_GT(std::count(started.begin(), started.end(), "200"), 1) << "Slurm let it pass";
  grid.Down();
}

class WithTest : public ::testing::Test {};

TEST_F(WithTest, CigriUpStartsRealClustersAndCigriDownStopsThem) {
  if (!Allowed()) GTEST_SKIP() << "needs CIGRI_REAL=1 and root: it starts OAR and Slurm";
  Grid grid("here=1");
  const auto up = grid.Run(
      {"cigri", "up", "--embedded", "--slots", "here=1", "--with", "oar,slurm"}, "", Seconds(300));
  ASSERT_EQ(up.code, 0) << up.out << up.err;
  std::filesystem::permissions(grid.work(), std::filesystem::perms(0777));
  for (const std::string name : {"oar", "slurm"}) {
    std::string cluster;
    for (const auto& item : grid.Get("/clusters").value("items", json::array()))
      if (StartsWith(item.value("name", ""), name)) cluster = item.value("name", "");
    const auto ran =
        grid.Run({"gridsub", "--wait", "--clusters", cluster, "--", "sh", "-c",
                  "umask 0; echo $1 $CIGRI_USER >> " + name, "x", "{}", ":::", "1", "2"},
                 "", Seconds(200));
    EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
    const std::string user = name == "oar" ? "alice" : "grid";
    EXPECT_EQ(grid.SortedLines(name), (Arguments{"1 " + user, "2 " + user}));
  }
  const auto before = Shell("ls /run/cigri-with");
  grid.Down();
  EXPECT_EQ(Shell("ls /run/cigri-with").find("1"), std::string::npos) << "had " << before;
}

TEST_F(WithTest, OthersThanRootAreReportedSoAndNothingIsStarted) {
  if (!Allowed()) GTEST_SKIP() << "needs CIGRI_REAL=1 and root";
  Grid grid("here=1", "nobody");
  const auto up = grid.Run({"cigri", "up", "--embedded", "--with", "oar"});
  EXPECT_EQ(up.code, 77) << up.out << up.err;
  EXPECT_NE(up.err.find("root"), std::string::npos) << up.err;
  EXPECT_TRUE(ProcessesOf(grid.home()).empty());
}

}  // namespace
}  // namespace cigri::test
