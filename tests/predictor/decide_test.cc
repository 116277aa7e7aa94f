#include "predictor/decide.h"

#include <gtest/gtest.h>

namespace cigri::predictor {
namespace {

constexpr double kWindow = 60;

// `ended` jobs of a second each on a cluster of 10 slots, 5 more that run.
PlacementStats On(std::int64_t cluster, std::int64_t ended) {
  PlacementStats stats;
  stats.campaign_id = 7;
  stats.cluster_id = cluster;
  stats.rule = "adaptive";
  stats.max_resources = 10;
  stats.max_waiting = 100;
  stats.polls = ended;
  stats.running = 5;
  stats.ended = stats.n_ok = ended;
  stats.sum_s = stats.sum_sq = static_cast<double>(ended);
  stats.hist.assign(40, 0);
  stats.hist[28] = ended;  // a second: core/histogram.h
  return stats;
}

TEST(DecideTest, TheRateOfACampaignIsTheSumOfThoseOfItsPlacements) {
  Memory memory;
  Decide({On(1, 0), On(2, 0)}, 1000, 0, kWindow, memory);
  const auto forecast = Decide({On(1, 100), On(2, 300)}, 1000, 10, kWindow, memory);
  ASSERT_EQ(forecast.placements.size(), 2u);
  EXPECT_GT(forecast.placements[0].rate, 0);
  EXPECT_GT(forecast.placements[1].rate, forecast.placements[0].rate);
  EXPECT_DOUBLE_EQ(forecast.whole.rate,
                   forecast.placements[0].rate + forecast.placements[1].rate);
}

TEST(DecideTest, MoreTasksThatWaitMakeTheEndLater) {
  std::vector<double> likely;
  for (const std::int64_t waiting : {100, 1000}) {
    Memory memory;
    Decide({On(1, 0)}, waiting, 0, kWindow, memory);
    const auto forecast = Decide({On(1, 100)}, waiting, 10, kWindow, memory);
    ASSERT_TRUE(forecast.left);
    EXPECT_LE(forecast.left->low, forecast.left->likely);
    EXPECT_LE(forecast.left->likely, forecast.left->high);
    likely.push_back(forecast.left->likely);
  }
  EXPECT_GT(likely[1], likely[0]);
}

TEST(DecideTest, OnEachClusterTheEndIsThatOfItsPartOfTheWork) {  // CIG-31
  Memory memory;
  Decide({On(1, 0), On(2, 0), On(3, 0)}, 1000, 0, kWindow, memory);
  auto idle = On(3, 0);
  idle.running = 0;
  const auto forecast = Decide({On(1, 100), On(2, 300), idle}, 1000, 10, kWindow, memory);
  ASSERT_EQ(forecast.left_on.size(), 3u);
  // Three in four of the ends were on the second: it takes 750 tasks at 30 a second.
  ASSERT_TRUE(forecast.left_on[0] && forecast.left_on[1]);
  EXPECT_NEAR(forecast.left_on[0]->likely, 25.5, 0.1);
  EXPECT_NEAR(forecast.left_on[1]->likely, 25.2, 0.1);
  EXPECT_FALSE(forecast.left_on[2]) << "nothing of it is there";
}

TEST(DecideTest, NothingIsSaidOfTheEndWhenNoJobHasEndedAndNoneRuns) {
  auto stats = On(1, 0);
  stats.running = 0;
  Memory memory;
  const auto forecast = Decide({stats}, 1000, 0, kWindow, memory);
  EXPECT_FALSE(forecast.left);
  EXPECT_FALSE(forecast.whole.overdue_s);
}

TEST(DecideTest, AShortJobIsNotOverdueBeforeACopyOfItCouldStart) {
  Memory memory;
  const auto forecast = Decide({On(1, 100)}, 0, 0, kWindow, memory);
  ASSERT_TRUE(forecast.whole.overdue_s);
  EXPECT_DOUBLE_EQ(*forecast.whole.overdue_s, 10) << "these jobs take a second";
}

TEST(DecideTest, EachClusterHasAMemoryOfItsOwn) {
  Memory memory;
  Decide({On(1, 0)}, 1000, 0, kWindow, memory);
  const auto forecast = Decide({On(1, 100), On(2, 5000)}, 1000, 10, kWindow, memory);
  EXPECT_EQ(memory.size(), 2u);
  EXPECT_EQ(forecast.placements[1].rate, 0) << "its jobs ended before it was seen first";
  EXPECT_GT(forecast.placements[0].rate, 0);
}

}  // namespace
}  // namespace cigri::predictor
