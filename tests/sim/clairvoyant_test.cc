// The yardstick of --compare.
#include <gtest/gtest.h>

#include "tests/sim/run.h"

namespace cigri::sim {
namespace {

using test::kHour;
using test::Outcome;

Scenario Read(const std::string& text) { return ReadScenario(text, "").scenario; }

TEST(LeastMakespanTest, IsTheWorkDividedByWhatIsLeft) {
  EXPECT_NEAR(LeastMakespan(Read(
                  R"({"clusters": [{"slots": 10}], "campaigns": [{"tasks": 100, "duration": 60}]})")),
              600, 1e-2);
  EXPECT_NEAR(LeastMakespan(Read(R"({"clusters": [{"slots": 10, "down": [{"from": 0, "until": 600}]}],
                  "campaigns": [{"tasks": 100, "duration": 60}]})")),
              1200, 1e-2);
  EXPECT_NEAR(LeastMakespan(Read(R"({"clusters": [{"slots": 10}, {"slots": 10, "speed": 2}],
                  "campaigns": [{"tasks": 1, "duration": 60, "at": 100}]})")),
              130, 1e-2)
      << "the longest task on the fastest cluster";
}

constexpr char kRough[] = R"({"clusters": [
    {"name": "rough", "slots": 20, "submit": 2, "see": 5,
     "local": [{"every": "20 min", "slots": 20, "duration": "5 min"}]},
    {"name": "calm", "slots": 5}],
  "campaigns": [{"name": "long", "user": "alice", "tasks": 30, "duration": "1 h"},
                {"name": "short", "user": "bob", "tasks": 500, "duration": "3 min"}]})";

TEST(ClairvoyantTest, StartsNothingThatLocalUsersWouldKill) {
  const Outcome ours(kRough), foresees(kRough, {{"policy", "clairvoyant"}});
  EXPECT_GT(ours.report.preempted, 0);
  EXPECT_EQ(foresees.report.preempted, 0);
  EXPECT_EQ(foresees.report.totals.not_done, 0);
  EXPECT_LT(foresees.report.campaign_slowdown, ours.report.campaign_slowdown);
  EXPECT_GE(foresees.report.makespan_s, LeastMakespan(foresees.scenario));
}

TEST(ClairvoyantTest, KeepsTheSharesOfUsers) {
  const Outcome run(R"({"clusters": [{"slots": 40}], "until": "10 h",
    "policy": "clairvoyant",
    "campaigns": [{"user": "alice", "tasks": 10000, "duration": "10 min"},
                  {"user": "bob", "tasks": 10000, "duration": "4 min"}]})");
  EXPECT_LT(run.report.share_error, 0.01);
}

TEST(ClairvoyantTest, AWideJobDoesNotStarveBehindNarrowOnes) {
  const Outcome run(R"({"clusters": [{"slots": 16}], "policy": "clairvoyant",
    "campaigns": [{"name": "narrow", "user": "alice", "tasks": 3000,
                   "duration": {"distribution": "uniform", "min": 60, "max": 600}},
                  {"name": "wide", "user": "bob", "tasks": 10, "slots": 16, "duration": 60}]})");
  ASSERT_EQ(run.report.campaigns[1].name, "wide");
  EXPECT_GT(run.report.campaigns[1].over, 0);
  EXPECT_LT(run.report.campaigns[1].over, 3 * kHour);
}

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

}  // namespace
}  // namespace cigri::sim
