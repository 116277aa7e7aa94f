#include "policy/forecast/forecast.h"
#include "policy/guard.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/histogram.h"

namespace cigri::policy {
namespace {

TEST(Quantile, JobsThatStillRunCountAsAtLeastThisLong) {
  EXPECT_EQ(Quantile({{1, 2, 3, 4}, {}}, 0.5), 2);
  EXPECT_EQ(Quantile({{1, 2, 3, 4}, {}}, 1.0), 4);
  // Two of four have ended, two run longer: the median is what half have passed.
  EXPECT_EQ(Quantile({{1, 2}, {10, 10}}, 0.5), 2);
  EXPECT_EQ(Quantile({{1, 2}, {10, 10}}, 0.75), std::nullopt);
  EXPECT_EQ(Quantile({{}, {5}}, 0.5), std::nullopt);
  // One that was left out early says nothing about the later ones.
  EXPECT_EQ(Quantile({{2, 4}, {1}}, 0.5), 2);
}

TEST(Mean, OldRunningJobsRaiseItAndYoungOnesDoNot) {
  EXPECT_DOUBLE_EQ(*Mean({{10, 20}, {}}), 15);
  EXPECT_DOUBLE_EQ(*Mean({{10, 20}, {3}}), 15);
  EXPECT_DOUBLE_EQ(*Mean({{10, 20}, {30}}), 20);
  EXPECT_EQ(Mean({{}, {30}}), std::nullopt);
}

TEST(Straggler, TheThresholdIsLearntFromTenSuccessesAndNotFromTheOverdue) {
  std::vector<std::int64_t> hist(kDurationBuckets);
  hist[DurationBucket(1)] = 9;
  EXPECT_EQ(StragglerThreshold(hist), std::nullopt);
  hist[DurationBucket(1)] = 10;
  EXPECT_EQ(StragglerThreshold(hist), 10) << "no copy could start and end sooner";
  hist[DurationBucket(1)] = 0;
  EXPECT_EQ(StragglerThreshold({}), std::nullopt);
  hist[DurationBucket(10)] = 10;
  EXPECT_NEAR(*StragglerThreshold(hist), 20, 2);
  hist[DurationBucket(100)] = 1;  // slow ones are usual here
  EXPECT_NEAR(*StragglerThreshold(hist), 150, 15);
}

TEST(TimeLeft, IsAnIntervalAroundTheLikelyEnd) {
  Work work{.waiting = 80, .at_once = 10};
  work.durations.ended.assign(20, 60);
  const auto interval = TimeLeft(work);
  ASSERT_TRUE(interval);
  EXPECT_DOUBLE_EQ(interval->likely, 480);
  EXPECT_LE(interval->low, interval->likely);
  EXPECT_GE(interval->high, interval->likely);
}

TEST(TimeLeft, MoreEndsMakeItNarrower) {
  auto width = [](double ends) {
    const auto s =
        TimeLeft({.waiting = 1000, .at_once = 10, .done_in_window = ends, .window_s = ends});
    return s->high - s->low;
  };
  EXPECT_LT(width(1000), width(100));
  EXPECT_LT(width(100), width(10));
}

TEST(TimeLeft, NothingIsSaidBeforeAnythingIsKnownAndNothingIsLeftAtTheEnd) {
  EXPECT_FALSE(TimeLeft({.waiting = 10, .at_once = 5}));
  EXPECT_FALSE(TimeLeft({.waiting = 10, .at_once = 0, .durations = {{5, 5}, {}}}));
  EXPECT_EQ(TimeLeft({})->high, 0);
}

TEST(Yield, IsWhatKillsLeaveOfTheSlotTime) {
  EXPECT_EQ(Yield(3600, 0), 1) << "nothing is killed";
  EXPECT_NEAR(Yield(60, 3600), 0.99, 0.01);
  EXPECT_NEAR(Yield(3600, 3600), 1 / (std::exp(1.0) - 1), 1e-9);
  EXPECT_GT(Yield(1e9, 60), 0);
}

TEST(MedianSurvival, CountsWhatEndedOnItsOwnAsHavingLivedAtLeastSoLong) {
  const auto hist = [](std::initializer_list<std::pair<double, int>> jobs) {
    std::vector<std::int64_t> h(kDurationBuckets);
    for (const auto& [seconds, n] : jobs) h[DurationBucket(seconds)] += n;
    return h;
  };
  EXPECT_FALSE(MedianSurvival({}, {}));
  EXPECT_FALSE(MedianSurvival({}, hist({{60, 100}}))) << "nothing is ever killed there";
  EXPECT_NEAR(*MedianSurvival(hist({{7200, 6}}), {}), 7200, 1400);
  EXPECT_FALSE(MedianSurvival(hist({{60, 1}}), hist({{3600, 9}})));
  // Short jobs that had ended before say nothing of long ones: all that lived longer were killed.
  EXPECT_NEAR(*MedianSurvival(hist({{7200, 5}}), hist({{10, 1000}})), 7200, 1400);
}

}  // namespace
}  // namespace cigri::policy
