#include "nikita/decide.h"

#include <gtest/gtest.h>

namespace cigri::nikita {
namespace {

// Jobs 100, 99... of one campaign.
PendingJobs Pending(int n, double age_s, int allowed) {
  PendingJobs pending;
  for (int i = 0; i < n; ++i)
    pending.newest_first.push_back({.job_id = 100 - i, .age_s = age_s, .allowed = allowed});
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

TEST(TrimTest, JobsOfAllCampaignsFillOneQueue) {
  PendingJobs pending;  // five each of twenty campaigns, and no more than five may wait
  for (int i = 0; i < 100; ++i)
    pending.newest_first.push_back({.job_id = 100 - i, .age_s = 60, .allowed = 5});
  EXPECT_EQ(Decide(pending).excess.size(), 99u);
  // A long job takes more of the queue than many short ones: 3 / 2 + 60 / 200 is under 2.
  pending = Pending(3, 60, 2);
  for (int i = 0; i < 60; ++i) pending.newest_first.push_back({.age_s = 90, .allowed = 200});
  EXPECT_TRUE(Decide(pending).excess.empty());
  pending.newest_first.push_back({.age_s = 99, .allowed = 2});
  EXPECT_EQ(Decide(pending).excess.size(), 63u);
}

TEST(TrimTest, WithoutAForecastNothingIsTooMany) {
  EXPECT_TRUE(Decide(Pending(1000, 60, 0)).excess.empty());
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
  for (auto& job : pending.newest_first) job.elsewhere = true;
  EXPECT_EQ(Decide(pending).too_long.size(), 2u);
  pending.timeout_s = 901;
  EXPECT_TRUE(Decide(pending).too_long.empty());
}

}  // namespace
}  // namespace cigri::nikita
