// The life of campaigns: prologue to epilogue, failures, retries, pauses and cancels.
#include <signal.h>

#include <algorithm>

#include "tests/system/grid.h"

namespace cigri::test {
namespace {

class CampaignTest : public SystemTest {
 protected:
  std::string Campaign(int id) { return std::to_string(id); }
  /// What the campaign's own record has for `line`.
  int Count(const std::string& file, const std::string& line) {
    const auto lines = grid().Lines(file);
    return static_cast<int>(std::count(lines.begin(), lines.end(), line));
  }
  void ExpectConservation() {
    const auto check = grid().Run({"gridadmin", "check"});
    EXPECT_EQ(check.code, 0) << check.out << check.err;
  }
  json Alpha(const json& block = json::object()) { return {{"alpha", block}}; }
};

TEST_F(CampaignTest, PrologueComesFirstAndTheEpilogueOnceAfterTheLastJobOfAll) {
  json clusters;
  const std::string log_file = grid().work() + "/log";  // they run in the user's home
  for (const std::string name : {"alpha", "beta"})
    clusters[name] = {{"exec_file", "sleep 0.1; echo job-" + name + " >> log #"},
                      {"prologue", {"echo prologue-" + name + " >> " + log_file}},
                      {"epilogue", {"echo epilogue-" + name + " >> " + log_file}}};
  const int id =
      grid().Submit(Jdl(grid(), "both ends", "true", {{"nb_jobs", 12}, {"clusters", clusters}}));
  ASSERT_TRUE(grid().AwaitOver(id));
  const Arguments log = grid().Lines("log");
  auto last_job = std::find_if(log.rbegin(), log.rend(), [](const auto& line) {
                    return line.rfind("job-", 0) == 0;
                  }).base();
  int jobs = 0;
  for (const std::string name : {"alpha", "beta"}) {
    const int here = Count("log", "job-" + name);
    jobs += here;
    EXPECT_EQ(Count("log", "prologue-" + name), 1) << name;
    EXPECT_EQ(Count("log", "epilogue-" + name), 1) << name;
    EXPECT_LT(std::find(log.begin(), log.end(), "prologue-" + name),
              std::find(log.begin(), log.end(), "job-" + name));
    EXPECT_GE(std::find(log.begin(), log.end(), "epilogue-" + name), last_job) << name;
  }
  EXPECT_EQ(jobs, 12);
}

TEST_F(CampaignTest, APrologueThatFailsKeepsTheCampaignOffThatClusterAndSaysSo) {
  const std::string log_file = grid().work() + "/log";
  json clusters;
  for (const std::string name : {"alpha", "beta"})
    clusters[name] = {{"exec_file", "echo job-" + name + " >> log #"},
                      {"prologue",
                       {"echo prologue-" + name + " >> " + log_file,
                        name == "alpha" ? "echo no space on scratch >&2; exit 3" : "true"}}};
  const int id =
      grid().Submit(Jdl(grid(), "prologue", "true", {{"nb_jobs", 6}, {"clusters", clusters}}));
  ASSERT_TRUE(grid().AwaitOver(id));
  EXPECT_EQ(Count("log", "job-beta"), 6);
  EXPECT_EQ(Count("log", "job-alpha"), 0);
  EXPECT_EQ(Count("log", "prologue-alpha"), 1) << "it is not tried again until somebody answers";
  const std::string events = grid().Ok({"gridevents", Campaign(id)});
  EXPECT_NE(events.find("PROLOGUE_FAILED"), std::string::npos) << events;
  EXPECT_NE(events.find("no space on scratch"), std::string::npos) << events;
}

TEST_F(CampaignTest, AfterACancelTheEpilogueRunsOnceWhereThePrologueRan) {
  const std::string log_file = grid().work() + "/log";
  grid().Script("long", "#!/bin/sh\necho started >> log\nsleep 300\necho survived >> log\n");
  const auto block = [&](const std::string& name) {
    return json{{"exec_file", "./long"},
                {"max_jobs", 1},
                {"prologue", {"echo prologue-" + name + " >> " + log_file}},
                {"epilogue", {"echo epilogue-" + name + " >> " + log_file}}};
  };
  const int id = grid().Submit(
      Jdl(grid(), "cancelled", "true",
          {{"nb_jobs", 40}, {"clusters", {{"alpha", block("alpha")}, {"beta", block("beta")}}}}));
  ASSERT_TRUE(Await([&] { return Count("log", "started") == 2; }));
  grid().Ok({"griddel", Campaign(id)});
  const auto completed = [&] {
    const auto campaign = grid().Get("/campaigns/" + Campaign(id));
    return campaign.contains("completion_time") && !campaign["completion_time"].is_null();
  };
  ASSERT_TRUE(Await(completed)) << grid().Get("/campaigns/" + Campaign(id));
  EXPECT_EQ(grid().SortedLines("log"),
            (Arguments{"epilogue-alpha", "epilogue-beta", "prologue-alpha", "prologue-beta",
                       "started", "started"}));
  EXPECT_EQ(grid().Progress(id).value("state", ""), "cancelled");
  ExpectConservation();
}

// FAIR-09. 100 short tasks teach the grid to ask for 30 s. Two wait until it does; the last one takes
// longer in its first job.
TEST_F(CampaignTest, AnAutomaticWalltimeIsLearntAndAKillBelowItsMaximumCostsNoTry) {
  grid().Script("some",
                "#!/bin/sh\necho $1 $CIGRI_WALLTIME_SECONDS >> asked\n"
                "case $1 in 100|101) until [ -e go ]; do sleep 0.1; done;;\n"
                "102) mkdir killed 2>/dev/null && sleep 600;; esac; true\n");
  const int id = grid().Submit(Jdl(grid(), "auto", "./some",
                                   {{"nb_jobs", 103},
                                    {"max_tries", 1},
                                    {"walltime", "auto:10m"},
                                    {"clusters", Alpha({{"max_jobs", 2}})}}));
  ASSERT_TRUE(Await([&] { return grid().Progress(id).value("done", 0) == 100; }, Seconds(90)));
  const auto says = [&](const Arguments& words, const std::string& text) {
    return Await([&] { return grid().Ok(words).find(text) != std::string::npos; });
  };
  const std::string c = Campaign(id), asks = "0:00:30 (auto, at most 0:10:00)";
  EXPECT_TRUE(says({"gridstat", "-c", c, "-f"}, "walltime: " + asks));
  EXPECT_TRUE(says({"gridstat", "-c", c, "--why", "-v"}, "walltime " + asks));
  EXPECT_EQ(Count("asked", "0 600"), 1) << "nothing was known";
  grid().Script("go", "");
  ASSERT_TRUE(grid().AwaitOver(id, Seconds(120)));
  const auto over = grid().Progress(id);
  EXPECT_EQ(over.value("done", 0), 103) << over;
  EXPECT_EQ(over.value("failed", -1), 0) << "its only try was not spent";
  const auto asked = grid().Lines("asked");
  EXPECT_EQ(Arguments(asked.end() - 2, asked.end()), (Arguments{"102 30", "102 60"}));
  ExpectConservation();
}

TEST_F(CampaignTest, Exit66IsRetriedAtOnceAndExit67AfterTheOthers) {
  for (const std::string code : {"66", "67"}) {
    const std::string out = "out" + code;
    grid().Script("again" + code, "#!/bin/sh\necho $1 >> " + out + "\n[ $1 = 0 ] && mkdir once" +
                                      code + " 2>/dev/null && exit " + code + "\nexit 0\n");
    const int id = grid().Submit(Jdl(grid(), code, "./again" + code,
                                     {{"nb_jobs", 5}, {"clusters", Alpha({{"max_jobs", 1}})}}));
    ASSERT_TRUE(grid().AwaitOver(id));
    EXPECT_EQ(grid().Progress(id).value("done", 0), 5);
    EXPECT_EQ(grid().Lines(out), (code == "66" ? Arguments{"0", "0", "1", "2", "3", "4"}
                                               : Arguments{"0", "1", "2", "3", "4", "0"}))
        << code;
  }
}

TEST_F(CampaignTest, FailingTasksAreTriedTwiceShownAsOneFailureAndRunAgainWhenFixed) {
  grid().Script("fit",
                "#!/bin/sh\necho $1 >> out\n[ -e fixed ] && exit 0\ncase $1 in 3|5) echo 'no "
                "convergence' >&2; exit 7;; esac\n");
  const int id =
      grid().Submit(Jdl(grid(), "fit", "./fit", {{"nb_jobs", 8}, {"clusters", Alpha()}}));
  ASSERT_TRUE(grid().AwaitOver(id));
  EXPECT_EQ(grid().Progress(id).value("done", 0), 6);
  EXPECT_EQ(grid().Progress(id).value("failed", 0), 2);
  EXPECT_EQ(Count("out", "3"), 2);
  EXPECT_EQ(Count("out", "5"), 2);
  const auto seen =
      grid().Run({"/usr/bin/script", "-qec", "gridstat -c " + Campaign(id), "/dev/null"});
  EXPECT_NE(seen.out.find("2 x "), std::string::npos) << seen.out;
  EXPECT_NE(seen.out.find("no convergence"), std::string::npos) << seen.out;
  EXPECT_EQ(grid().Ok({"gridstat", "-c", Campaign(id), "--params", "failed"}), "3\n5\n");

  grid().Script("fixed", "");
  grid().Ok({"gridsub", "--retry-failed", Campaign(id)});
  EXPECT_TRUE(Await([&] { return grid().Progress(id).value("done", 0) == 8; }));
  EXPECT_TRUE(grid().AwaitOver(id));
  EXPECT_EQ(grid().Progress(id).value("failed", -1), 0);
  EXPECT_EQ(grid().Lines("out").size(), 12u);
  ExpectConservation();
}

TEST_F(CampaignTest, AMissingCommandCostsTenJobsAClusterAndStopsWithItsReason) {
  const int id = grid().Submit(Jdl(grid(), "typo", "./corect", {{"nb_jobs", 4000}}));
  ASSERT_TRUE(Await([&] {
    return grid().Ok({"gridevents", Campaign(id)}).find("HELD_EVERYWHERE") != std::string::npos;
  })) << grid().Ok({"gridevents", Campaign(id)});
  const std::string full = grid().Ok({"gridstat", "-c", Campaign(id), "-f"});
  int ended = 0;
  for (auto at = full.find(",event,"); at != full.npos; at = full.find(",event,", at + 1)) ++ended;
  EXPECT_LE(ended, 2 * 10) << full;
  EXPECT_GE(ended, 2) << full;
  const std::string events = grid().Ok({"gridevents", Campaign(id)});
  EXPECT_NE(events.find("CANARY_FAILED"), std::string::npos) << events;
  EXPECT_NE(events.find("corect"), std::string::npos) << events;
  EXPECT_EQ(grid().Progress(id).value("failed", -1), 0) << "no try is charged";

  grid().Script("corect", "#!/bin/sh\necho $1 >> out\n");
  grid().Ok({"gridevents", "-c", Campaign(id), "-f"});
  EXPECT_TRUE(Await([&] { return grid().Progress(id).value("done", 0) >= 300; }));
  ExpectConservation();
}

TEST_F(CampaignTest, CancellingKillsAllThatRunsAndAllThatItStarted) {
  grid().Script("deep",
                "#!/bin/sh\nsetsid sleep 301 & echo $! >> pids\necho $$ >> pids\nexec sleep 302\n");
  const int id = grid().Submit(Jdl(grid(), "deep", "./deep", {{"nb_jobs", 40}}));
  ASSERT_TRUE(Await([&] { return grid().Lines("pids").size() == 8; }));
  grid().Ok({"griddel", Campaign(id)});
  EXPECT_TRUE(Await([&] {
    const auto p = grid().Progress(id);
    return p.value("state", "") == "cancelled" && p.value("running", 1) == 0 &&
           p.value("launching", 1) == 0 && p.value("remote_waiting", 1) == 0 &&
           p.value("submitted", 1) == 0;
  })) << grid().Progress(id);
  EXPECT_EQ(grid().Lines("pids").size(), 8u) << "none was started after the cancel";
  const std::string joblog = grid().Ok({"gridstat", "-c", Campaign(id), "--joblog"});
  EXPECT_EQ(std::count(joblog.begin(), joblog.end(), '\n'), 1) << "--resume runs them: " << joblog;
  for (const auto& pid : grid().Lines("pids"))
    EXPECT_TRUE(Await([&] { return kill(std::atoi(pid.c_str()), 0) != 0; })) << pid;
  ExpectConservation();
}

TEST_F(CampaignTest, APausedCampaignSendsNothingUntilItIsResumed) {
  grid().Script("gate", "#!/bin/sh\nwhile [ ! -e go ]; do sleep 0.05; done\necho $1 >> out\n");
  const int id = grid().Submit(Jdl(grid(), "gate", "./gate", {{"nb_jobs", 40}}));
  ASSERT_TRUE(Await([&] { return grid().Progress(id).value("running", 0) > 0; }));
  grid().Ok({"griddel", "-p", Campaign(id)});
  ASSERT_TRUE(Await([&] { return grid().Progress(id).value("state", "") == "paused"; }));
  grid().Script("go", "");
  ASSERT_TRUE(Await([&] {
    const auto p = grid().Progress(id);
    return p.value("running", 1) + p.value("launching", 1) + p.value("remote_waiting", 1) +
               p.value("submitted", 1) ==
           0;
  })) << grid().Progress(id);
  EXPECT_LE(grid().Lines("out").size(), 20u) << "what ten first jobs a cluster had sent";
  EXPECT_GT(grid().Progress(id).value("waiting", 0), 0);
  grid().Ok({"griddel", "-r", Campaign(id)});
  EXPECT_TRUE(grid().AwaitOver(id));
  EXPECT_EQ(grid().SortedLines("out"), Indexes(40));
}

TEST_F(CampaignTest, NoMoreJobsThanMaxJobsRunAtOnce) {
  grid().Script("busy", "#!/bin/sh\necho + >> out\n[ $1 -lt 1 ] || sleep 0.1\necho - >> out\n");
  const int id = grid().Submit(
      Jdl(grid(), "busy", "./busy", {{"nb_jobs", 8}, {"clusters", Alpha({{"max_jobs", 1}})}}));
  ASSERT_TRUE(grid().AwaitOver(id));
  Arguments want;
  for (int i = 0; i < 8; ++i) want.insert(want.end(), {"+", "-"});
  EXPECT_EQ(grid().Lines("out"), want);
}

// T-24: copies of the last jobs; the first success wins, the others are killed and do not count.
TEST_F(CampaignTest, ACopyOfTheLastTaskEndsACampaignWhoseJobHangs) {
  grid().Script("hang",
                "#!/bin/sh\nif [ $1 = 7 ] && mkdir first 2>/dev/null; then echo $$ > pid; exec "
                "sleep 300; fi\n"
                "echo $1 | tee -a out\n");
  const int id =
      grid().Submit(Jdl(grid(), "finalize", "./hang", {{"nb_jobs", 8}, {"finalize", true}}));
  ASSERT_TRUE(grid().AwaitOver(id)) << grid().Progress(id);
  for (const auto& index : Indexes(8)) {
    EXPECT_GE(Count("out", index), 1) << index;
    EXPECT_LE(Count("out", index), 2) << index << ": one copy is allowed";
  }
  EXPECT_EQ(grid().Ok({"gridstat", "-c", Campaign(id), "-O"}), "0\n1\n2\n3\n4\n5\n6\n7\n");
  EXPECT_EQ(grid().Progress(id).value("done", 0), 8);
  const int hung = std::atoi(grid().Text("pid").c_str());
  EXPECT_TRUE(Await([&] { return kill(hung, 0) != 0; }));
  ExpectConservation();
}

}  // namespace
}  // namespace cigri::test
