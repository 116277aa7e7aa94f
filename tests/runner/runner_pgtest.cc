// The pass of the runner as it runs: rows in PostgreSQL, threads, and clusters in memory.
#include "runner/runner.h"
#include "runner/tag.h"
#include "tests/runner/fake_site.h"
#include "tests/support/await.h"
#include "tests/support/rows.h"
#include "tests/support/wakers.h"

namespace cigri::runner {
namespace {

using test::Await;
using test::Network;

class RunnerPgTest : public test::RowsTest {
 protected:
  void SetUp() override {
    RowsTest::SetUp();
    db_ = Connect();
  }
  void TearDown() override {
    runner_.reset();
    db_.reset();
    RowsTest::TearDown();
  }
  void Pass() {
    module::Step step{*db_, config_, 0, ++number_, number_ == 1, waker_, conninfo()};
    runner_->Pass(step);
  }
  /// Passes until `what` has a row.
  bool PassUntil(const std::string& what) {
    return Await([&] {
      Pass();
      return Count(what) > 0;
    });
  }
  static std::string Jobs(int n, const std::string& where = "true") {
    return "(SELECT count(*) AS n FROM live WHERE " + where +
           ") AS jobs WHERE n = " + std::to_string(n);
  }

  test::FakeSite site_;
  test::TestWaker waker_;
  Config config_;
  std::unique_ptr<db::Connection> db_;
  int drivers_ = 0;
  std::unique_ptr<Runner> runner_ =
      std::make_unique<Runner>([this](const clusterdb::ClusterRow& row) {
        ++drivers_;
        return site_.MakeDriver(row);
      });
  std::int64_t number_ = 0;
};

TEST_F(RunnerPgTest, ARunnerWhosePassesFailGivesItsClustersAway) {
  GivenClusters(1);
  runner_ = std::make_unique<Runner>(clusterdb::DriverFactory(), std::chrono::milliseconds(200));
  Pass();
  EXPECT_EQ(Count("cluster_leases AS l JOIN living_runners AS r ON r.id = l.runner_id"), 1);
  Sql("ALTER TABLE grants RENAME TO gone");
  EXPECT_THROW(Pass(), db::SqlError) << "once is no reason";
  EXPECT_TRUE(Await([&] {
    try {
      Pass();
    } catch (const db::SqlError&) {
      return false;
    } catch (const module::StaleEpoch&) {
      return true;  // and the process ends
    }
    return false;
  }));
  runner_ = std::make_unique<Runner>();
  EXPECT_EQ(Count("living_runners"), 0);
  EXPECT_THROW(Pass(), db::SqlError);
  EXPECT_EQ(Count("living_runners"), 0) << "the next process takes nothing either";
}

TEST_F(RunnerPgTest, AWrongSettingTakesNoCluster) {
  GivenClusters(1);
  config_.Set("SEND_WINDOW", "1");
  EXPECT_THROW(Pass(), Fatal);
  EXPECT_EQ(Count("living_runners"), 0);
}

TEST_F(RunnerPgTest, APassSubmitsWhatThePlanGrantsOnEveryCluster) {
  GivenClusters(10);
  const auto campaign = GivenCampaign({.ntasks = 100, .clusters = 10});
  for (int k = 1; k <= 10; ++k) GivenGrant(campaign, k, 3);
  EXPECT_TRUE(PassUntil(Jobs(30)));
  EXPECT_EQ(site_.Taken(), 10u) << "one array each";
  EXPECT_EQ(Count("batches WHERE state = 'recorded'"), 10);
  ExpectConservation(campaign);
}

// The tasks ran with their numbers as parameters, and were counted as successes.
TEST_F(RunnerPgTest, TasksWhoseParametersAreGoneStopTheirCampaignThereAndNoOther) {
  GivenClusters(1);
  const auto holed = GivenCampaign({.ntasks = 4}), whole = GivenCampaign({.ntasks = 3});
  const std::string h = std::to_string(holed);
  Sql("INSERT INTO uploads (id, grid_user, published) VALUES (7, 'alice', true);"
      "INSERT INTO params_chunk (upload_id, block, off, n, longest, params) VALUES "
      "(7, 1, 2, 2, 1, E'c\\nd\\n'); UPDATE segments SET upload_id = 7 WHERE campaign_id = " +
      h);
  GivenGrant(holed, 1, 4);
  GivenGrant(whole, 1, 3);
  EXPECT_TRUE(PassUntil(Jobs(3, "campaign_id = " + std::to_string(whole))));
  EXPECT_TRUE(
      PassUntil("events WHERE code = 'SUBMIT_REFUSED' AND state = 'open' AND message = "
                "'c1: campaign " +
                h + " has no parameter for task 0' AND campaign_id = " + h));
  EXPECT_EQ(Count("live WHERE campaign_id = " + h), 0);
  ExpectConservation(holed);
}

// Whoever held the cursor of one campaign kept all others on its clusters waiting.
TEST_F(RunnerPgTest, ACampaignThatSomebodyHoldsDelaysNoOtherAndIsClaimedSoonAfter) {
  GivenClusters(1);
  const auto held = GivenCampaign({.ntasks = 4}), other = GivenCampaign({.ntasks = 3});
  GivenGrant(held, 1, 4);
  GivenGrant(other, 1, 3);
  auto api = Connect("api");
  db::Tx changing(*api);
  changing.Raw("SELECT FROM campaign_cursor WHERE campaign_id = " + std::to_string(held) +
               " FOR UPDATE");
  ASSERT_TRUE(Await(
      [&] {
        Pass();
        return Count("live WHERE campaign_id = " + std::to_string(other)) == 3;
      },
      std::chrono::seconds(10)));
  EXPECT_EQ(Count("live"), 3);
  changing.Commit();
  EXPECT_TRUE(Await([&] { return Count("live") == 7; })) << "nobody woke it";
}

TEST_F(RunnerPgTest, WithoutWorkNoDriverIsMade) {
  GivenClusters(2);
  Pass();
  EXPECT_EQ(drivers_, 0);
  GivenGrant(GivenCampaign({.ntasks = 1}), 1, 1);
  Pass();
  EXPECT_EQ(drivers_, 2);
}

TEST_F(RunnerPgTest, AClusterWithoutADriverLeavesTheOthersAlone) {
  GivenClusters(2);
  site_.broken_cluster = "c1";
  const auto campaign = GivenCampaign({.ntasks = 10, .clusters = 2});
  GivenGrant(campaign, 1, 2);
  GivenGrant(campaign, 2, 2);
  EXPECT_TRUE(PassUntil(Jobs(2, "cluster_id = 2")));
  EXPECT_EQ(site_.Taken("c1"), 0u);
}

TEST_F(RunnerPgTest, AClusterThatIsAddedLaterIsServed) {
  GivenClusters(1);
  const auto first = GivenCampaign({.ntasks = 5});
  GivenGrant(first, 1, 5);
  ASSERT_TRUE(PassUntil(Jobs(5)));
  Sql("INSERT INTO clusters (id, name, kind, api_url, mode) VALUES (2, 'c2', 'local', "
      "'unix:/nowhere', 'unlimited')");
  GivenGrant(GivenCampaign({.ntasks = 5, .clusters = 2}), 2, 5);
  EXPECT_TRUE(PassUntil(Jobs(5, "cluster_id = 2")));
}

TEST_F(RunnerPgTest, JobsWhoseSubmissionWasNotAnsweredAreAdopted) {
  GivenClusters(1);
  const auto campaign = GivenCampaign({.ntasks = 4});
  GivenGrant(campaign, 1, 4);
  site_.Set(Network::kLosesAnswers);
  EXPECT_TRUE(PassUntil(Jobs(4)));
  EXPECT_EQ(site_.Taken(), 1u) << "never submitted twice";
  EXPECT_TRUE(PassUntil("events WHERE code = 'SUBMIT_IN_DOUBT' AND state = 'closed'"));
  ExpectConservation(campaign);
}

TEST_F(RunnerPgTest, TasksThatShareAJobAreAdoptedWithIt) {
  GivenClusters(1);
  const auto campaign = GivenCampaign({.ntasks = 20});
  Sql("INSERT INTO forecasts (campaign_id, cluster_id, tasks_per_job) VALUES (" +
      std::to_string(campaign) + ", 1, 3)");
  GivenGrant(campaign, 1, 3);
  site_.Set(Network::kLosesAnswers);
  EXPECT_TRUE(PassUntil(Jobs(9)));
  EXPECT_EQ(site_.Taken(), 1u) << "never submitted twice";
  EXPECT_EQ(Count("(SELECT remote_id FROM live GROUP BY 1) AS jobs"), 3);
  EXPECT_EQ(Count("live WHERE NOT rides"), 3);
  ExpectConservation(campaign);
}

TEST_F(RunnerPgTest, ASubmissionThatNeverArrivedIsRequeuedAndSubmittedAgain) {
  GivenClusters(1);
  const auto campaign = GivenCampaign({.ntasks = 4});
  GivenGrant(campaign, 1, 4);
  site_.Set(Network::kLosesRequests);
  ASSERT_TRUE(PassUntil("batches WHERE state = 'abandoned'"));
  ExpectConservation(campaign);
  site_.Set(Network::kWorks);
  EXPECT_TRUE(PassUntil(Jobs(4)));
  EXPECT_EQ(site_.Taken(), 1u);
  ExpectConservation(campaign);
}

TEST_F(RunnerPgTest, WithoutARevokeOneAbsenceIsNotFinal) {
  GivenClusters(1);
  site_.revokes = false;
  const auto campaign = GivenCampaign({.ntasks = 4});
  GivenGrant(campaign, 1, 4);
  site_.Set(Network::kLosesRequests);
  ASSERT_TRUE(PassUntil("batches WHERE absences = 2"));
  EXPECT_EQ(Count("batches WHERE state = 'in_doubt'"), 1);
  EXPECT_EQ(Count("retry"), 0);
  ExpectConservation(campaign);
}

TEST_F(RunnerPgTest, TheIntentOfARunnerThatWasKilledIsLookedUp) {
  GivenClusters(1);
  const auto campaign = GivenCampaign({.ntasks = 3});
  GivenGrant(campaign, 1, 3);
  {
    db::Tx tx(*db_);
    const auto batches = Store(1, "grid", 0, 0)
                             .Claim(
                                 tx, 10, [](std::int64_t) { return 10; }, 10, false);
    tx.Commit();
    site_.GivenSubmitted("c1", batches.at(0).tag, 3);
  }
  EXPECT_TRUE(PassUntil(Jobs(3)));
  EXPECT_EQ(site_.Taken(), 1u) << "adopted, not submitted again";
  ExpectConservation(campaign);
}

TEST_F(RunnerPgTest, JobsOnHoldAreReleasedInTheNameOfTheirUser) {
  GivenClusters(1);
  site_.hold_release = true;
  const auto campaign = GivenCampaign({.ntasks = 2});
  Sql("UPDATE campaign_clusters SET cluster_login = 'alice-there'");
  GivenGrant(campaign, 1, 2);
  EXPECT_TRUE(PassUntil("batches WHERE state = 'recorded' AND released"));
  EXPECT_EQ(site_.Releases(), std::vector<std::string>{"alice-there"});
}

// The release, and the look-up, of one user's jobs made the whole cluster wait, longer each time.
TEST_F(RunnerPgTest, AUserWithoutATokenKeepsNobodyElseWaiting) {
  GivenClusters(1);
  site_.hold_release = true;
  site_.TakeToken("alice-there");
  const auto alice = GivenCampaign({.ntasks = 2}), bob = GivenCampaign({.ntasks = 40});
  Sql("UPDATE campaign_clusters SET cluster_login = CASE campaign_id WHEN " +
      std::to_string(alice) + " THEN 'alice-there' ELSE 'bob-there' END");
  const auto released = [&](std::int64_t campaign, int n) {
    return "(SELECT count(*) AS n FROM batches JOIN live ON batch_id = id WHERE released AND "
           "batches.campaign_id = " +
           std::to_string(campaign) + ") AS jobs WHERE n = " + std::to_string(n);
  };
  GivenGrant(alice, 1, 1);
  ASSERT_TRUE(PassUntil(Jobs(1)));
  for (int n = 10; n <= 30; n += 10) {
    GivenGrant(bob, 1, n);
    ASSERT_TRUE(PassUntil(released(bob, n))) << n;
  }
  site_.Set(Network::kLosesAnswers);
  GivenGrant(alice, 1, 2);
  ASSERT_TRUE(PassUntil("batches WHERE state = 'in_doubt'"));
  site_.Set(Network::kWorks);
  GivenGrant(bob, 1, 40);
  ASSERT_TRUE(PassUntil(released(bob, 40)));
  EXPECT_EQ(Count("batches WHERE state = 'refused'"), 0);
  site_.TakeToken("-");
  EXPECT_TRUE(PassUntil(released(alice, 2)));
  ExpectConservation(alice);
  ExpectConservation(bob);
}

// Its disk was full: tasks went round and round, and no event said so.
TEST_F(RunnerPgTest, AClusterThatTakesNothingIsReportedUntilItDoes) {
  GivenClusters(1);
  GivenGrant(GivenCampaign({.ntasks = 1}), 1, 1);
  site_.Refuse("database or disk is full");
  EXPECT_TRUE(
      PassUntil("events WHERE code = 'CLUSTER_FAULT' AND state = 'open' AND message = "
                "'c1 takes no jobs: database or disk is full'"));
  site_.Refuse("");
  EXPECT_TRUE(PassUntil("events WHERE code = 'CLUSTER_FAULT' AND state = 'closed'"));
}

// What an operator changed of a cluster that hung kept all the others waiting until its call ended.
TEST_F(RunnerPgTest, AClusterThatHangsAndIsChangedDelaysNoOther) {
  GivenClusters(2);
  const auto campaign = GivenCampaign({.ntasks = 40, .clusters = 2});
  site_.Hang("c1");
  GivenGrant(campaign, 1, 4);
  ASSERT_TRUE(PassUntil("batches WHERE state = 'intended'"));
  Sql("UPDATE clusters SET options = '{\"max_array\": 7}' WHERE id = 1");
  GivenGrant(campaign, 2, 4);
  EXPECT_TRUE(PassUntil(Jobs(4, "cluster_id = 2")));
  const int drivers = drivers_;
  EXPECT_TRUE(Await([&] {
    Pass();
    GivenGrant(campaign, 2, 8);
    return Count("live WHERE cluster_id = 2") == 8;
  }));
  EXPECT_EQ(drivers_, drivers) << "the changed one waits for its call";
  site_.Hang("");
  EXPECT_TRUE(PassUntil(Jobs(4, "cluster_id = 1")));
  GivenGrant(campaign, 1, 40);  // work, with which rows of clusters are read again
  EXPECT_TRUE(Await([&] {
    Pass();
    return drivers_ == drivers + 1;
  }));
  ExpectConservation(campaign);
}

TEST_F(RunnerPgTest, WhenAnotherRunnerHasTheClusterNothingIsClaimedAndThePassSaysSo) {
  GivenClusters(1);
  Pass();
  GivenGrant(GivenCampaign({}), 1, 5);
  Sql("UPDATE cluster_leases SET epoch = 7");
  EXPECT_TRUE(Await([&] {
    try {
      Pass();
      return false;
    } catch (const module::StaleEpoch&) {
      return true;
    }
  }));
  EXPECT_EQ(Count("batches"), 0);
}

TEST_F(RunnerPgTest, AnExcludedNodeIsTriedByOneJobAtATimeWhenItsTimeIsOver) {
  GivenClusters(1);
  const auto campaign = GivenCampaign({.ntasks = 10});
  Sql("INSERT INTO bad_nodes (cluster_id, node, until) VALUES (1, 'n1', now() + interval '1 hour'),"
      " (1, 'n2', now())");
  GivenGrant(campaign, 1, 4);
  ASSERT_TRUE(PassUntil(Jobs(4)));
  GivenGrant(campaign, 1, 10);
  ASSERT_TRUE(PassUntil(Jobs(10)));
  EXPECT_EQ(Count("batches WHERE node = 'n2' AND n = 1"), 1);
  EXPECT_EQ(Count("batches WHERE node IS NOT NULL"), 1) << "n1 waits, and n2 has one job";
  const auto sent = site_.NodeOptions();
  EXPECT_EQ(std::count(sent.begin(), sent.end(), R"({"node":"n2"})"), 1);
  EXPECT_EQ(std::count(sent.begin(), sent.end(), R"({"excluded_nodes":["n1","n2"]})"),
            static_cast<std::ptrdiff_t>(sent.size()) - 1);
  ExpectConservation(campaign);
}

// The database is an hour older than the clusters: `cigri restore`.
class RestoredRunnerPgTest : public RunnerPgTest {
 protected:
  std::string Tag(std::int64_t campaign, const std::vector<std::int64_t>& idxs, int shared = 1) {
    return NewTag(campaign, Sql("SELECT grid_id FROM grid")[0][0].as<std::string>(), idxs, shared);
  }
  void Restore() {
    Sql("SELECT end_restore(0, 0, 0, 0)");
    number_ = 0;
    runner_ = std::make_unique<Runner>(
        [this](const clusterdb::ClusterRow& row) { return site_.MakeDriver(row); });
    epoch_ = Sql("SELECT epoch FROM grid")[0][0].as<std::int64_t>();
  }
  bool RestoredPassUntil(const std::string& what) {
    return Await([&] {
      module::Step step{*db_, config_, epoch_, ++number_, number_ == 1, waker_, conninfo()};
      runner_->Pass(step);
      return Count(what) > 0;
    });
  }
  std::int64_t epoch_ = 0;
};

TEST_F(RestoredRunnerPgTest, WhatClustersRanSinceTheBackupIsAdoptedAndNotSentAgain) {
  GivenClusters(2);
  const auto campaign = GivenCampaign({.ntasks = 10, .clusters = 2});
  Sql("UPDATE campaign_cursor SET next_idx = 2");
  Sql("INSERT INTO retry (campaign_id, idx, why) VALUES (1, 0, 'killed'), (1, 1, 'killed')");
  site_.GivenSubmitted("c1", Tag(campaign, {1, 2, 3}), 3);
  site_.GivenSubmitted("c2", Tag(campaign, {6, 7}), 2);
  GivenGrant(campaign, 1, 10);
  GivenGrant(campaign, 2, 10);
  Restore();
  EXPECT_TRUE(RestoredPassUntil("(SELECT count(DISTINCT idx) AS n FROM live) AS l WHERE n = 10"));
  EXPECT_EQ(Count("live"), 10) << "each task once";
  EXPECT_EQ(Count("live WHERE idx IN (6, 7) AND cluster_id = 2"), 2);
  EXPECT_EQ(Count("live WHERE idx IN (1, 2, 3) AND cluster_id = 1"), 3);
  EXPECT_EQ(Count("restored_clusters"), 0);
  ExpectConservation(campaign);
}

TEST_F(RestoredRunnerPgTest, TasksThatShareAJobAreAdoptedWithIt) {
  GivenClusters(1);
  const auto campaign = GivenCampaign({.ntasks = 5});
  Sql("UPDATE campaign_cursor SET next_idx = 2");
  Sql("INSERT INTO retry (campaign_id, idx, why) VALUES (1, 0, 'killed'), (1, 1, 'killed')");
  site_.GivenSubmitted("c1", Tag(campaign, {0, 1, 2, 3, 4}, 2), 5, 2);
  GivenGrant(campaign, 1, 10);
  Restore();
  EXPECT_TRUE(RestoredPassUntil("(SELECT count(*) AS n FROM live) AS l WHERE n = 5"));
  EXPECT_EQ(site_.Taken(), 1u) << "nothing is sent again";
  EXPECT_EQ(Sql("SELECT string_agg(idx::text, ' ' ORDER BY idx) FROM live WHERE NOT rides")[0][0]
                .as<std::string>(),
            "1 3 4");
  ExpectConservation(campaign);
}

TEST_F(RestoredRunnerPgTest, NothingIsSentWhileAClusterThatMayRunATaskIsSilent) {
  GivenClusters(2);
  const auto campaign = GivenCampaign({.ntasks = 4, .clusters = 2});
  GivenGrant(campaign, 1, 4);
  site_.silent_cluster = "c2";
  Restore();
  ASSERT_TRUE(RestoredPassUntil("(SELECT count(*) AS n FROM restored_clusters) AS r WHERE n = 1"));
  const auto later = GivenCampaign({.ntasks = 3, .clusters = 2});
  GivenGrant(later, 1, 3);
  ASSERT_TRUE(RestoredPassUntil(Jobs(3))) << "a campaign that is newer than the restore goes on";
  EXPECT_EQ(Count("live WHERE campaign_id = " + std::to_string(campaign)), 0);
  EXPECT_EQ(Count("placement_blocks WHERE code = 'RESTORED'"), 2);
  Sql("UPDATE clusters SET lost_at = now() + interval '1 second' WHERE id = 2");
  EXPECT_TRUE(RestoredPassUntil(Jobs(7))) << "the operator has given the cluster up";
}

// A task ran twice that had asked for its retry before the backup was restored and got it after: the
// updator had read that no other job of it was known, and wrote its retry when one was.
TEST_F(RestoredRunnerPgTest, ARetryThatIsBeingWrittenIsForgottenToo) {
  GivenClusters(1);
  const auto campaign = GivenCampaign({.ntasks = 1});
  Sql("UPDATE campaign_cursor SET next_idx = 1");
  site_.GivenSubmitted("c1", Tag(campaign, {0}), 1);
  GivenGrant(campaign, 1, 10);
  Restore();
  const auto session = Connect();
  std::optional<db::Tx> updator(std::in_place, *session);
  updator->Raw("SELECT epoch FROM grid FOR SHARE");
  updator->Raw("INSERT INTO retry (campaign_id, idx, why) VALUES (1, 0, 'RESUBMIT')");
  ASSERT_TRUE(RestoredPassUntil("live"));
  ASSERT_TRUE(RestoredPassUntil("pg_locks WHERE NOT granted"));
  updator->Commit();
  EXPECT_TRUE(RestoredPassUntil("(SELECT count(*) AS n FROM restored_clusters) AS r WHERE n = 0"));
  EXPECT_EQ(Count("retry"), 0);
}

TEST_F(RestoredRunnerPgTest, JobsWhoseTasksAreUnknownStopTheirCampaignUntilItsUserAnswers) {
  GivenClusters(1);
  const auto campaign = GivenCampaign({.ntasks = 4});
  GivenGrant(campaign, 1, 4);
  auto tag = Tag(campaign, {0});
  site_.GivenSubmitted("c1", tag.substr(0, tag.find('-')), 2);
  Restore();
  ASSERT_TRUE(RestoredPassUntil("events WHERE code = 'RESTORE_UNCLEAR' AND state = 'open'"));
  ASSERT_TRUE(RestoredPassUntil("(SELECT count(*) AS n FROM restored_clusters) AS r WHERE n = 0"));
  EXPECT_EQ(Count("live"), 0);
  Sql("UPDATE events SET state = 'closed' WHERE code = 'RESTORE_UNCLEAR'");
  EXPECT_TRUE(RestoredPassUntil(Jobs(4)));
}

TEST_F(RestoredRunnerPgTest, ACopyOfATaskThatTheBackupKnowsAsRunningIsNoSecondTask) {
  GivenClusters(2);
  const auto campaign = GivenCampaign({.ntasks = 2, .clusters = 2});
  GivenGrant(campaign, 1, 2);
  ASSERT_TRUE(PassUntil(Jobs(2)));
  // The cluster killed task 1 after the backup, and it was sent to the other one.
  site_.GivenSubmitted("c2", Tag(campaign, {1}), 1);
  Restore();
  EXPECT_TRUE(RestoredPassUntil("live WHERE kind = 'replica' AND idx = 1 AND cluster_id = 2"));
  EXPECT_TRUE(
      RestoredPassUntil("(SELECT count(*) AS n FROM restored_clusters) AS r WHERE n = 0"));
  EXPECT_EQ(Count("retry"), 0);
  ExpectConservation(campaign);
}

}  // namespace
}  // namespace cigri::runner
