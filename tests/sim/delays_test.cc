// Time that jobs take before and beside their work: nodes that boot, files that come and go.
#include <gtest/gtest.h>

#include "tests/sim/run.h"

namespace cigri::sim {
namespace {

using test::kHour;
using test::Outcome;

TEST(DelaysTest, AJobHoldsItsSlotsWhileItsNodeBoots) {
  const Outcome run(R"({"cycle": 0, "policy": {"policy": "fifo", "canary_jobs": 100},
    "clusters": [{"boot": 30, "job_ratio": "none", "max_waiting": 0}],
    "campaigns": [{"tasks": 2, "duration": 100}]})");
  EXPECT_EQ(run.Starts("campaign1"), (std::vector<double>{30, 160}));
  EXPECT_DOUBLE_EQ(run.report.makespan_s, 260);
  EXPECT_DOUBLE_EQ(run.report.used_slot_s, 200) << "a boot is no use of a slot";
}

TEST(DelaysTest, TheGridSeesAJobThatBootsAsWaiting) {
  const Outcome run(R"({"until": 20, "policy": {"policy": "fifo", "canary_jobs": 100},
    "clusters": [{"slots": 3, "boot": 30, "job_ratio": "none", "max_waiting": 0}],
    "campaigns": [{"tasks": 9, "duration": 100}]})");
  EXPECT_EQ(run.attempts.size(), 3u) << "no more than slots";
  EXPECT_EQ(run.Count(End::kNever), 3);
}

TEST(DelaysTest, AJobThatIsKilledWhileItsNodeBootsHasNotStartedAndIsRetried) {
  const Outcome run(R"({"policy": {"policy": "fifo", "canary_jobs": 100},
    "clusters": [{"slots": 2, "boot": 50, "down": [{"from": 20, "until": 100}]}],
    "campaigns": [{"tasks": 2, "duration": 100}]})");
  EXPECT_EQ(run.Count(End::kLost), 2);
  EXPECT_EQ(run.report.totals.done, 2);
  EXPECT_DOUBLE_EQ(run.report.lost_slot_s, 0);
  for (const double start : run.Starts("campaign1")) EXPECT_GE(start, 150);
}

TEST(DelaysTest, FilesTakeTheirBytesByTheBandwidthOfTheCluster) {
  const Outcome run(R"({"policy": {"policy": "fifo", "canary_jobs": 100}, "clusters": [
      {"name": "near", "bandwidth": "100 MB"}, {"name": "far", "bandwidth": "1 MB", "speed": 2},
      {"name": "shared"}],
    "campaigns": [
      {"name": "a", "duration": 60, "input": "2 GB", "output": "500 MB", "clusters": ["near"]},
      {"name": "b", "duration": 60, "input": "2 GB", "output": [5e8], "clusters": ["far"]},
      {"name": "c", "duration": 60, "input": "2 GB", "clusters": ["shared"]},
      {"name": "d", "duration": 60, "transfer": "5 min", "clusters": ["shared"]}]})");
  std::map<std::string, double> took;
  for (const auto& a : run.attempts) took[run.NameOf(a)] = a.ended - a.started;
  EXPECT_DOUBLE_EQ(took["a"], 60 + 25);
  EXPECT_DOUBLE_EQ(took["b"], 30 + 2500) << "a fast processor moves no byte faster";
  EXPECT_DOUBLE_EQ(took["c"], 60) << "a cluster without a bandwidth has the files there";
  EXPECT_DOUBLE_EQ(took["d"], 60 + 300);
}

TEST(DelaysTest, DelaysAreDrawnForATaskAndNotForAPolicy) {
  const std::string text = R"({"clusters": [{"slots": 3,
      "boot": {"distribution": "lognormal", "median": 40, "sigma": 1}, "bandwidth": 1000}],
    "campaigns": [{"name": "x", "tasks": 50, "duration": 60,
                   "input": {"distribution": "weibull", "scale": "20 kB", "shape": 0.5},
                   "transfer": {"distribution": "exponential", "mean": 5}},
                  {"name": "y", "user": "u", "tasks": 50, "duration": 60}]})";
  const auto lengths = [&](const char* policy) {
    std::map<std::int64_t, double> all;
    const Outcome run(text, {{"policy", policy}});
    EXPECT_EQ(run.report.totals.done, 100);
    for (const auto& a : run.attempts)
      if (run.NameOf(a) == "x") all[a.task] = std::round(1e6 * (a.ended - a.started));
    return all;
  };
  const auto fifo = lengths("fifo");
  std::set<double> different;
  for (const auto& [task, length] : fifo) different.insert(length);
  EXPECT_EQ(different.size(), 50u);
  EXPECT_EQ(fifo, lengths("usage"));
}

TEST(DelaysTest, ClairvoyantForeseesThem) {
  const Outcome run(R"({"policy": "clairvoyant", "clusters": [{"slots": 4,
      "boot": {"distribution": "uniform", "min": 10, "max": 100}, "bandwidth": 1000,
      "local": [{"every": "20 min", "slots": 3, "duration": "10 min"}]}],
    "campaigns": [{"tasks": 200, "duration": {"distribution": "uniform", "min": 10, "max": 400},
                   "input": {"distribution": "uniform", "min": 0, "max": "60 kB"}}]})");
  EXPECT_EQ(run.report.totals.done, 200);
  EXPECT_EQ(run.Count(End::kPreempted), 0);
}

TEST(DelaysTest, FaultsOfSizesSayWhatWouldBeRight) {
  const auto read = ReadScenario(R"({"clusters": [{"bandwidth": "fast", "boot": "soon"}],
    "campaigns": [{"input": "2 Gib", "output": {"distribution": "exponential", "mean": -1},
                   "transfer": {"distribution": "lognormal"}}]})", "");
  const std::string all = test::FaultsOf(read);
  for (const char* want :
       {":1:29: clusters[0].bandwidth: must be a number of bytes, 0 or more\nHINT: 2000, \"200 MB\"",
        "clusters[0].boot: must be a time", "campaigns[0].input: must be a number of bytes",
        "campaigns[0].output.mean: must be a number of bytes",
        "campaigns[0].transfer.median: is missing\nHINT: a time, as \"10 min\""})
    EXPECT_NE(all.find(want), all.npos) << want << "\n" << all;
}

}  // namespace
}  // namespace cigri::sim
