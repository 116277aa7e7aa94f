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

}  // namespace
}  // namespace cigri::sim
