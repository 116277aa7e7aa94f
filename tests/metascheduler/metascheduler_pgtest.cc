// The pass of the metascheduler on real tables: what it reads of settings and of the JDL, and what
// it writes.
#include "tests/metascheduler/fixture.h"

namespace cigri::metascheduler {
namespace {

TEST_F(GridTest, TheKeyOfCanaryJobsBoundsThePlanAndTheStatementThatReadsFailures) {
  Policy("policy", "fifo");
  Cluster(1, 100);
  const auto c = Campaign({.tasks = 1000, .verified = false});
  Pass();
  EXPECT_EQ(Granted(c), kDefaultCanaryJobs);
  Policy("canary_jobs", 20);
  Pass();
  EXPECT_EQ(Granted(c), 20);
  Sql("UPDATE placements SET ended = 6");
  Pass();
  EXPECT_EQ(Granted(c), 14);
  // A campaign with no more tasks than there are canary jobs is never held: it has none.
  Sql("UPDATE campaign_cursor SET ntasks = 20");
  Pass();
  EXPECT_EQ(Granted(c), 20);
  Policy("canary_jobs", 19);
  Pass();
  EXPECT_EQ(Granted(c), 13);
}

TEST_F(GridTest, JobsThatEndMakeRoomInTheNextPlanAlsoWhenItIsTheSame) {
  Policy("policy", "fifo");
  Cluster(1, 4);
  const auto c = Campaign({.tasks = 100});
  Pass();
  const int planned = Granted(c);
  auto jobs = Claim()[{c, 1}];
  ASSERT_EQ(static_cast<int>(jobs.size()), planned);
  End({jobs[0], jobs[1]}, 1);
  EXPECT_TRUE(Claim().empty()) << "the plan did not mean these";
  Pass();
  EXPECT_EQ(Granted(c), planned);
  EXPECT_EQ((Claim()[{c, 1}].size()), 2u);
}

TEST_F(GridTest, TheJdlSelectsTheCampaignScheduler) {
  Policy("policy", "fifo");
  Cluster(1, 11);  // ten slots, and one job may wait
  const auto usual = Campaign({.tasks = 1000});
  Pass();
  EXPECT_EQ(Granted(usual), 11);
  Sql("UPDATE campaigns SET jdl = jdl || '{\"scheduler\": \"immediate\"}'");
  Fresh();
  Pass();
  EXPECT_EQ(Granted(usual), 10);
  EXPECT_EQ(Why(usual, 1), "CAMPAIGN_SCHEDULER");
}

TEST_F(GridTest, APlanIsOneTransactionOfPlanStateAndGrants) {
  Policy("policy", "fifo");
  Cluster(1, 5);
  Campaign({.tasks = 1000});
  Pass();
  EXPECT_EQ(Number("SELECT count(*) FROM plans"), 1);
  EXPECT_EQ(Number("SELECT count(*) FROM grants AS g JOIN plan_state AS s USING (plan_id)"), 1);
  Pass();
  EXPECT_EQ(Number("SELECT count(*) FROM plans"), 1) << "an equal plan is not written again";
  Sql("UPDATE grid SET epoch = epoch + 1");
  EXPECT_THROW(Pass(), std::exception) << "a later leader's grants are not replaced";
  EXPECT_EQ(Number("SELECT count(*) FROM grants"), 1);
}

TEST_F(GridTest, WhatAnObservedClusterWouldBeSentStandsApartFromTheGrants) {
  Policy("policy", "fifo");
  Cluster(1, 5);
  Sql("UPDATE clusters SET mode = 'observe'");
  const auto c = Campaign({.tasks = 1000});
  Pass();
  EXPECT_EQ(Granted(c), 0);
  EXPECT_EQ(Number("SELECT sum(n) FROM would_send"), 5);
  Sql("UPDATE campaigns SET wanted = 'paused', state = 'paused'");
  Fresh();
  Pass();
  EXPECT_EQ(Number("SELECT count(*) FROM would_send"), 0);
}

}  // namespace
}  // namespace cigri::metascheduler
