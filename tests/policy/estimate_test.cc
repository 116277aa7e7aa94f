#include "policy/forecast/estimate.h"

#include <gtest/gtest.h>

#include "core/histogram.h"

namespace cigri::predictor {
namespace {

PlacementStats Cluster(int max) {
  PlacementStats f;
  f.campaign_id = f.cluster_id = 1;
  f.rule = "adaptive";
  f.max_resources = f.free_resources = max;
  f.max_waiting = max;
  f.polls = 1;
  return f;
}

TEST(PlacementEstimateTest, TheRatioStepsOncePerFreshPollAndNotPerPass) {  // CIG-31..48
  PlacementEstimate placement;
  auto f = Cluster(100);
  f.rule = "slow-start";
  EXPECT_EQ(placement.Update(f, 0, 60).job_ratio, 1);
  f.polls = 2;
  f.running = 10;
  EXPECT_EQ(placement.Update(f, 1, 60).job_ratio, 2);
  for (int i = 0; i < 50; ++i)
    EXPECT_EQ(placement.Update(f, 1 + i * 0.02, 60).job_ratio, 2) << "the same poll";
  f.polls = 3;
  EXPECT_EQ(placement.Update(f, 3, 60).job_ratio, 2) << "nothing was sent: nothing is learnt";
}

// `n` successes of `seconds` each.
PlacementStats Ended(int n, double seconds) {
  auto f = Cluster(10);
  f.walltime_s = 3600;
  f.auto_walltime = true;
  f.ended = f.n_ok = n;
  f.sum_s = n * seconds, f.sum_sq = n * seconds * seconds;
  f.hist.assign(kDurationBuckets, 0);
  f.hist[static_cast<std::size_t>(DurationBucket(seconds))] = n;
  return f;
}

TEST(AutoWalltimeTest, IsWhatTheLongestJobsTakeAndSomeMore) {  // FAIR-09
  EXPECT_EQ(AutoWalltime(Ended(9, 100)), std::nullopt) << "too few to say";
  EXPECT_EQ(AutoWalltime(Ended(10, 100)), 150);
  EXPECT_EQ(AutoWalltime(Ended(10, 0.1)), 30) << "starting takes time, too";
  EXPECT_EQ(AutoWalltime(Ended(10, 3000)), 3600) << "the campaign's own is the most";
  auto f = Ended(10, 100);
  f.auto_walltime = false;
  EXPECT_EQ(AutoWalltime(f), std::nullopt);
  f = Ended(10, 10);
  f.grace_s = 60;
  EXPECT_EQ(AutoWalltime(f), 120) << "time to work and time to save it";
  f = Ended(97, 100);
  f.hist[static_cast<std::size_t>(DurationBucket(1000))] = 3;
  f.n_ok = 100, f.sum_s += 3 * 1000;
  EXPECT_GT(AutoWalltime(f).value_or(0), 1350) << "three in a hundred take longer";
}

TEST(AutoWalltimeTest, JobsThatStillRunCountAsAtLeastSoLong) {
  auto f = Ended(10, 60);  // the first to end are the shortest
  f.running = 50, f.mean_age_s = 300;
  EXPECT_EQ(AutoWalltime(f), std::nullopt);
  f.mean_age_s = 20;
  EXPECT_EQ(AutoWalltime(f), 90) << "those may end like the others";
  f = Ended(10, 0.01);
  f.running = 50, f.mean_age_s = 5;
  EXPECT_EQ(AutoWalltime(f), 30) << "so may those: polls are late";
}

TEST(PlacementEstimateTest, AJobThatNoPollHasShownTeachesNothing) {
  PlacementEstimate placement;
  auto f = Cluster(100);
  placement.Update(f, 0, 60);
  f.polls = 2;
  f.submitted = 50;
  EXPECT_EQ(placement.Update(f, 1, 60).nsub, 0);
  f.polls = 3;
  f.submitted = 0, f.running = 50;
  EXPECT_EQ(placement.Update(f, 2, 60).nsub, 50);
}

TEST(PlacementEstimateTest, ManyThatWaitLowerTheRatio) {
  PlacementEstimate placement;
  auto f = Cluster(100);
  f.max_waiting = 5;
  placement.Update(f, 0, 60);
  f.polls = 2, f.running = 50, f.waiting = 50;
  EXPECT_NEAR(placement.Update(f, 1, 60).job_ratio, 0.5, 0.06);  // T-27, its first step
}

TEST(PlacementEstimateTest, TheRateIsWhatEndedInTheWindow) {
  PlacementEstimate placement;
  auto f = Cluster(10);
  for (int t = 0; t <= 120; ++t) {
    f.ended = t < 60 ? 0 : (t - 60) * 5;
    placement.Update(f, t, 60);
  }
  EXPECT_NEAR(placement.Update(f, 120, 60).rate, 5, 0.3);
}

TEST(PlacementEstimateTest, AfterARestartTheLastRateAndRatioCountUntilThereIsANewOne) {
  PlacementEstimate placement;
  auto f = Cluster(10);
  f.last_rate = 7, f.last_ratio = 0.25;
  f.ended = 1000;
  const auto first = placement.Update(f, 0, 60);
  EXPECT_EQ(first.rate, 7);
  EXPECT_EQ(first.job_ratio, 0.25);
  f.polls = 2;
  EXPECT_EQ(placement.Update(f, 0.5, 60).job_ratio, 0.25) << "old ends are not a submission";
  f.ended = 1030;
  EXPECT_NEAR(placement.Update(f, 10, 60).rate, 3, 0.1);
}

TEST(PlacementEstimateTest, MoreMayWaitWhereJobsAreShort) {
  PlacementEstimate placement;
  auto f = Cluster(2);
  f.max_waiting = 2000;
  EXPECT_EQ(placement.Update(f, 0, 60).waiting_allowed, 1);
  f.n_ok = 10, f.sum_s = 0.1;
  EXPECT_EQ(placement.Update(f, 1, 60).waiting_allowed, 1000)
      << "5 s of 2 slots that end 100 jobs a second each";
}

TEST(PlacementEstimateTest, TheQueueIsMadeByTheCampaignsOwnDurationsOnceThreeAreKnown) {
  PlacementEstimate placement;
  auto f = Cluster(8);
  f.max_waiting = 2000;
  f.n_ok = 2, f.sum_s = 0.02, f.ended = 2;
  EXPECT_EQ(placement.Update(f, 0, 60).waiting_allowed, 1) << "two ends say little";
  f.campaign_mean_s = 4;
  EXPECT_EQ(placement.Update(f, 1, 60).waiting_allowed, 10) << "as on its other clusters";
  f.n_ok = 3, f.sum_s = 6;
  EXPECT_EQ(placement.Update(f, 2, 60).waiting_allowed, 20) << "8 slots, 2 s each, 5 s of work";
}

TEST(PlacementEstimateTest, WhereTimesAreWholeSecondsAShortJobIsNotEndless) {
  PlacementEstimate placement;
  auto f = Cluster(16);
  f.max_waiting = 2000, f.queue_s = 10, f.resolution_s = 1;
  EXPECT_EQ(placement.Update(f, 0, 60).waiting_allowed, 1) << "nothing has ended yet";
  f.n_ok = 10, f.sum_s = 0;
  EXPECT_EQ(placement.Update(f, 1, 60).waiting_allowed, 160);
}

TEST(PlacementEstimateTest, DurationsComeWithSpreadAndQuantiles) {
  PlacementEstimate placement;
  auto f = Cluster(2);
  f.n_ok = 4, f.sum_s = 40, f.sum_sq = 4 * 104;
  f.hist.assign(kDurationBuckets, 0);
  f.hist[static_cast<std::size_t>(DurationBucket(10))] = 4;
  const auto forecast = placement.Update(f, 0, 60);
  EXPECT_DOUBLE_EQ(*forecast.average_s, 10);
  EXPECT_DOUBLE_EQ(*forecast.stddev_s, 2);
  EXPECT_NEAR(*forecast.p50_s, 10, 2);
}

TEST(DurationsTest, RunningJobsCountAsAtLeastThisLong) {
  auto f = Cluster(2);
  f.running = 3, f.mean_age_s = 30;
  f.n_ok = 2000;
  f.hist.assign(kDurationBuckets, 0);
  f.hist[40] = 2000;
  const auto durations = DurationsOf({f});
  EXPECT_EQ(durations.running, (std::vector<double>{30, 30, 30}));
  EXPECT_EQ(durations.ended.size(), 1000u) << "as many as say it well enough";
}

PlacementStats OnOar(double mean_s) {
  auto f = Cluster(8);
  f.groups = true;
  f.walltime_s = 3600;
  f.n_ok = 10;
  f.sum_s = 10 * mean_s;
  return f;
}

TEST(TasksPerJobTest, AsManyAsMakeTheCostATenthWhereItIsMoreThanATask) {
  EXPECT_EQ(TasksPerJob(OnOar(1), 2.0), 20);
  EXPECT_EQ(TasksPerJob(OnOar(1), 0.9), 1);
  EXPECT_EQ(TasksPerJob(OnOar(1), std::nullopt), 1) << "not known yet";
  EXPECT_EQ(TasksPerJob(OnOar(1), 1000.0), 100);
  EXPECT_EQ(TasksPerJob(OnOar(60), 1000.0), 10) << "ten minutes";
  auto f = OnOar(1);
  f.walltime_s = 60;
  EXPECT_EQ(TasksPerJob(f, 1000.0), 15) << "a quarter of the walltime";
  f.lifetime_s = 10;
  EXPECT_EQ(TasksPerJob(f, 1000.0), 5) << "half of what jobs live there";
  f.tasks_per_job = 7;
  EXPECT_EQ(TasksPerJob(f, std::nullopt), 7) << "the user says so";
  f.groups = false;
  EXPECT_EQ(TasksPerJob(f, 1000.0), 1);
}

TEST(TasksPerJobTest, TheCostIsTheSlotTimeThatJobsInFlightDidNotUse) {
  PlacementEstimate estimate;
  auto f = OnOar(1);
  f.n_ok = 0;
  f.sum_s = 0;
  Forecast forecast;
  // Eight slots, one start every two seconds: a job of a second costs 15 of slot time.
  for (int t = 1; t <= 100; ++t) {
    f.waiting = 7;
    f.running = 1;
    f.jobs = f.ended = f.n_ok = t / 2;
    f.sum_s = static_cast<double>(f.n_ok);
    forecast = estimate.Update(f, t, 60);
  }
  ASSERT_TRUE(forecast.job_cost_s);
  EXPECT_NEAR(*forecast.job_cost_s, 15, 2);
  EXPECT_EQ(forecast.tasks_per_job, 100);
  EXPECT_EQ(forecast.waiting_allowed, 1) << "one such job is more than the queue shall hold";
  // All slots run jobs that end as fast as they can: they cost nothing.
  PlacementEstimate other;
  for (int t = 1; t <= 100; ++t) {
    f.running = 8;
    f.jobs = f.ended = f.n_ok = 8 * t;
    f.sum_s = static_cast<double>(f.n_ok);
    forecast = other.Update(f, t, 60);
  }
  EXPECT_NEAR(forecast.job_cost_s.value_or(9), 0, 0.5);
  EXPECT_EQ(forecast.tasks_per_job, 1);
}

}  // namespace
}  // namespace cigri::predictor
