// A drain has an end that can be relied on: no POST starts after it has returned.
#include <sql/clusters.h>
#include <sql/kills.h>

#include <future>

#include "tests/gridadmin/grid.h"

namespace cigri::test {
namespace {

class DrainPgTest : public GridadminPgTest {
 protected:
  void SetUp() override {
    GridadminPgTest::SetUp();
    GivenCluster("c1");
    GivenCluster("c2");
  }
  static std::string IntendSql(int cluster, const std::string& send_by) {
    static int number = 0;
    return "INSERT INTO batches (first_job_id, kind, campaign_id, cluster_id, n, first_idx, slots, "
           "tag, epoch, "
           "send_by) VALUES (1, 'task', 1, " +
           std::to_string(cluster) + ", 1, 0, 1, 'tag" + std::to_string(++number) + "', 0, " +
           send_by + ")";
  }
  std::string MayStillStart() {
    return One(
        "SELECT count(*) FROM batches JOIN clusters AS c ON c.id = cluster_id "
        "WHERE c.drained AND state = 'intended' AND send_by > clock_timestamp()");
  }
};

TEST_F(DrainPgTest, ItReturnsOnlyWhenNothingClaimedBeforeMayBeSent) {
  Sql(IntendSql(1, "clock_timestamp() + interval '1 second'"));
  const Ran drained = Admin("drain c1 --reason 'new disks'");
  EXPECT_EQ(MayStillStart(), "0");
  EXPECT_EQ(drained.code, 0) << drained.err;
  EXPECT_EQ(One("SELECT drain_reason || drained || kill_all FROM clusters WHERE name = 'c1'"),
            "new diskstruefalse");
  EXPECT_EQ(One("SELECT drained FROM clusters WHERE name = 'c2'"), "f");
}

TEST_F(DrainPgTest, SoDoesWhatClosesAClusterInAnotherWay) {
  for (const char* how : {"observe c1", "disable c1"}) {
    Sql("UPDATE clusters SET mode = 'unlimited', enabled = true");
    Sql(IntendSql(1, "clock_timestamp() + interval '1 second'"));
    EXPECT_EQ(Admin(std::string("cluster ") + how).code, 0) << how;
    EXPECT_EQ(One("SELECT count(*) FROM batches WHERE send_by > clock_timestamp()"), "0") << how;
  }
}

TEST_F(DrainPgTest, ItReturnsAsSoonAsTheRunnerHasAnswered) {
  Sql(IntendSql(1, "clock_timestamp() + interval '1 hour'"));
  auto drained = std::async(std::launch::async, [&] { return Admin("drain c1 --reason x").code; });
  while (One("SELECT drained FROM clusters WHERE name = 'c1'") != "t") std::this_thread::yield();
  EXPECT_EQ(drained.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout);
  Sql("UPDATE batches SET state = 'recorded'");
  ASSERT_EQ(drained.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_EQ(drained.get(), 0);
}

TEST_F(DrainPgTest, AClaimUnderWayIsWaitedForEvenWhenItsRunnerIsStuck) {
  auto runner = Connect("runner");
  std::future<Ran> drained;
  {
    db::Tx claim(*runner);
    claim.Raw("SELECT drained FROM clusters WHERE id = 1 FOR SHARE");
    drained = std::async(std::launch::async, [&] { return Admin("drain all --reason x"); });
    while (One("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND "
               "application_name = 'cigri api' AND query LIKE '%drain_reason%'") == "0")
      std::this_thread::yield();
    claim.Raw(IntendSql(1, "clock_timestamp() + interval '500 milliseconds'"));
    claim.Commit();
  }
  EXPECT_EQ(drained.get().code, 0);
  EXPECT_EQ(MayStillStart(), "0");
  EXPECT_EQ(One("SELECT count(*) FROM clusters WHERE drained"), "2");
}

TEST_F(DrainPgTest, KillIsRememberedUntilResumed) {
  EXPECT_EQ(Admin("stop c1 --kill --reason fire --until 2h").code, 0);
  EXPECT_EQ(One("SELECT kill_all || ' ' || (drained_until > now() + interval '110 minutes') FROM "
                "clusters "
                "WHERE name = 'c1'"),
            "true true");
  EXPECT_EQ(Admin("drain all --reason 'also this'").code, 0);
  EXPECT_EQ(One("SELECT kill_all FROM clusters WHERE name = 'c1'"), "t");
  const Ran list = Admin("cluster list");
  EXPECT_TRUE(Has(list.out, "stopped") && Has(list.out, "drained") && Has(list.out, "also this"))
      << list.out;
  EXPECT_EQ(Admin("resume all").out, "resumed: c1, c2\n");
  EXPECT_EQ(
      One("SELECT count(*) FROM clusters WHERE drained OR kill_all OR drain_reason IS NOT NULL"),
      "0");
}

TEST_F(DrainPgTest, ADrainEndsAtTheTimeThatWasSaidAndNotBefore) {
  Sql("UPDATE clusters SET drained = true, kill_all = true, drain_reason = 'x', drained_until = "
      "now() + "
      "CASE name WHEN 'c1' THEN interval '-1 second' ELSE interval '1 hour' END");
  context_->Transact([](db::Tx& tx) {
    EXPECT_TRUE(tx.One(sql::kCleaningWork).drain_over);
    tx.Exec(sql::kEndTimedDrains);
    EXPECT_FALSE(tx.One(sql::kCleaningWork).drain_over);
  });
  EXPECT_EQ(One("SELECT string_agg(name, ' ') FROM clusters WHERE drained AND kill_all"), "c2");
}

TEST_F(DrainPgTest, WhatIsMissingOrWrongIsSaid) {
  EXPECT_EQ(Admin("drain c1").code, 64);
  EXPECT_EQ(Admin("drain c1 --reason x --until yesterday").code, 64);
  EXPECT_EQ(Admin("drain nosuch --reason x").code, 1);
  EXPECT_EQ(Admin("resume nosuch").code, 1);
  EXPECT_EQ(One("SELECT count(*) FROM clusters WHERE drained"), "0");
}

TEST_F(DrainPgTest, ADrainIsAnEventUntilTheClusterIsResumed) {
  ASSERT_EQ(Admin("drain all --reason 'new disks'").code, 0);
  EXPECT_EQ(One("SELECT count(*) FROM events WHERE code = 'DRAINED' AND state = 'open'"), "2");
  EXPECT_TRUE(Has(One("SELECT message FROM events WHERE cluster_id = 1"), "c1 is drained by"));
  EXPECT_TRUE(Has(One("SELECT message FROM events WHERE cluster_id = 1"), ": new disks"));
  ASSERT_EQ(Admin("drain c1 --reason 'more disks'").code, 0);
  EXPECT_TRUE(Has(One("SELECT message FROM events WHERE cluster_id = 1"), "more disks"));
  ASSERT_EQ(Admin("resume c1").code, 0);
  EXPECT_EQ(One("SELECT string_agg(cluster_id::text, ' ') FROM events WHERE state = 'open'"), "2");
}

}  // namespace
}  // namespace cigri::test
