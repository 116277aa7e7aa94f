// The Standard Workload Format, read and written.
#include "sim/swf.h"

#include "sim/writers.h"
#include "tests/sim/run.h"

namespace cigri::sim {
namespace {

constexpr char kTrace[] =
    "; Version: 2.2\n; MaxProcs: 64\n\n"
    "  7 100 5 3600 4 -1 -1 4 7200 -1 1 3 2 9 1 1 -1 -1\n"
    "8 160 0 3000 4 -1 -1 4 7200 -1 1 3 2 9 1 1 -1 -1\r\n"
    "9 50 0 60 -1 -1 -1 2 100 -1 0 4 -1 1 1 1 -1 -1\n"
    "10 60 0 -1 4 -1 -1 4 100 -1 5 4 -1 1 1 1 -1 -1\n";

TEST(SwfTest, ReadsJobsInOrderOfSubmission) {
  const Swf swf = ReadSwf(kTrace);
  EXPECT_TRUE(swf.faults.empty());
  EXPECT_EQ(swf.max_procs, 64);
  EXPECT_EQ(swf.skipped, 1) << "a job without a run time";
  ASSERT_EQ(swf.jobs.size(), 3u);
  EXPECT_EQ(swf.jobs[0].id, 9);
  EXPECT_EQ(swf.jobs[0].submit, 0);
  EXPECT_EQ(swf.jobs[0].procs, 2) << "requested, when what was allocated is not known";
  EXPECT_EQ(swf.jobs[1].submit, 50);
}

TEST(SwfTest, NumbersBeyondAnIntAreItsEnds) {
  const Swf swf = ReadSwf("1e300 0 0 60 1 -1 -1 1 -1 -1 1e300 -1e300 1e10 -1e10 1 1 -1 -1\n");
  ASSERT_EQ(swf.jobs.size(), 1u);
  EXPECT_EQ(swf.jobs[0].id, INT64_MAX);
  EXPECT_EQ(swf.jobs[0].user, INT32_MIN);
  EXPECT_EQ(swf.jobs[0].group, INT32_MAX);
}

TEST(SwfTest, FaultsNameTheLineAndTheColumn) {
  const Swf swf = ReadSwf(
      "1 2 3\n; fine\n1 x 0 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n"
      "1 2 0 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n1 -2 0 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n"
      "1 nan 0 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n");
  ASSERT_EQ(swf.faults.size(), 5u);
  EXPECT_EQ(swf.faults[0], "1: has 3 columns; a job has 18, -1 where nothing is known");
  EXPECT_EQ(swf.faults[1], "3: column 2 (submit time) is no number: \"x\"");
  EXPECT_EQ(swf.faults[2], "4: has more than 18 columns");
  EXPECT_NE(swf.faults[3].find("negative"), std::string::npos);
  EXPECT_TRUE(swf.jobs.empty());
}

TEST(SwfTest, AsCampaignsJobsOfOneKindThatFollowEachOtherAreOne) {
  const Swf swf = ReadSwf(kTrace);
  EXPECT_EQ(Campaigns(swf, {}, 0).size(), 3u);
  const auto grouped = Campaigns(swf, {}, 300);
  ASSERT_EQ(grouped.size(), 2u);
  EXPECT_EQ(grouped[1].tasks, 2);
  EXPECT_EQ(grouped[1].user, "user3");
  EXPECT_EQ(grouped[1].slots, 4);
  EXPECT_EQ(grouped[1].walltime_s, 7200);
  EXPECT_EQ(grouped[1].duration.list, (std::vector<double>{3600, 3000}));
  EXPECT_EQ(LocalJobs(swf, 3)[2].slots, 3) << "no wider than the cluster";
}

// Longer jobs of a group ended at the walltime of its first one.
TEST(SwfTest, TheWalltimeOfAGroupDoesForAllItsJobs) {
  const auto of = [](const char* second) {
    return Campaigns(ReadSwf("1 0 0 50 1 -1 -1 1 60 -1 1 1 1 1 1 1 -1 -1\n2 9 0 500 1 -1 -1 1 " +
                             std::string(second) + " -1 1 1 1 1 1 1 -1 -1\n"),
                     {}, 300);
  };
  ASSERT_EQ(of("600").size(), 1u);
  EXPECT_EQ(of("600")[0].walltime_s, 600);
  EXPECT_EQ(of("-1")[0].walltime_s, 0) << "none is known";
}

TEST(SwfTest, WhatIsWrittenIsReadAgain) {
  const auto read = ReadScenario(R"({"clusters": [{"slots": 3, "failures": 0.2}], "seed": 3,
    "campaigns": [{"user": "a", "tasks": 40, "duration": {"distribution": "exponential", "mean": 100}, "tries": 9}]})",
                                 "");
  ASSERT_EQ(test::FaultsOf(read), "");
  SwfTable table(read.scenario);
  Collector collector(read.scenario);
  Engine engine(read.scenario, {&table, &collector});
  const auto report = collector.Finish(engine.Run(), "");
  const Swf swf = ReadSwf(table.Text());
  EXPECT_TRUE(swf.faults.empty());
  EXPECT_EQ(swf.max_procs, 3);
  EXPECT_EQ(static_cast<std::int64_t>(swf.jobs.size()) + swf.skipped, report.totals.jobs);
  std::int64_t done = 0;
  double slot_s = 0;
  for (const auto& job : swf.jobs) done += job.status == 1, slot_s += job.run * job.procs;
  EXPECT_EQ(done, 40);
  EXPECT_NEAR(slot_s, report.used_slot_s, 1);
}

TEST(SwfTest, ATraceAsLocalLoadTakesItsSlotsFirst) {
  const test::Outcome run(
      R"({"until": 30000, "clusters": [{"name": "old", "slots": 32, "job_ratio": "none",
      "local": [{"swf": "../../../examples/scenarios/trace.swf"}]}],
    "campaigns": [{"user": "a", "tasks": 5000, "duration": 300}], "policy": {"policy": "fifo", "canary_jobs": 1000}})");
  // Job 5 of the trace wants all 32 at 4000 s; the last that holds any of them (job 4) ends at
  // 8100.
  EXPECT_EQ(run.RunningAt(8200), 0);
  EXPECT_GT(run.Count(End::kPreempted), 0);
  const double local = 2 * 4 * 3600 + 16 * 1800 + 8 * 7200 + 32 * 900 + 12 * 5400 + 2 * 600;
  EXPECT_NEAR(run.report.totals.local_slot_s, local, 1);
}

}  // namespace
}  // namespace cigri::sim
