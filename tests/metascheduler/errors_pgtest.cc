// What may go wrong: never a division by zero, never an idle slot next to a waiting job without a
// reason that can be read.
#include "tests/metascheduler/fixture.h"

namespace cigri::metascheduler {
namespace {

constexpr const char* kPolicies[] = {"fifo",    "affinity",  "usage",
                                     "sla",     "lottery",   "stride",
                                     "dynamic", "fairshare", "fairshare-simple"};

class ErrorsPgTest : public GridTest {
 protected:
  void Policy(const std::string& policy) {
    if (policy == "sla") GridTest::Policy("sla.groups", {{"g", 5}});
    GridTest::Policy("policy", policy);
  }
  // A campaign that waits while it is given nothing says why.
  void ExpectReasons(const std::string& when) {
    EXPECT_EQ(
        Number(
            "SELECT count(*) FROM campaigns AS c WHERE NOT EXISTS (SELECT FROM reasons AS r WHERE "
            "r.campaign_id = c.id AND r.until IS NULL AND r.code <> 'NONE') AND NOT EXISTS (SELECT "
            "FROM "
            "grants AS g WHERE g.campaign_id = c.id)"),
        0)
        << when;
  }
};

TEST_F(ErrorsPgTest, AllClustersBlocked) {
  Cluster(1, 10);
  Cluster(2, 10);
  Cluster(3, 10);
  Sql("UPDATE clusters SET enabled = false WHERE id = 1");
  Sql("UPDATE clusters SET drained = true, drain_reason = 'paint' WHERE id = 2");
  Sql("UPDATE cluster_status SET answered_at = now() - interval '1 hour' WHERE cluster_id = 3");
  const auto c = Campaign({.clusters = {1, 2, 3}, .sla_group = "g"});
  for (const char* policy : kPolicies) {
    Policy(policy);
    Fresh();
    Pass();
    EXPECT_EQ(Granted(c), 0) << policy;
    EXPECT_EQ(Why(c, 1), "CLUSTER_DISABLED") << policy;
    EXPECT_EQ(Why(c, 2), "CLUSTER_DRAINED") << policy;
    EXPECT_EQ(Why(c, 3), "CLUSTER_STALE") << policy;
    ExpectReasons(policy);
  }
}

TEST_F(ErrorsPgTest, ACampaignWiderThanAnyClusterStopsNobody) {
  Cluster(1, 10);
  const auto wide = Campaign({.clusters = {1}, .slots = 64, .sla_group = "g"});
  const auto usual = Campaign({.user = "b", .sla_group = "g"});
  for (const char* policy : kPolicies) {
    Policy(policy);
    GridTest::Policy("multi_slot.age", 1);
    Fresh();
    Pass();
    EXPECT_EQ(Granted(wide), 0) << policy;
    EXPECT_EQ(Why(wide), "TOO_MANY_SLOTS") << policy;
    EXPECT_GE(Granted(usual), 9) << policy;
  }
}

TEST_F(ErrorsPgTest, NoHistoryNoSnapshotNoClusterAtAll) {
  const auto nowhere = Campaign({.clusters = {}, .sla_group = "g"});
  Cluster(1, 10);
  const auto c = Campaign({.sla_group = "g"});
  for (const char* policy : kPolicies) {
    Policy(policy);
    Sql("DELETE FROM usage");
    Sql("DELETE FROM plan_state");
    Fresh();
    Pass();
    EXPECT_EQ(Granted(c), 10) << policy;
    EXPECT_EQ(Why(nowhere), "NO_CLUSTER") << policy;
    Sql("DELETE FROM gridstatus");
    Fresh();
    Pass();
    EXPECT_EQ(Granted(c), 0) << policy;
    ExpectReasons(policy);
    Resources(1, 9);
  }
}

TEST_F(ErrorsPgTest, AnEmptyGridIsDecidedToo) {
  for (const char* policy : kPolicies) {
    Policy(policy);
    Fresh();
    Pass();
  }
  EXPECT_EQ(Number("SELECT count(*) FROM grants"), 0);
}

TEST_F(ErrorsPgTest, AClockThatStepsIsLivedWith) {
  Cluster(1, 10);
  const auto c = Campaign({.sla_group = "g", .age_s = 100});
  const auto other = Campaign({.user = "b", .sla_group = "g"});
  GridTest::Policy("start_rates",
                   nlohmann::json::array(
                       {{{"scope", "grid"}, {"name", ""}, {"per_minute", 6000}, {"burst", 1000}}}));
  for (const char* policy : kPolicies) {
    Policy(policy);
    for (const double step : {86400.0, -2 * 86400.0, 86400.0}) {
      Fresh();
      Cycle();
      Run(Live(c), 5);
      Run(Live(other), 5);
      LetPass(step);  // back, then forth
      Pass();
      ExpectReasons(policy);
    }
    End(Live(c), 5);
    End(Live(other), 5);
    Fresh();
    Pass();
    EXPECT_EQ(Granted(c) + Granted(other), 10) << policy;
  }
}

TEST_F(ErrorsPgTest, WhatAUserWritesIntoItsJdlStopsNobody) {
  Policy("fifo");
  Cluster(1, 10);
  const auto odd = Campaign({.tasks = 1,
                             .jdl = {{"licences", {{"a", "b"}}},
                                     {"affinity_wait", "soon"},
                                     {"min_duration", {1}},
                                     {"after", "x"},
                                     {"class", 7}},
                             .options = {{"start_rate", "often"}}});
  const auto usual = Campaign({.user = "b"});
  Pass();
  EXPECT_EQ(Granted(odd) + Granted(usual), 10);
}

TEST_F(ErrorsPgTest, ARestartWritesNoReasonAgainThatStillHolds) {
  Policy("fifo");
  Cluster(1, 4);
  Cluster(2, 4);
  for (int i = 0; i < 5; ++i)
    Campaign({.tasks = 30, .user = "u" + std::to_string(i), .clusters = {1, 2}});
  Pass();
  const std::string versions =
      "SELECT string_agg(xmin::text, ' ' ORDER BY campaign_id, cluster_id, code) FROM reasons";
  const auto before = Text(versions);
  ASSERT_GE(Number("SELECT count(*) FROM reasons"), 8);
  Fresh();
  Pass();
  EXPECT_EQ(Text(versions), before);
  Sql("UPDATE reasons SET numbers = '{\"free\": 99}' WHERE cluster_id = 1");
  Fresh();
  Pass();
  EXPECT_EQ(Number("SELECT count(*) FROM reasons WHERE numbers = '{\"free\": 99}'"), 0)
      << "what differs is written";
}

TEST_F(ErrorsPgTest, NoSlotIsIdleNextToAWaitingJobWithoutAReason) {
  Cluster(1, 20);
  Cluster(2, 20);
  for (int i = 0; i < 6; ++i)
    Campaign({.tasks = 30,
              .user = "u" + std::to_string(i % 3),
              .clusters = i % 2 == 0 ? std::vector{1, 2} : std::vector{2},
              .slots = 1 + i % 3,
              .sla_group = "g",
              .verified = i != 4});
  for (const char* policy : kPolicies) {
    Policy(policy);
    Sql("DELETE FROM plan_state");
    Fresh();
    Pass();
    EXPECT_GE(Number("SELECT sum(g.n * cc.slots) FROM grants AS g JOIN campaign_clusters AS cc "
                     "USING (campaign_id, cluster_id)"),
              36)
        << policy << ": two slots at most are too few for the next job";
    ExpectReasons(policy);
  }
}

}  // namespace
}  // namespace cigri::metascheduler
