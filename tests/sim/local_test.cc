// The jobs of clusters' own users: when they come, how long and how wide they are.
#include <gtest/gtest.h>

#include "tests/sim/run.h"

namespace cigri::sim {
namespace {

using test::kHour;
using test::Outcome;

TEST(LocalUsersTest, ComeByHourAndWeekday) {
  const Outcome run(R"({"clusters": [{"slots": 10, "local": [{"every": "10 min", "duration": 60,
      "hours": [0,0,0,0,0,0,0,0,1,1,1,1,1,1,1,1,1,1,0,0,0,0,0,0],
      "weekdays": [1,1,1,1,1,0,0]}]}], "until": "14 d",
    "campaigns": [{"tasks": 1, "duration": 1}]})");
  class Hours : public Observer {
   public:
    void LocalEnded(int, double started, double, int) override {
      const int hour = static_cast<int>(started / kHour);
      ++n;
      outside += hour % 24 < 8 || hour % 24 >= 18 || hour / 24 % 7 >= 5;
    }
    int n = 0, outside = 0;
  } hours;
  Engine(run.scenario, {&hours}).Run();
  EXPECT_EQ(hours.outside, 0);
  EXPECT_NEAR(hours.n, 10 * 10 * 6, 120) << "six an hour, ten hours a day, ten days";
}

TEST(LocalUsersTest, TheTimeBetweenTwoIsDrawnFromAnyDistribution) {
  const Outcome run(R"({"clusters": [{"slots": 10, "local": [{"duration": 60,
      "every": {"distribution": "uniform", "min": 600, "max": 600}}]}], "until": "10 h",
    "campaigns": [{"tasks": 1, "duration": 1}]})");
  EXPECT_NEAR(run.report.totals.local_slot_s, 59 * 60, 61);
}

class LocalJobs : public Observer {
 public:
  void LocalEnded(int, double started, double ended, int slots) override {
    jobs.emplace_back(started, ended - started, slots);
  }
  std::vector<std::tuple<double, double, int>> jobs;
};

std::vector<std::tuple<double, double, int>> LocalJobsOf(const std::string& load,
                                                         const std::string& seed = "1") {
  const Outcome run(R"({"clusters": [{"slots": 1000, "local": [)" + load + R"(]}], "until": "50 h",
    "campaigns": [{"tasks": 1, "duration": 1}]})", {{"seed", seed}});
  LocalJobs local;
  Engine(run.scenario, {&local}).Run();
  return local.jobs;
}

TEST(LocalUsersTest, TheWidthOfTheirJobsIsDrawnToo) {
  const auto jobs = LocalJobsOf(
      R"({"every": 60, "duration": 10, "slots": {"distribution": "uniform", "min": 1, "max": 9}})");
  ASSERT_GT(jobs.size(), 2000u);
  double sum = 0;
  std::set<int> widths;
  for (const auto& [at, length, slots] : jobs) sum += slots, widths.insert(slots);
  EXPECT_EQ(widths, (std::set<int>{1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_NEAR(sum / static_cast<double>(jobs.size()), 5, .2);
  const auto wide = LocalJobsOf(
      R"({"every": 600, "duration": 10, "slots": {"distribution": "lognormal", "median": 900, "sigma": 3}})");
  for (const auto& [at, length, slots] : wide) EXPECT_TRUE(slots >= 1 && slots <= 1000) << slots;
}

TEST(LocalUsersTest, ListsAreTakenInTurnFromTheirBegin) {
  const auto jobs = LocalJobsOf(
      R"({"every": [100, 50], "duration": [10, 20, 30], "slots": [4, 5], "until": 400})");
  using Job = std::tuple<double, double, int>;
  EXPECT_EQ(jobs, (std::vector<Job>{{100, 10, 4}, {150, 20, 5}, {250, 30, 4}, {300, 10, 5}}));
}

TEST(LocalUsersTest, ASeedRepeatsThemAndAnotherOneDoesNot) {
  const std::string load =
      R"({"every": {"distribution": "weibull", "scale": "5 min", "shape": 0.6},
          "duration": {"distribution": "lognormal", "median": "10 min"}, "slots": [1, 1, 16],
          "hours": [0,0,0,0,0,0,1,2,3,3,3,3,3,3,3,3,2,1,1,0,0,0,0,0]})";
  EXPECT_EQ(LocalJobsOf(load, "7"), LocalJobsOf(load, "7"));
  EXPECT_NE(LocalJobsOf(load, "7"), LocalJobsOf(load, "8"));
}

// Short gaps and long ones: what a constant rate does not have.
TEST(LocalUsersTest, AWeibullOfASmallShapeComesInBursts) {
  const auto jobs = LocalJobsOf(
      R"({"every": {"distribution": "weibull", "scale": 60, "shape": 0.5}, "duration": 1})");
  double sum = 0, squares = 0;
  for (std::size_t n = 1; n < jobs.size(); ++n) {
    const double gap = std::get<0>(jobs[n]) - std::get<0>(jobs[n - 1]);
    sum += gap, squares += gap * gap;
  }
  const double n = static_cast<double>(jobs.size() - 1), mean = sum / n;
  EXPECT_NEAR(mean, 120, 15);
  EXPECT_GT(squares / n / (mean * mean) - 1, 3) << "an exponential has 1";
}

}  // namespace
}  // namespace cigri::sim
