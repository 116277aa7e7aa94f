// Clusters that run some jobs much longer than others, and the last tasks of a campaign.
#include "policy/forecast/stragglers.h"

#include <gtest/gtest.h>

#include "core/histogram.h"
#include "policy/explain/whatif.h"
#include "tests/policy/fixture.h"

namespace cigri::policy::test {
namespace {

TEST(LongJobsTest, SuccessesAreLongByTheirHistogram) {
  std::vector<std::int64_t> hist(kDurationBuckets);
  hist[DurationBucket(10)] = 98;
  hist[DurationBucket(100)] = 2;
  LongJobs jobs;
  AddSuccesses(hist, 25, 10, jobs);
  EXPECT_DOUBLE_EQ(jobs.n, 100);
  EXPECT_DOUBLE_EQ(jobs.long_n, 2);
  EXPECT_NEAR(jobs.times, 20, 2) << "each ten times the mean";
  LongJobs running;
  AddRunning(2, 60, 10, running);
  EXPECT_DOUBLE_EQ(running.n, 2);
  EXPECT_DOUBLE_EQ(running.times, 12) << "in the middle: 60 s of 120";
}

class FindStragglersTest : public ::testing::Test {
 protected:
  FindStragglersTest() {
    s_.AddCluster(10), s_.AddCluster(10);
    s_.AddCampaign(10, "ann"), s_.AddCampaign(10, "ben");
  }
  // The part of long jobs on cluster 1 beyond the usual, in percent, as ann's campaign gets it.
  double On1(const std::vector<LongJobs>& jobs) {
    SetStragglers(FindStragglers(jobs, 3), s_.snapshot.campaigns);
    EXPECT_EQ(s_.placement(1, 2).straggler_share, 0);
    return 100 * s_.placement(1, 1).straggler_share;
  }
  PolicyFixture s_;
};

LongJobs Jobs(const std::string& user, std::int64_t cluster, double n, double long_n = 0,
              double times = 0, double killed = 0) {
  return {user, cluster, n, killed, long_n, times};
}

TEST_F(FindStragglersTest, TheyAreCountedAgainstAllOtherClusters) {
  EXPECT_NEAR(On1({Jobs("ann", 1, 60, 1, 10), Jobs("ann", 1, 40, 2, 17), Jobs("ann", 2, 999)}), 3,
              .1);
  EXPECT_FLOAT_EQ(s_.placement(1, 1).straggler_times, 9);
}

TEST_F(FindStragglersTest, WhatIsUsualOrLittleKnownIsNone) {
  const LongJobs here = Jobs("ann", 1, 100, 3, 27);
  EXPECT_GT(On1({here, Jobs("ann", 2, 1000)}), 0);
  EXPECT_EQ(On1({here, Jobs("ann", 2, 1000, 15, 90)}), 0) << "twice as often";
  EXPECT_EQ(On1({here, Jobs("ann", 2, 10)}), 0) << "ten others say little";
  EXPECT_EQ(On1({here}), 0) << "there is nothing to compare with";
}

// Where the cluster's own users kill jobs the long ones are killed, and succeed on the calm one.
TEST_F(FindStragglersTest, ACalmClusterNextToARoughOneIsNotSlow) {
  const LongJobs here = Jobs("ann", 1, 100, 10, 90);
  EXPECT_GT(On1({here, Jobs("ann", 2, 1000, 0, 0, 10)}), 0);
  EXPECT_EQ(On1({here, Jobs("ann", 2, 1000, 0, 0, 50)}), 0);
}

// Who runs long jobs on a cluster on purpose would have it alone.
TEST_F(FindStragglersTest, WhatOneUserDoesKeepsNoOtherFromACluster) {
  std::vector<LongJobs> jobs = {Jobs("mallory", 1, 100, 50, 50'000), Jobs("mallory", 2, 1000),
                                Jobs("ann", 1, 100), Jobs("ann", 2, 1000)};
  EXPECT_EQ(On1(jobs), 0);
  EXPECT_EQ(s_.placement(2, 1).straggler_share, 0);
  jobs.push_back(Jobs("cleo", 1, 100, 2, 18)), jobs.push_back(Jobs("cleo", 2, 1000));
  EXPECT_NEAR(On1(jobs), 2, .1) << "two have seen as much";
  EXPECT_FLOAT_EQ(s_.placement(2, 1).straggler_times, 9);
}

// Cluster 1 is faster and goes first, and one of its jobs in 20 takes ten times as long; 2 is not
// so.
class StragglersTest : public ::testing::Test {
 protected:
  StragglersTest() {
    s_.AddCluster(10, 2), s_.AddCluster(10);
    Add(8, "alice");
  }
  void Add(int tasks, const std::string& user) {
    auto& c = s_.AddCampaign(tasks, user);
    c.done = 100, c.need_s = c.mean_s = 600;
    c.placements[0].straggler_share = .05, c.placements[0].straggler_times = 10;
  }
  PolicyFixture s_;
};

TEST_F(StragglersTest, TheLastTasksGoWhereNoneIsLikelyToLastLong) {
  s_.Run();
  EXPECT_EQ(s_.Given(1, 1), 0);
  EXPECT_EQ(s_.Given(1, 2), 8);
  s_.placement(1, 1).straggler_share = 0;
  s_.Run();
  EXPECT_EQ(s_.Given(1, 1), 8);
}

TEST_F(StragglersTest, NothingIsRecalledThere) {
  s_.campaign(1).waiting = 0;
  s_.placement(1, 2).in_flight = 14, s_.placement(1, 2).running = 10;
  s_.placement(1, 2).running_since = 10 * s_.now;
  auto& full = s_.cluster(2);
  full.free = 0, full.running = full.running_slots = 10, full.waiting = full.waiting_slots = 4;
  s_.Run();
  EXPECT_TRUE(s_.result.plan.recalls.empty());
  s_.placement(1, 1).straggler_share = 0;
  s_.Run();
  EXPECT_FALSE(s_.result.plan.recalls.empty());
}

TEST_F(StragglersTest, TheReasonSaysWhatIsKnown) {
  s_.campaign(1).waiting = 15;
  s_.placement(1, 2).in_flight = s_.placement(1, 2).running = 10;
  s_.placement(1, 2).running_since = 10 * (s_.now - 300);
  s_.cluster(2).free = 0, s_.cluster(2).running = s_.cluster(2).running_slots = 10;
  s_.Run();
  EXPECT_EQ(s_.Given(1), 0);
  ASSERT_EQ(s_.Why(1, 1), "STRAGGLERS");
  for (const auto& r : s_.result.reasons) {
    if (r.cluster != 1) continue;
    EXPECT_EQ(ReasonTexts(s_.snapshot).Text(r),
              "5 % of the jobs on c1 would last 1 h 40 min, and all others of it end in 25 min: "
              "they go elsewhere");
  }
}

TEST_F(StragglersTest, ItIsSaidWhatSwitchingItOffWouldChange) {
  s_.campaign(1).waiting = 15;
  std::string changes;
  for (const auto& found :
       FindWhatIfs(s_.snapshot, s_.state, s_.now, s_.seed, 1, [] { return false; }).useful)
    changes += found.change + "\n";
  EXPECT_NE(changes.find("stragglers.times 0 instead of 3\n"), changes.npos) << changes;
}

TEST_F(StragglersTest, WhileThereIsEnoughToDoAllClustersAreUsed) {
  s_.campaign(1).waiting = 100;  // 6,000 s of work for ten slots, as long as a straggler takes
  s_.Run();
  EXPECT_EQ(s_.Given(1, 1), 10);
  EXPECT_EQ(s_.Given(1, 2), 10);
}

TEST_F(StragglersTest, WhoHasNothingElsewhereTakesWhatThereIs) {
  s_.cluster(2).free = 0;  // others hold it, nobody knows for how long
  s_.Run();
  EXPECT_EQ(s_.Given(1, 1), 8);
  s_.cluster(2).waiting = s_.cluster(2).waiting_slots = s_.placement(1, 2).in_flight = 5;
  s_.Run();
  EXPECT_EQ(s_.Given(1, 1), 8) << "jobs in a queue may wait as long";
  s_.cluster(2).waiting = s_.cluster(2).waiting_slots = s_.placement(1, 2).in_flight = 0;
  s_.cluster(2).free = 10, s_.cluster(2).unusable = Unusable::kDrained;
  s_.Run();
  EXPECT_EQ(s_.Given(1, 1), 8);
  s_.cluster(2).unusable = Unusable::kNo;
  s_.placement(1, 2).straggler_share = .03, s_.placement(1, 2).straggler_times = 9;
  s_.Run();
  EXPECT_EQ(s_.Given(1, 1), 8) << "where it is the same everywhere, it is left out";
}

TEST_F(StragglersTest, OtherUsersTakeTheSlotsThatItLeaves) {
  Add(500, "bob");
  s_.snapshot.config.policy = PolicyKind::kFairshare;
  s_.Run();
  EXPECT_EQ(s_.Given(1, 1), 0);
  EXPECT_EQ(s_.Given(2, 1), 10);
}

}  // namespace
}  // namespace cigri::policy::test
