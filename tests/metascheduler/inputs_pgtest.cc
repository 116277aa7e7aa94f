// What the tables know about jobs and a decision needs: black holes, lives, overdue jobs, queues.
#include "core/histogram.h"
#include "tests/metascheduler/fixture.h"

namespace cigri::metascheduler {
namespace {

using cluster::EndCause;

TEST_F(GridTest, JobsTooFastToBeTrueAreABlackHoleAndAreRetriedElsewhere) {  // CIG-11, T-21
  Policy("policy", "fifo");
  Policy("black_hole.count", 4);
  Cluster(1, 5);
  Cluster(2, 5);
  const auto c = Campaign({.clusters = {1, 2}});
  Pass();
  auto jobs = Claim();
  End(jobs[{c, 2}], 300);
  End({jobs[{c, 1}][0], jobs[{c, 1}][1], jobs[{c, 1}][2]}, 0.2);
  Predict();  // medians
  Fresh();
  Pass();
  EXPECT_GT(Granted(c, 1), 0) << "three in a row are not enough";
  End({jobs[{c, 1}][3]}, 0.2);
  Fresh();
  Pass();
  EXPECT_EQ(Granted(c, 1), 0);
  EXPECT_EQ(Why(c, 1), "BLACK_HOLE");
  EXPECT_GT(Granted(c, 2), 0);
  EXPECT_EQ(Number("SELECT count(*) FROM events WHERE code = 'BLACK_HOLE' AND state = 'open'"), 1);
  Update();
  EXPECT_EQ(Number("SELECT count(*) FROM retry WHERE why = 'BLACK_HOLE'"), 4);
  EXPECT_EQ(Number("SELECT count(*) FROM done WHERE cluster_id = 1 AND counted"), 0);
  EXPECT_EQ(Number("SELECT count(*) FROM done WHERE cluster_id = 2 AND counted"), 5);
  ExpectConservation();
  LetPass(3601);  // black_hole.hold
  Pass();
  EXPECT_GT(Granted(c, 1), 0) << "it recovers automatically";
  EXPECT_EQ(Number("SELECT count(*) FROM events WHERE code = 'BLACK_HOLE' AND state = 'open'"), 0);
}

TEST_F(GridTest, AFailureBetweenThemIsNoBlackHole) {
  Policy("policy", "fifo");
  Policy("black_hole.count", 3);
  Cluster(1, 5);
  Cluster(2, 5);
  const auto c = Campaign({.clusters = {1, 2}});
  Pass();
  auto jobs = Claim();
  End(jobs[{c, 2}], 300);
  const auto& fast = jobs[{c, 1}];
  End({fast[0]}, 0.2);
  End({fast[1]}, 0.2);
  End({fast[2]}, 0.2, 1 << 8);
  End({fast[3]}, 0.2);
  Predict();
  Fresh();
  Pass();
  EXPECT_NE(Why(c, 1), "BLACK_HOLE");
  EXPECT_EQ(Number("SELECT count(*) FROM events WHERE code = 'BLACK_HOLE'"), 0);
}

TEST_F(GridTest, AUserMayNameTheShortestBelievableJob) {  // CIG-11: min_duration, without a rule
  Policy("policy", "fifo");
  Cluster(1, 8);
  const auto believing = Campaign({.tasks = 5});
  Cycle();
  End(Live(believing), 0.5);
  const auto c = Campaign({.jdl = {{"min_duration", 10}}});
  Fresh();
  Pass();
  EXPECT_EQ(Number("SELECT count(*) FROM black_holes"), 0);
  Claim();
  End(Live(c), 0.5);
  Fresh();
  Pass();
  EXPECT_EQ(Why(c, 1), "BLACK_HOLE");
  EXPECT_EQ(Number("SELECT n FROM black_holes"), 5);
}

TEST_F(GridTest, WhoClosesTheEventOfABlackHoleLiftsItsHold) {
  Policy("policy", "fifo");
  Cluster(1, 8);
  const auto c = Campaign({.jdl = {{"min_duration", 10}}});
  Cycle();
  End(Live(c), 0.5);
  Fresh();
  Pass();
  ASSERT_EQ(Why(c, 1), "BLACK_HOLE");
  Update();  // what it swallowed is taken back
  EXPECT_EQ(Number("SELECT n_ok FROM placements"), 0) << "and has taught nothing";
  Pass();
  ASSERT_EQ(Granted(c, 1), 0);
  Sql("UPDATE events SET state = 'closed', date_closed = now(), closed_by = 'alice' WHERE code = "
      "'BLACK_HOLE'");
  Pass();
  EXPECT_GT(Granted(c, 1), 0);
  EXPECT_EQ(Text("SELECT state -> 'holds' FROM plan_state"), "[]");
}

TEST_F(GridTest, WhatABlackHoleSwallowsAfterItWasFoundIsTakenBackToo) {
  Policy("policy", "fifo");
  Cluster(1, 8);
  const auto c = Campaign({.jdl = {{"min_duration", 10}}});
  Cycle();
  const auto jobs = Live(c);
  const auto last = jobs.end() - 2;
  End({jobs.begin(), last}, 0.5);
  Fresh();
  Pass();
  Update();
  const auto retried = Number("SELECT count(*) FROM retry");
  End({last, jobs.end()}, 0.5);
  Fresh();
  Pass();
  Update();
  EXPECT_EQ(Number("SELECT count(*) FROM retry"), retried + 2);
  EXPECT_EQ(Number("SELECT n_ok FROM placements"), 0);
  EXPECT_EQ(Number("SELECT sum(count) FROM events WHERE code = 'BLACK_HOLE'"), 1) << "told once";
  ExpectConservation();
}

TEST_F(GridTest, JobsThatNeedAGpuAreGivenByIdleGpus) {  // TECH-21, FAIR-21
  Cluster(1, 41);
  const auto gpu = Campaign({.tasks = 100}), other = Campaign({.tasks = 100, .user = "bob"}),
             plain = Campaign({.tasks = 100, .user = "carol"});
  const auto of = [](std::int64_t id) { return " WHERE campaign_id = " + std::to_string(id); };
  Sql("UPDATE campaign_clusters SET resource_class = 'gpu', class_units = 2" + of(gpu));
  Sql("UPDATE campaign_clusters SET resource_class = 'gpu'" + of(other));
  Pass();
  EXPECT_EQ(Granted(gpu) + Granted(other), 1) << "one may wait for what was not counted yet";
  EXPECT_EQ(Granted(plain), 41) << "and the queue for slots is another";
  Sql("INSERT INTO resource_classes VALUES (1, 'gpu', 'GPUs', 8, 6, 0)");
  Pass();
  const int units = 2 * Granted(gpu) + Granted(other);
  EXPECT_GE(units, 6);
  EXPECT_LE(units, 6 + 2) << "and one may wait";
  EXPECT_EQ(Why(gpu, 1), "CLASS_FULL");
  Sql("UPDATE resource_classes SET name = NULL");
  Pass();
  EXPECT_GT(Granted(gpu) + Granted(other), 8) << "what the cluster cannot count limits nothing";
  Sql("UPDATE resource_classes SET name = 'GPUs'");
  Pass();
  auto claimed = Claim();
  Jobs running = claimed[{gpu, 1}];
  running.insert(running.end(), claimed[{other, 1}].begin(), claimed[{other, 1}].end());
  Run(running);
  Pass();
  EXPECT_LE(2 * Granted(gpu) + Granted(other), units + 2)
      << "the poll has not seen the jobs that run, and they count";
}

TEST_F(GridTest, WhereJobsEndSoonerIsServedFirstWhateverIsDeclared) {  // TECH-20, CIG-55
  Policy("policy", "fifo");
  Cluster(1, 20);
  Cluster(2, 20);
  const auto declared = Campaign({.tasks = 3, .clusters = {1, 2}});
  Pass();
  EXPECT_EQ(Granted(declared, 1), 3) << "equals go by their numbers";
  const auto c = Campaign({.tasks = 60, .clusters = {1, 2}});
  Pass();
  auto jobs = Claim();
  End(jobs[{c, 1}], 300);
  End(jobs[{c, 2}], 100);
  const auto next = Campaign({.tasks = 3, .user = "b", .clusters = {1, 2}});
  Sql("UPDATE campaign_cursor SET next_idx = ntasks WHERE campaign_id <> " + std::to_string(next));
  Pass();
  EXPECT_EQ(Granted(next, 2), 3);
  EXPECT_EQ(Granted(next, 1), 0);
}

TEST_F(GridTest, ATaskThatIsRetriedWaitsSinceItMayAndNotSinceItsCampaignCame) {
  Policy("policy", "fifo");
  Cluster(1, 10);
  Cluster(2, 10);
  const auto c =
      Campaign({.tasks = 6, .clusters = {1, 2}, .age_s = 1000, .jdl = {{"affinity_wait", 300}}});
  Sql("UPDATE placements SET verified = cluster_id = 1");
  Cycle();
  End(Live(c), 5, 0, EndCause::kPreempted);
  Sql("UPDATE retry SET avoid = '{}', not_before = now()");
  Resources(1, 2);  // not all of them fit where its data is
  Fresh();
  Pass();
  EXPECT_GT(Granted(c, 1), 0);
  EXPECT_EQ(Granted(c, 2), 0);
  EXPECT_EQ(Why(c, 2), "AFFINITY_WAIT");
  Sql("UPDATE retry SET not_before = now() - interval '301 seconds'");
  Pass();
  EXPECT_GT(Granted(c, 2), 0);
}

TEST_F(GridTest, ACampaignThatHasEndedIsNotTakenUpAgain) {
  Policy("policy", "fifo");
  Cluster(1, 8);
  const auto c = Campaign({.tasks = 5, .jdl = {{"min_duration", 10}}});
  Cycle();
  End(Live(c), 0.5);
  Update({c});
  EXPECT_EQ(Text("SELECT state FROM campaigns"), "terminated");
  Sql("INSERT INTO black_holes VALUES (1, 1, 5, now())");
  Update();
  EXPECT_EQ(Number("SELECT count(*) FROM retry"), 0);
  EXPECT_EQ(Number("SELECT count(*) FROM black_holes"), 0);
  ExpectConservation();
}

class SurvivalPgTest : public GridTest {
 protected:
  // Since the last burst of kills.
  void MinutesPass(int minutes) {
    Sql("UPDATE placements SET killed_at = killed_at - interval '1 minute' * " +
        std::to_string(minutes));
  }
};

// Design: "needs 5 h, median survival on X 2 h, the next probe goes at 12:30".
TEST_F(SurvivalPgTest, JobsLongerThanAClusterLetsThemLiveAreNotSentThereAgainBlindly) {
  Policy("policy", "fifo");
  Cluster(1, 7);
  Cluster(2, 7);
  const auto c = Campaign({.clusters = {1, 2}});
  Pass();
  auto jobs = Claim();
  Sql("UPDATE batches SET created_at = created_at - interval '1 day'");  // their jobs ran for hours
  End(jobs[{c, 2}], 5 * 3600);
  auto killed = jobs[{c, 1}];
  End({killed[0], killed[1]}, 2 * 3600, 0, EndCause::kPreempted);
  End({killed[2], killed[3]}, 2 * 3600, 0, EndCause::kPreempted);
  Predict();
  Fresh();
  Pass();
  EXPECT_EQ(Number("SELECT bursts FROM placements WHERE cluster_id = 1"), 1);
  EXPECT_GT(Granted(c, 1), 2) << "one burst says little, however many jobs it kills";
  for (const int i : {4, 5}) {
    MinutesPass(2);
    End({killed[i]}, 2 * 3600, 0, EndCause::kPreempted);
  }
  Fresh();
  Pass();
  EXPECT_EQ(Granted(c, 1), 0) << "what is in flight there is the probe";
  EXPECT_EQ(Why(c, 1), "SHORT_SURVIVAL");
  const auto numbers =
      nlohmann::json::parse(Text("SELECT numbers FROM reasons WHERE code = 'SHORT_SURVIVAL'"));
  EXPECT_NEAR(numbers["needs, s"].get<double>(), 18000, 3600);
  EXPECT_NEAR(numbers["median survival, s"].get<double>(), 7200, 1500);
  EXPECT_EQ(numbers["detail"], "a probe is in flight");
  EXPECT_GT(Granted(c, 2), 0);
  End({killed[6]}, 5 * 3600);
  Predict();
  Fresh();
  Pass();
  EXPECT_EQ(Number("SELECT bursts FROM placements WHERE cluster_id = 1"), 0);
  EXPECT_GT(Granted(c, 1), 1) << "it has succeeded";
}

TEST_F(SurvivalPgTest, LongJobsGoFirstWhereFewAreKilled) {
  Policy("policy", "fifo");
  Cluster(1, 7);
  Cluster(2, 7);
  const auto c = Campaign({.tasks = 16, .clusters = {1, 2}});
  Pass();
  auto jobs = Claim();
  for (const int cluster : {1, 2}) End({jobs[{c, cluster}][0]}, 5 * 3600);
  for (int i = 1; i < 7; ++i) {
    End({jobs[{c, 1}][i]}, 3600, 0, EndCause::kPreempted);
    End({jobs[{c, 2}][i]}, 5 * 3600);
  }
  Predict();
  Fresh();
  Pass();  // 2 new tasks and 6 retries
  EXPECT_GE(Granted(c, 2), 2);
  EXPECT_LT(Granted(c, 1), Granted(c, 2)) << "c1 comes first where nothing is killed";
}

TEST_F(SurvivalPgTest, WhatHasNeverSucceededNeedsLongerThanItWasLetLive) {
  Policy("policy", "fifo");
  Cluster(1, 4);
  const auto c = Campaign({});
  Cycle();
  const auto jobs = Live(c);
  End({jobs[0]}, 900, 0, EndCause::kPreempted);
  MinutesPass(2);
  End({jobs[1]}, 1000, 0, EndCause::kPreempted);
  MinutesPass(2);
  End({jobs[2], jobs[3]}, 2000, 0, EndCause::kPreempted);
  Fresh();
  Pass();
  EXPECT_EQ(Why(c, 1), "SHORT_SURVIVAL");
  EXPECT_EQ(Granted(c, 1), 0);
  MinutesPass(2);
  Fresh();
  Pass();
  EXPECT_EQ(Granted(c, 1), 1) << "a probe goes";
}

TEST_F(GridTest, AClusterThatSeldomKillsIsNotBlamed) {
  Policy("policy", "fifo");
  Cluster(1, 20);
  const auto c = Campaign({});
  Cycle();
  const auto jobs = Live(c);
  for (std::size_t i = 0; i < jobs.size(); ++i)
    End({jobs[i]}, 600, 0, i < 5 ? EndCause::kPreempted : EndCause::kExited);
  Predict();
  Fresh();
  Pass();
  EXPECT_GT(Granted(c), 0);
  EXPECT_EQ(Number("SELECT count(*) FROM reasons WHERE code = 'SHORT_SURVIVAL'"), 0);
}

class OverduePgTest : public GridTest {
 protected:
  // Twelve jobs of 20 s have ended, one runs on for five minutes on cluster 1; tasks still wait.
  std::int64_t GivenStraggler(int max_replicas) {
    Policy("policy", "fifo");
    Cluster(1, 14);
    Cluster(2, 14);
    const auto c = Campaign({.clusters = {1, 2}, .max_replicas = max_replicas});
    Pass();
    auto jobs = Claim();
    auto& here = jobs[{c, 1}];
    End({here.begin() + 1, here.end()}, 20);
    Run({here[0]}, 300);
    End(jobs[{c, 2}], 20);
    slow_ = here[0];
    Predict();
    Fresh();
    return c;
  }
  std::int64_t slow_ = 0;
};

TEST_F(OverduePgTest, AnOverdueJobGetsACopyElsewhereBeforeOtherTasks) {  // TECH-12, TECH-13, T-04
  const auto c = GivenStraggler(1);
  EXPECT_NEAR(Sql("SELECT overdue_s FROM forecasts WHERE cluster_id = 0")[0][0].as<double>(), 40, 8)
      << "learnt from its own durations, and published";
  Pass();
  EXPECT_EQ(Granted(c, 2, "replica"), 1);
  EXPECT_EQ(Granted(c, 1, "replica"), 0);
  EXPECT_EQ(Number("SELECT rank FROM grants WHERE kind = 'replica'"), 1);
  Claim();
  EXPECT_EQ(Number("SELECT count(*) FROM live WHERE kind = 'replica' AND cluster_id = 2 AND idx = "
                   "(SELECT idx FROM live WHERE job_id = " +
                   std::to_string(slow_) + ")"),
            1);
  EXPECT_EQ(Number("SELECT count(*) FROM events WHERE code = 'OVERDUE'"), 0);
  End({Number("SELECT job_id FROM live WHERE kind = 'replica'")}, 20);
  ExpectConservation();
}

TEST_F(OverduePgTest, WhoHasNotAskedForCopiesIsReportedOnceAndGetsNone) {
  const auto c = GivenStraggler(0);
  Pass();
  EXPECT_EQ(Granted(c, 0, "replica"), 0);
  EXPECT_EQ(Number("SELECT count(*) FROM events WHERE code = 'OVERDUE' AND state = 'open'"), 1);
  Fresh();
  Pass();
  EXPECT_EQ(Number("SELECT sum(count) FROM events WHERE code = 'OVERDUE'"), 1);
  End({slow_}, 400);
  Fresh();
  Pass();
  EXPECT_EQ(Number("SELECT count(*) FROM events WHERE code = 'OVERDUE' AND state = 'open'"), 0);
}

TEST_F(OverduePgTest, CopiesThatFailAreNotStartedIndefinitely) {
  const auto c = GivenStraggler(2);
  int copies = 0;
  for (int i = 0; i < 6; ++i) {
    Fresh();
    Pass();
    Claim();
    Jobs others;
    for (const auto& row : Sql("SELECT job_id FROM live WHERE kind = 'task' AND cluster_id = 2"))
      others.push_back(row[0].as<std::int64_t>());
    End(others, 20);
    const auto rows = Sql("SELECT job_id FROM live WHERE kind = 'replica'");
    for (const auto& row : rows) {
      ++copies;
      End({row[0].as<std::int64_t>()}, 5, 1 << 8);
    }
  }
  EXPECT_EQ(copies, 2);
  EXPECT_EQ(Granted(c, 0, "replica"), 0) << "no slot is kept for a copy that nobody would claim";
  ExpectConservation();
}

// Two of 40 jobs run on for five minutes on cluster 1; all others took 20 s.
class StragglersPgTest : public GridTest {
 protected:
  std::int64_t GivenStragglers() {
    Policy("policy", "fifo");
    Cluster(1, 40), Cluster(2, 40);
    const auto c = Campaign({.tasks = 100, .clusters = {1, 2}});
    Pass();
    auto jobs = Claim();
    auto& here = jobs[{c, 1}];
    slow_ = {here[0], here[1]};
    End({here.begin() + 2, here.end()}, 20);
    Run(slow_, 300);
    End(jobs[{c, 2}], 20);
    Predict();
    Fresh();
    return c;
  }
  Jobs slow_;
};

TEST_F(StragglersPgTest, TheLastTasksKeepAwayFromTheClusterWhereJobsRunLong) {
  const auto c = GivenStragglers();
  Pass();
  EXPECT_EQ(Granted(c, 1), 0);
  EXPECT_EQ(Granted(c, 2), 20);
  Policy("stragglers.times", 0);
  Pass();
  EXPECT_EQ(Granted(c, 1), 2 + 20) << "switched off";
}

// The next campaign profits from what the last one has shown.
TEST_F(StragglersPgTest, WhatAnEndedCampaignHasShownCountsForADay) {
  const auto first = GivenStragglers();
  End(slow_, 600);
  Predict();
  Sql("UPDATE campaign_cursor SET next_idx = ntasks");
  Update({first});
  Sql("UPDATE campaigns SET state = 'terminated', wanted = 'terminated', completion_time = now()");
  const auto c = Campaign({.tasks = 11, .clusters = {1, 2}});
  Pass();
  Jobs jobs;
  for (const auto& [key, of] : Claim()) jobs.insert(jobs.end(), of.begin(), of.end());
  End(jobs, 20);
  Sql("UPDATE campaign_cursor SET ntasks = ntasks + 10 WHERE campaign_id = " + std::to_string(c));
  Predict();
  Fresh();
  Pass();
  EXPECT_EQ(Granted(c, 1), 0);
  EXPECT_EQ(Granted(c, 2), 10);
  Sql("UPDATE campaigns SET completion_time = now() - interval '25 hours' WHERE id = " +
      std::to_string(first));
  Fresh();
  Pass();
  EXPECT_EQ(Granted(c, 1), 10);
}

TEST_F(GridTest, TheLastJobsGetCopiesOnFreeSlots) {  // CIG-30, T-24
  Policy("policy", "fifo");
  Cluster(1, 6);
  Cluster(2, 11);
  const auto c = Campaign({.tasks = 5, .clusters = {1, 2}, .max_replicas = 1});
  Pass();
  Run(Claim()[{c, 1}]);
  Fresh();
  Pass();
  EXPECT_EQ(Granted(c, 0, "replica"), 5);
  Sql("UPDATE campaigns SET wanted = 'paused', state = 'paused'");
  Fresh();
  Pass();
  EXPECT_EQ(Granted(c, 0, "replica"), 0) << "a paused campaign starts nothing";
}

TEST_F(GridTest, HowManyMayWaitIsThePredictorsOneEstimate) {  // CIG-29, design section 6
  Policy("policy", "fifo");
  Cluster(1, 11);
  const auto c = Campaign({});
  EXPECT_EQ(Cycle()[c], 11) << "ten slots, and one that waits";
  End(Live(c), 0.1);
  Predict();
  // 100 starts a second, 5 s of work: 500 places; times are kept in microseconds, 499.99 is 499.
  const auto places = Number("SELECT waiting_allowed FROM forecasts WHERE cluster_id = 1");
  EXPECT_GE(places, 499);
  EXPECT_LE(places, 500);
  Fresh();
  Pass();
  EXPECT_EQ(Granted(c), 10 + places);
}

TEST_F(GridTest, AJobThatWaitsIsTakenBackWhenSlotsOfAnotherClusterBecomeIdle) {
  Policy("policy", "fifo");
  Cluster(1, 3);
  Cluster(2, 5);
  Resources(2, 4, 4);
  const auto c = Campaign({.tasks = 3, .clusters = {1, 2}});
  ASSERT_EQ(Cycle()[c], 3) << "two slots, and one that waits";
  auto jobs = Live(c);
  const auto waiting = jobs.back();
  jobs.pop_back();
  Run(jobs);
  Sql("UPDATE live SET state = 'remote_waiting' WHERE state = 'submitted'; "
      "UPDATE counters SET state = 'remote_waiting' WHERE state = 'submitted'");
  Resources(2, 4, 0);
  Fresh();
  Pass();
  EXPECT_EQ(Why(c, 1), "RECALLED");
  EXPECT_EQ(Number("SELECT count(*) FROM recalls"), 0) << "it was just sent: it may start soon";
  LetPass(10);
  for (int i = 0; i < 2; ++i) {
    Fresh();
    Pass();
    EXPECT_EQ(Number("SELECT count(*) FROM recalls"), 1);
  }
  EXPECT_EQ(Number("SELECT job_id FROM recalls WHERE to_cluster = 2"), waiting);
}

TEST_F(GridTest, AShortageOfOneCampaignIsNotWrittenToManyRowsOfRetry) {
  Policy("policy", "fifo");
  Cluster(1, 5);
  const auto c = Campaign({.tasks = 200});
  Sql("UPDATE campaign_cursor SET next_idx = 200");
  Sql("INSERT INTO retry (campaign_id, idx, why, not_before) SELECT 1, i, 'x', now() + (i / 150) * "
      "interval '1 hour' "
      "FROM generate_series(0, 199) AS i");
  Pass();
  EXPECT_EQ(Granted(c), 5);
  const auto snapshot = nlohmann::json::from_cbor([&] {
    const auto hex = Text("SELECT encode(snapshot, 'hex') FROM plans WHERE snapshot IS NOT NULL");
    std::vector<std::uint8_t> bytes;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
      bytes.push_back(static_cast<std::uint8_t>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    return bytes;
  }());
  EXPECT_EQ(snapshot["snapshot"]["campaigns"][0]["waiting"], 150)
      << "those whose time has not come do not wait";
}

}  // namespace
}  // namespace cigri::metascheduler
