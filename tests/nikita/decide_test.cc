#include "nikita/decide.h"

#include <gtest/gtest.h>

namespace cigri::nikita {
namespace {

WaitingLane Lane(int n, std::int64_t age_s, std::optional<int> allowed) {
  WaitingLane lane;
  lane.allowed = allowed;
  for (int i = 0; i < n; ++i) lane.newest_first.push_back({100 - i, age_s});
  return lane;
}

TEST(WipeTest, AFloodIsWipedNewestFirstDownToWhatIsKept) {  // CIG-36, CIG-50
  auto lane = Lane(10, 60, 4);
  lane.keep = 3;
  EXPECT_EQ(Decide(lane).excess, (std::vector<std::int64_t>{100, 99, 98, 97, 96, 95, 94}));
}

TEST(WipeTest, UpToTwiceWhatIsAllowedIsNoFlood) {
  EXPECT_TRUE(Decide(Lane(8, 60, 4)).excess.empty());
  EXPECT_FALSE(Decide(Lane(9, 60, 4)).excess.empty());
}

TEST(WipeTest, WithoutAForecastNothingIsTooMany) {
  EXPECT_TRUE(Decide(Lane(1000, 60, std::nullopt)).excess.empty());
}

TEST(WipeTest, YoungJobsAreLeftToStart) { EXPECT_TRUE(Decide(Lane(100, 29, 1)).excess.empty()); }

TEST(WipeTest, AWipeNeverLeavesAClusterWithoutAJob) {
  auto lane = Lane(10, 60, 1);
  lane.keep = 0;
  EXPECT_EQ(Decide(lane).excess.size(), 9u);
}

TEST(WipeTest, WaitingTooLongCountsOnlyWhereAnotherClusterCouldTakeTheTask) {
  auto lane = Lane(2, 900, 5);
  EXPECT_TRUE(Decide(lane).too_long.empty());
  lane.elsewhere = true;
  EXPECT_EQ(Decide(lane).too_long.size(), 2u);
  lane.timeout_s = 901;
  EXPECT_TRUE(Decide(lane).too_long.empty());
}

}  // namespace
}  // namespace cigri::nikita
