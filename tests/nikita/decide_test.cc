#include "nikita/decide.h"

#include <gtest/gtest.h>

namespace cigri::nikita {
namespace {

PendingJobs Pending(int n, std::int64_t age_s, std::optional<int> allowed) {
  PendingJobs pending;
  pending.allowed = allowed;
  for (int i = 0; i < n; ++i) pending.newest_first.push_back({100 - i, age_s});
  return pending;
}

TEST(TrimTest, ExcessJobsAreKilledNewestFirstDownToWhatIsKept) {  // CIG-36, CIG-50
  auto pending = Pending(10, 60, 4);
  pending.keep = 3;
  EXPECT_EQ(Decide(pending).excess, (std::vector<std::int64_t>{100, 99, 98, 97, 96, 95, 94}));
}

TEST(TrimTest, UpToTwiceTheAllowedJobsMayWait) {
  EXPECT_TRUE(Decide(Pending(8, 60, 4)).excess.empty());
  EXPECT_FALSE(Decide(Pending(9, 60, 4)).excess.empty());
}

TEST(TrimTest, WithoutAForecastNothingIsTooMany) {
  EXPECT_TRUE(Decide(Pending(1000, 60, std::nullopt)).excess.empty());
}

TEST(TrimTest, YoungJobsAreLeftToStart) { EXPECT_TRUE(Decide(Pending(100, 29, 1)).excess.empty()); }

TEST(TrimTest, ATrimLeavesAtLeastOneJob) {
  auto pending = Pending(10, 60, 1);
  pending.keep = 0;
  EXPECT_EQ(Decide(pending).excess.size(), 9u);
}

TEST(TrimTest, WaitingTooLongCountsOnlyWhereAnotherClusterCouldTakeTheTask) {
  auto pending = Pending(2, 900, 5);
  EXPECT_TRUE(Decide(pending).too_long.empty());
  pending.elsewhere = true;
  EXPECT_EQ(Decide(pending).too_long.size(), 2u);
  pending.timeout_s = 901;
  EXPECT_TRUE(Decide(pending).too_long.empty());
}

}  // namespace
}  // namespace cigri::nikita
