// Clusters and the users next to them: test campaigns, local users, operators, other grids.
#include <unistd.h>

#include <algorithm>

#include "core/text.h"
#include "tests/cluster/recorded_server.h"
#include "tests/system/grid.h"

namespace cigri::test {
namespace {

class ClustersTest : public SystemTest {
 protected:
  static void SetUpTestSuite() { GivenGrid("alpha=1,beta=1"); }
  void TearDown() override {
    grid().Run({"gridadmin", "resume", "all"});
    SystemTest::TearDown();
  }
  /// Both clusters, where jobs append `word`-CLUSTER to "log".
  json Logging(const std::string& word) {
    json clusters;
    for (const std::string name : {"alpha", "beta"})
      clusters[name] = {{"exec_file", "echo " + word + "-" + name + " >> log #"}};
    return {{"clusters", clusters}};
  }
};

// T-22: a test campaign is one job on each cluster, before all others.
TEST_F(ClustersTest, ATestCampaignRunsOneJobOnEachClusterBeforeADefaultOne) {
  grid().Ok({"gridadmin", "drain", "all", "--reason", "a queue is wanted"});
  json jdl = Jdl(grid(), "many", "true", Logging("default"));
  jdl["nb_jobs"] = 20;
  const int many = grid().Submit(jdl);
  jdl.update(Logging("test"));
  const int test = grid().Submit(jdl, {"-t", "test"});
  grid().Ok({"gridadmin", "resume", "all"});
  ASSERT_TRUE(grid().AwaitOver(test));
  ASSERT_TRUE(grid().AwaitOver(many));
  const Arguments log = grid().Lines("log");
  EXPECT_EQ(log.size(), 22u);
  for (const std::string name : {"alpha", "beta"}) {
    EXPECT_EQ(std::count(log.begin(), log.end(), "test-" + name), 1) << name;
    EXPECT_LT(std::find(log.begin(), log.end(), "test-" + name),
              std::find(log.begin(), log.end(), "default-" + name))
        << Join(log, " ");
  }
  EXPECT_EQ(grid().Progress(test).value("done", 0), 2);
}

TEST_F(ClustersTest, ALocalUsersJobTakesTheSlotAndTheTaskIsRetriedUncharged) {
  grid().Script("yield", "#!/bin/sh\necho start >> out\n[ -e free ] || exec sleep 300\n");
  const int id = grid().Submit(
      Jdl(grid(), "yield", "./yield", {{"nb_jobs", 1}, {"clusters", {{"alpha", json::object()}}}}));
  ASSERT_TRUE(Await([&] { return grid().Lines("out").size() == 1; }));
  const auto local = grid().Run({"localsub", "-c", "alpha", "--wait", "--", "touch", "free"});
  EXPECT_EQ(local.code, 0) << local.out << local.err;
  ASSERT_TRUE(grid().AwaitOver(id));
  const json progress = grid().Progress(id);
  EXPECT_EQ(progress.value("done", 0), 1) << progress;
  EXPECT_EQ(progress.value("failed", -1), 0) << progress;
  EXPECT_EQ(progress.value("preempted", 0), 1) << progress;
  EXPECT_EQ(grid().Lines("out").size(), 2u);
}

TEST_F(ClustersTest, ADrainedClusterGetsNothingSaysWhyAndWorksAgainWhenResumed) {
  const auto log = Logging("job");
  json only_alpha = Jdl(grid(), "alpha only", "true", log);
  only_alpha["clusters"].erase("beta");
  only_alpha["nb_jobs"] = 1;
  json both = Jdl(grid(), "both", "true", log);
  both["nb_jobs"] = 12;
  grid().Ok({"gridadmin", "drain", "alpha", "--reason", "new disks"});
  const int waiting = grid().Submit(only_alpha), passing = grid().Submit(both);
  ASSERT_TRUE(grid().AwaitOver(passing));
  EXPECT_EQ(grid().Lines("log"), Arguments(12, "job-beta"));
  const auto seen = grid().Run({"gridstat", "-c", std::to_string(waiting)});
  EXPECT_NE((seen.out + seen.err).find("new disks"), std::string::npos) << seen.out << seen.err;
  const auto why = grid().Ok({"gridstat", "-c", std::to_string(waiting), "--why"});
  EXPECT_NE(why.find("new disks"), std::string::npos) << why;

  grid().Ok({"gridadmin", "resume", "alpha"});
  EXPECT_TRUE(grid().AwaitOver(waiting));
  EXPECT_EQ(grid().Lines("log").back(), "job-alpha");
}

TEST_F(ClustersTest, AnObservedClusterShowsWhatItWouldBeSentAndGetsNothing) {
  grid().Ok({"gridadmin", "cluster", "observe", "alpha"});
  grid().Ok({"gridadmin", "cluster", "limited", "beta", "1"});  // so that tasks are left for alpha
  json jdl = Jdl(grid(), "watch", "true", Logging("job"));
  jdl["nb_jobs"] = 6;
  jdl["clusters"]["beta"]["exec_file"] =
      "while ! [ -e go ]; do sleep 0.05; done; echo job-beta >> log #";
  const int id = grid().Submit(jdl);
  const std::string words = "alpha is only observed: nothing is sent there; would send ";
  std::string why;
  EXPECT_TRUE(Await([&] {
    why = grid().Ok({"gridclusters", "--why", "alpha"});
    return why.find(words) != why.npos &&
           why.find(" of campaign " + std::to_string(id)) != why.npos;
  })) << why;
  const auto full = grid().Ok({"gridclusters", "alpha", "-f"});
  EXPECT_NE(full.find("would_send: "), full.npos) << full;
  EXPECT_EQ(full.find("beta"), full.npos) << full;
  grid().Script("go", "");
  EXPECT_TRUE(grid().AwaitOver(id));
  EXPECT_EQ(grid().Lines("log"), Arguments(6, "job-beta")) << "beta got all of it";
  for (const std::string name : {"alpha", "beta"})
    grid().Ok({"gridadmin", "cluster", "unlimited", name});
}

// Issue 3: whatever one cluster does, it is reported of that one and stops nobody.
TEST_F(ClustersTest, ClustersThatAreAwayOrAnswerNonsenseAreReportedAndStopNobody) {
  const RawServer nonsense(
      "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 21\r\n\r\n<h1>Maintenance</h1>\r\n");
  int away = 0;
  {
    const RawServer gone("");
    away = gone.port();
  }
  const auto add = [&](const std::string& name, const std::string& kind, int port) {
    grid().Ok({"gridadmin", "cluster", "add", name, "--kind", kind, "--url",
               "http://127.0.0.1:" + std::to_string(port) + "/api", "--no-check"});
    grid().Ok({"gridadmin", "cluster", "unlimited", name});
  };
  add("away", "oar2", away);
  add("nonsense", "slurm", nonsense.port());
  json jdl = Jdl(grid(), "all", "true", Logging("job"));
  for (const std::string name : {"away", "nonsense"})
    jdl["clusters"][name] = {{"exec_file", "true"}};
  jdl["nb_jobs"] = 10;
  EXPECT_TRUE(grid().AwaitOver(grid().Submit(jdl)));
  EXPECT_EQ(grid().Lines("log").size(), 10u);
  std::string events;
  EXPECT_TRUE(Await([&] {
    events = grid().Ok({"gridevents", "-g"});
    return events.find("CLUSTER_UNREACHABLE") != events.npos &&
           events.find("CLUSTER_ERROR") != events.npos;
  })) << events;
  EXPECT_NE(events.find("cannot connect to http://127.0.0.1:" + std::to_string(away)), events.npos)
      << events;
  const auto check = grid().Run({"gridclusters", "--check", "nonsense"});
  EXPECT_EQ(check.code, 1);
  EXPECT_NE(check.out.find("fail"), check.out.npos) << check.out << check.err;
  const auto listed = grid().Ok({"gridclusters", "-i"});
  EXPECT_NE(listed.find("calls/min"), listed.npos) << listed;
  for (const std::string name : {"away", "nonsense"})
    grid().Ok({"gridadmin", "cluster", "disable", name});
}

TEST(GridsTest, AnOrdinaryUserHasAGridOfHisOwn) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  Grid grid("alpha=1", "nobody");
  grid.Up();
  const auto done = grid.Run({"gridsub", "--wait", "--", "sh", "-c", "echo $(id -un) $1 >> out",
                              "x", "{}", ":::", "1", "2"});
  EXPECT_EQ(done.code, 0) << done.out << done.err;
  EXPECT_EQ(grid.SortedLines("out"), (Arguments{"nobody 1", "nobody 2"}));
  grid.Down();
}

TEST(GridsTest, AGridThatIsStoppedGivesItsRunningTasksBackUncharged) {
  Grid grid("alpha=1");
  grid.Up();
  grid.Script("job", "#!/bin/sh\necho start >> out\n[ -e go ] && exit 0\nsleep 300\n");
  json jdl = Jdl(grid, "stopped", "./job", {{"nb_jobs", 1}, {"max_tries", 1}});
  jdl["clusters"].erase("beta");
  const int id = grid.Submit(jdl);
  ASSERT_TRUE(Await([&] { return grid.Progress(id).value("running", 0) == 1; }));
  const auto down = grid.Run({"cigri", "down"});
  EXPECT_NE(down.out.find("1 running job of campaign " + std::to_string(id) + " stopped"),
            std::string::npos)
      << down.out;
  grid.Script("go", "");
  grid.Up();
  EXPECT_TRUE(grid.AwaitOver(id));
  EXPECT_EQ(grid.Progress(id).value("done", 0), 1);
  EXPECT_EQ(grid.Lines("out").size(), 2u);
  const auto attempts = grid.Get("/campaigns/" + std::to_string(id) + "/jobs?full=1");
  const auto why = grid.Ok({"gridstat", "-c", std::to_string(id), "-f", "--json"});
  EXPECT_NE((attempts.dump() + why).find("NODE_FAILED"), std::string::npos) << attempts << why;
  EXPECT_EQ((attempts.dump() + why).find("FRAG_RESUBMIT"), std::string::npos);
  grid.Down();
}

TEST(GridsTest, TwoGridsRunSideBySideAndKnowNothingOfEachOther) {
  Grid one("alpha=1,beta=1"), two("alpha=2");
  one.Up();
  two.Up();
  const Arguments submit{"gridsub", "--wait", "--",  "sh", "-c", "echo $1 >> out",
                         "x",       "{}",     ":::", "a",  "b"};
  for (Grid* grid : {&one, &two}) {
    const auto done = grid->Run(submit);
    EXPECT_EQ(done.code, 0) << done.out << done.err;
    EXPECT_NE(done.out.find("CAMPAIGN_ID=1\n"), std::string::npos) << done.out;
    EXPECT_EQ(grid->SortedLines("out"), (Arguments{"a", "b"}));
  }
  one.Down();
  EXPECT_EQ(two.Run(submit).code, 0);
  two.Down();
}

}  // namespace
}  // namespace cigri::test
