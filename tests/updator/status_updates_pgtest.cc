#include <future>

#include "core/defaults.h"
#include "runner/store.h"
#include "tests/support/await.h"
#include "tests/support/rows.h"
#include "updator/campaigns.h"
#include "updator/status_updates.h"

namespace cigri::updator {
namespace {

using cluster::EndCause;
using cluster::RemoteState;

class StatusUpdatesPgTest : public test::RowsTest {
 protected:
  // Claims and records as the runner does; the job ids.
  std::vector<std::int64_t> GivenLive(std::int64_t campaign, int cluster, int n,
                                      const std::string& kind = "task") {
    GivenGrant(campaign, cluster, n, kind);
    auto c = Connect();
    db::Tx tx(*c);
    runner::Store store(cluster, "grid", 0, 0);
    std::vector<std::int64_t> jobs;
    for (const auto& b : store.Claim(
             tx, 1000, [](std::int64_t) { return 1000; }, 10, false)) {
      std::vector<std::pair<int, std::string>> remote;
      for (int i = 0; i < static_cast<int>(b.tasks.size()); ++i) {
        remote.emplace_back(i, b.tag + "_" + std::to_string(i));
        jobs.push_back(b.first_job_id + i);
      }
      store.Record(tx, b, remote, {}, false);
    }
    tx.Commit();
    return jobs;
  }
  static StatusUpdate Ended(std::int64_t job, std::optional<int> status,
                            EndCause cause = EndCause::kExited) {
    StatusUpdate n;
    n.job_id = job;
    n.remote.state = RemoteState::kEnded;
    n.remote.cause = cause;
    n.remote.wait_status = status;
    n.remote.started_at = 1000;
    n.remote.ended_at = 1012;
    n.cluster_time = 1012;
    return n;
  }
  UpdateResult Apply(const std::vector<StatusUpdate>& updates) {
    auto c = Connect();
    db::Tx tx(*c);
    auto result = ApplyStatusUpdates(tx, updates, {{1, "c1"}, {2, "c2"}});
    tx.Commit();
    return result;
  }
  void Update(const std::set<std::int64_t>& ended, const Limits& limits = {}) {
    auto c = Connect();
    db::Tx tx(*c);
    UpdateCampaigns(tx, ended, true, limits);
    tx.Commit();
  }
  std::string State(std::int64_t campaign) {
    return Sql("SELECT state FROM campaigns WHERE id = " + std::to_string(campaign))[0][0].c_str();
  }
};

TEST_F(StatusUpdatesPgTest, ASuccessIsCountedOnceAndTheLastOneEndsTheCampaign) {
  GivenClusters(1);
  const auto campaign = GivenCampaign({.ntasks = 2});
  const auto jobs = GivenLive(campaign, 1, 2);
  ASSERT_EQ(jobs.size(), 2u);
  Apply({Ended(jobs[0], 0)});
  Update({campaign});
  EXPECT_EQ(State(campaign), "in_treatment");
  Apply({Ended(jobs[1], 0)});
  ExpectConservation(campaign);
  Update({campaign});
  EXPECT_EQ(State(campaign), "terminated");
  EXPECT_EQ(Count("done WHERE counted"), 2);
  EXPECT_EQ(
      Sql("SELECT sum(n) FROM counters WHERE state IN ('launching', 'submitted')")[0][0].as<int>(),
      0);
  EXPECT_NEAR(Sql("SELECT sum(slot_s) FROM usage")[0][0].as<double>(), 24, 0.01)
      << "the cluster's times are only subtracted from each other";
}

TEST_F(StatusUpdatesPgTest, WhatAJobMeasuredIsInItsRecord) {
  GivenClusters(1);
  const auto jobs = GivenLive(GivenCampaign({.ntasks = 3}), 1, 3);
  auto success = Ended(jobs[0], 0), failure = Ended(jobs[1], 9);
  success.remote.measured = {1.5, 200, 0, 2.5};
  failure.remote.measured = {.cpu_s = 0.25, .peak_mb = {}, .read_mb = {}, .written_mb = {},
                             .transfer_s = 2};
  Apply({success, failure, Ended(jobs[2], 0)});
  const auto rows = Sql(
      "SELECT concat_ws(' ', cpu_s, peak_mb, read_mb, written_mb, transfer_s) "
      "FROM done ORDER BY job_id");
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_STREQ(rows[0][0].c_str(), "1.5 200 0 2.5");
  EXPECT_STREQ(rows[1][0].c_str(), "0.25 2");
  EXPECT_STREQ(rows[2][0].c_str(), "") << "unknown is not 0";
}

// Each stopped all status updates of everybody: the statement failed, pass after pass. A cut of
// stderr within a letter; a node that nobody can have; numbers that a user has written into the
// record of his own job; clocks that are wrong.
TEST_F(StatusUpdatesPgTest, WhateverAJobReportsIsStored) {
  GivenClusters(1);
  const auto campaign = GivenCampaign({.ntasks = 4, .max_tries = 1});
  const auto jobs = GivenLive(campaign, 1, 4);
  auto text = Ended(jobs[0], 3 << 8);
  text.remote.message = "x";
  for (int i = 0; i < 400; ++i) text.remote.message += "\xC3\xA9";
  text.remote.node = std::string("n\0\xFF", 3);
  auto numbers = Ended(jobs[1], 0), early = Ended(jobs[2], 0), late = Ended(jobs[3], 1 << 8);
  numbers.remote.measured = {1e39, 1e-60, -1, std::nan(""), HUGE_VAL};
  early.cluster_time = 1.9e9;
  early.remote.started_at = 1, early.remote.ended_at = 1.9e9 - 5;
  late.cluster_time = 1e300;
  late.remote.started_at = late.remote.job_started_at = std::nan("");
  late.remote.message = std::string("a\0b", 3);
  Apply({text, numbers, early, late});
  ExpectConservation(campaign);
  EXPECT_EQ(Count("events WHERE code = 'EXIT_ERROR' AND campaign_id IS NOT NULL"), 2);
  EXPECT_EQ(Sql("SELECT node FROM done WHERE job_id = " + std::to_string(jobs[0]))[0][0]
                .as<std::string>(),
            "n\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(Count("done WHERE cpu_s IS NULL AND peak_mb = 0 AND read_mb IS NULL AND job_id = " +
                  std::to_string(jobs[1])),
            1);
  EXPECT_EQ(Count("done JOIN batches ON id = batch_id WHERE least(started_at, ended_at) "
                  "< created_at - interval '61 minutes'"),
            0)
      << "no job begins long before it is sent";
}

TEST_F(StatusUpdatesPgTest, OfTasksThatShareAKilledJobTheOneThatRanIsLost) {
  GivenClusters(1);
  const auto campaign = GivenCampaign({.ntasks = 3});
  Sql("INSERT INTO forecasts (campaign_id, cluster_id, tasks_per_job) VALUES (" +
      std::to_string(campaign) + ", 1, 12)");
  const auto jobs = GivenLive(campaign, 1, 1);
  ASSERT_EQ(jobs.size(), 3u) << "in one job";
  StatusUpdate runs;
  runs.job_id = jobs[2];
  runs.remote.state = RemoteState::kRunning;
  runs.remote.started_at = runs.cluster_time = 1000;
  Apply({runs});
  auto ran = Ended(jobs[1], std::nullopt, EndCause::kPreempted);
  auto waited = Ended(jobs[2], std::nullopt, EndCause::kNotBegun);
  ran.remote.job_started_at = 500;
  waited.remote.started_at = waited.remote.ended_at;
  Apply({Ended(jobs[0], 0), ran, waited});
  ExpectConservation(campaign);
  EXPECT_EQ(Count("done WHERE counted"), 1);
  EXPECT_EQ(Count("retry"), 2);
  EXPECT_EQ(Count("tries WHERE idx = 1 AND preemption = 1"), 1);
  EXPECT_EQ(Count("tries WHERE idx = 2 AND our_kill = 1 AND program + infrastructure = 0"), 1);
  EXPECT_EQ(Sql("SELECT concat_ws(' ', sum(n), sum(jobs), sum(slots)) FROM jobs_in_flight")[0][0]
                .as<std::string>(),
            "0 0 0");
  EXPECT_EQ(Count("placements WHERE jobs = 1"), 1);
  EXPECT_NEAR(Sql("SELECT sum(slot_s) FROM usage")[0][0].as<double>(), 24, 0.01)
      << "of the two that ran";
  EXPECT_NEAR(Sql("SELECT longest_killed_s FROM placements")[0][0].as<double>(), 512, 0.01)
      << "it is the job that the cluster killed";
}

TEST_F(StatusUpdatesPgTest, AnEvictedTaskWithACheckpointAvoidsTheClustersWhereItDoesNotLie) {
  GivenClusters(3);
  const auto campaign = GivenCampaign({.ntasks = 2, .clusters = 3});
  Sql("UPDATE campaign_clusters SET options = '{\"checkpoint\": {}}'");
  const auto jobs = GivenLive(campaign, 2, 2);
  Apply({Ended(jobs[0], std::nullopt, EndCause::kPreempted), Ended(jobs[1], 3 << 8)});
  EXPECT_EQ(Sql("SELECT avoid FROM retry WHERE idx = 0")[0][0].as<std::string>(), "{1,3}");
  EXPECT_EQ(Sql("SELECT avoid FROM retry WHERE idx = 1")[0][0].as<std::string>(), "{2}");
  ExpectConservation(campaign);
}

TEST_F(StatusUpdatesPgTest, UsageEqualsTheRecordsOfTheJobsToTheSlotSecond) {
  GivenClusters(2);
  for (const int cluster : {1, 2}) {
    const auto campaign = GivenCampaign({.ntasks = 40, .clusters = 2});
    const auto jobs = GivenLive(campaign, cluster, 40);
    ASSERT_EQ(jobs.size(), 40u);
    Sql("UPDATE live SET slots = 1 + job_id % 3, submitted_at = now() - (20 + job_id * 7 % 400) * "
        "interval '1 second'");
    std::vector<StatusUpdate> ends;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      auto end = i % 4 == 1   ? Ended(jobs[i], std::nullopt, EndCause::kPreempted)
                 : i % 4 == 2 ? Ended(jobs[i], 3 << 8)
                              : Ended(jobs[i], 0);
      end.remote.started_at = 1000 + 0.37 * static_cast<double>(i % 31);
      ends.push_back(end);
      if (ends.size() == 7 || i + 1 == jobs.size()) Apply(std::exchange(ends, {}));
    }
  }
  // Both as text: to the millisecond of a slot.
  const std::string records =
      "SELECT c.grid_user, d.cluster_id, "
      "round(sum(slots * extract(epoch FROM ended_at - started_at)), 3), "
      "round(coalesce(sum(slots * extract(epoch FROM ended_at - started_at)) FILTER (WHERE "
      "exit_class = 'preemption'), 0), 3), count(*) FILTER (WHERE d.state = 'terminated'), "
      "count(*) FILTER (WHERE exit_class = 'program'), "
      "count(*) FILTER (WHERE exit_class = 'preemption'), count(*), "
      "round(avg(extract(epoch FROM started_at - submitted_at)), 3) "
      "FROM done AS d JOIN campaigns AS c ON c.id = d.campaign_id GROUP BY 1, 2 ORDER BY 1, 2";
  const std::string usage =
      "SELECT grid_user, cluster_id, round(sum(slot_s)::numeric, 3), "
      "round(sum(lost_s)::numeric, 3), sum(ok), sum(program), sum(preempted), sum(waited), "
      "round((sum(wait_s) / sum(waited))::numeric, 3) FROM usage GROUP BY 1, 2 ORDER BY 1, 2";
  const auto a = Sql(records), b = Sql(usage);
  ASSERT_EQ(a.size(), 2u);
  ASSERT_EQ(b.size(), 2u);
  for (int row = 0; row < 2; ++row)
    for (int column = 0; column < 9; ++column)
      EXPECT_STREQ(a[row][column].c_str(), b[row][column].c_str()) << row << " " << column;
  EXPECT_EQ(b[0][6].as<int>(), 10) << "preempted";
  EXPECT_EQ(Sql("SELECT sum(n) FROM usage, unnest(waits) AS n")[0][0].as<int>(), 80);
}

TEST_F(StatusUpdatesPgTest, ASecondReportOfTheSameEndChangesNothing) {
  GivenClusters(1);
  const auto campaign = GivenCampaign({.ntasks = 1});
  const auto jobs = GivenLive(campaign, 1, 1);
  EXPECT_EQ(Apply({Ended(jobs[0], 0)}).ended.size(), 1u);
  EXPECT_EQ(Apply({Ended(jobs[0], 0)}).ended.size(), 0u);
  EXPECT_EQ(Count("done"), 1);
  EXPECT_EQ(Sql("SELECT sum(n) FROM counters WHERE state = 'terminated'")[0][0].as<int>(), 1);
}

TEST_F(StatusUpdatesPgTest, AFailedTaskIsRetriedOnceThenWaitsForItsUser) {
  GivenClusters(1);
  const auto campaign = GivenCampaign({.ntasks = 1});
  auto jobs = GivenLive(campaign, 1, 1);
  Apply({Ended(jobs[0], 3 << 8)});
  EXPECT_EQ(Count("retry"), 1);
  ExpectConservation(campaign);
  jobs = GivenLive(campaign, 1, 1);
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(Sql("SELECT attempt FROM live")[0][0].as<int>(), 2);
  Apply({Ended(jobs[0], 3 << 8)});
  EXPECT_EQ(Count("needs_attention"), 1);
  EXPECT_EQ(Count("events WHERE code = 'EXIT_ERROR' AND state = 'open'"), 1);
  ExpectConservation(campaign);
  Update({campaign});
  EXPECT_EQ(State(campaign), "terminated") << "nothing is left to run";
}

TEST_F(StatusUpdatesPgTest, FailuresThatDifferInNumbersAreOneEventUnlessTheirExitCodesDiffer) {
  GivenClusters(1);
  const auto campaign = GivenCampaign({.ntasks = 3, .max_tries = 1});
  const auto jobs = GivenLive(campaign, 1, 3);
  const auto failed = [](std::int64_t job, int code, const std::string& words) {
    StatusUpdate n = Ended(job, code << 8);
    n.remote.message = words;
    return n;
  };
  Apply({failed(jobs[0], 3, "line 17"), failed(jobs[1], 3, "line 18"),
         failed(jobs[2], 4, "line 17")});
  EXPECT_EQ(Count("events WHERE code = 'EXIT_ERROR'"), 2);
  EXPECT_EQ(Sql("SELECT max(count) FROM events")[0][0].as<int>(), 2);
}

TEST_F(StatusUpdatesPgTest, AFullDiskIsTheClustersFailureOneEventAndAClosedPlacement) {
  GivenClusters(2);
  const auto campaign = GivenCampaign({.ntasks = 1012, .max_tries = 1, .clusters = 2});
  const auto jobs = GivenLive(campaign, 1, 1000);
  std::vector<StatusUpdate> updates;
  for (const auto job : jobs) {
    updates.push_back(Ended(job, 1 << 8));
    updates.back().remote.message = "tar: out.7: Cannot write: No space left on device";
  }
  Apply(updates);
  EXPECT_EQ(Count("needs_attention"), 0) << "max_tries is 1, and no try was charged";
  EXPECT_EQ(Count("retry WHERE avoid = '{1}'"), 1000);
  EXPECT_EQ(Count("events"), 1);
  EXPECT_EQ(Sql("SELECT class || ' ' || code || ' ' || count || ' ' || (sample->>'message') FROM "
                "events")[0][0]
                .as<std::string>(),
            "cluster CLUSTER_FAULT 1000 exit code 1: tar: out.7: Cannot write: No space left on "
            "device");
  EXPECT_EQ(Sql("SELECT matches FROM error_classes WHERE name = 'disk-full'")[0][0].as<int>(),
            1000);
  EXPECT_TRUE(GivenLive(campaign, 1, 12).empty()) << "the cluster is closed to the campaign";
  const auto elsewhere = GivenLive(campaign, 2, 12);
  EXPECT_EQ(elsewhere.size(), 12u);
  ExpectConservation(campaign);
  // Probation: when its time is over the cluster gets jobs again, and a success clears it.
  Sql("UPDATE placements SET fault_until = now() - interval '1 second' WHERE cluster_id = 1");
  const auto again = GivenLive(campaign, 1, 1);
  ASSERT_EQ(again.size(), 1u);
  Apply({Ended(again[0], 0)});
  EXPECT_EQ(Count("placements WHERE cluster_faults > 0 OR fault_until IS NOT NULL"), 0);
}

TEST_F(StatusUpdatesPgTest, TheLastClusterIsNeverClosedSilently) {
  GivenClusters(1);
  const auto campaign = GivenCampaign({.ntasks = 50});
  std::vector<StatusUpdate> updates;
  for (const auto job : GivenLive(campaign, 1, 10)) {
    updates.push_back(Ended(job, 1 << 8));
    updates.back().remote.message = "Stale file handle";
  }
  Apply(updates);
  Update({campaign});
  EXPECT_EQ(State(campaign), "paused");
  EXPECT_EQ(
      Count("events WHERE code = 'HELD_EVERYWHERE' AND message LIKE '%fault of the cluster%'"), 1);
  Sql("UPDATE placements SET fault_until = now() - interval '1 second'");
  Update({});
  EXPECT_EQ(State(campaign), "in_treatment") << "nobody had to answer";
}

// The cause was repaired, the events were closed, and the campaign went on waiting.
TEST_F(StatusUpdatesPgTest, WhoRepairsAFaultNeedNotWait) {
  GivenClusters(1);
  const auto campaign = GivenCampaign({.ntasks = 50});
  for (const char* code : {"HELD_EVERYWHERE", "CLUSTER_FAULT"}) {
    std::vector<StatusUpdate> updates;
    for (const auto job : GivenLive(campaign, 1, 10)) {
      updates.push_back(Ended(job, 1 << 8));
      updates.back().remote.message = "Stale file handle";
    }
    Apply(updates);
    Update({campaign});
    EXPECT_EQ(State(campaign), "paused") << "what was closed before it is no answer";
    Sql("UPDATE events SET state = 'closed', date_closed = now(), closed_by = 'alice' WHERE code = "
        "'" +
        std::string(code) + "' AND state = 'open'");
    Update({});
    EXPECT_EQ(State(campaign), "in_treatment") << code;
    EXPECT_EQ(Count("placements WHERE cluster_faults > 0 OR fault_until IS NOT NULL"), 0);
  }
}

TEST_F(StatusUpdatesPgTest, APassiveErrorClassOnlyCounts) {
  GivenClusters(1);
  const auto campaign = GivenCampaign({.ntasks = 2});
  Sql("INSERT INTO error_classes (name, mode, code, action) VALUES ('three', 'passive', '3', "
      "'stop')");
  Apply({Ended(GivenLive(campaign, 1, 1)[0], 3 << 8)});
  EXPECT_EQ(Count("retry"), 1) << "as without it";
  EXPECT_EQ(Count("error_classes WHERE name = 'three' AND matches = 1 AND sample = 'exit code 3'"),
            1);
  Sql("UPDATE error_classes SET mode = 'active' WHERE name = 'three'");
  Sql("DELETE FROM retry");
  Sql("UPDATE campaign_cursor SET next_idx = 1");
  Apply({Ended(GivenLive(campaign, 1, 1)[0], 3 << 8)});
  EXPECT_EQ(Count("needs_attention"), 1);
}

TEST_F(StatusUpdatesPgTest, WithAutomaticMemoryATaskKilledForMemoryIsRetriedWithMore) {
  GivenClusters(1);
  const auto campaign = GivenCampaign({.ntasks = 2});
  const auto jobs = GivenLive(campaign, 1, 2);
  Sql("UPDATE campaign_clusters SET options = '{\"mem\": \"auto\"}'");
  auto failure = Ended(jobs[0], 1 << 8), other = Ended(jobs[1], 1 << 8);
  failure.remote.message = "numpy.core._exceptions.MemoryError: Unable to allocate 8 GiB";
  Apply({failure, other});
  EXPECT_EQ(Count("tries WHERE idx = 0 AND memory_x = 1.5"), 1)
      << "although the class is passive for others";
  EXPECT_EQ(Count("tries WHERE idx = 1 AND memory_x = 1"), 1);
}

TEST_F(StatusUpdatesPgTest, AWalltimeThatTheGridChoseCostsNoTryBelowTheMaximum) {  // FAIR-09
  GivenClusters(1);
  const auto campaign = GivenCampaign({.ntasks = 2, .max_tries = 1});
  const auto jobs = GivenLive(campaign, 1, 2);
  Sql("UPDATE campaign_clusters SET options = '{\"auto_walltime\": true}', walltime_s = 100");
  Sql("UPDATE batches SET walltime_s = 30");
  Apply({Ended(jobs[0], {}, EndCause::kWalltime)});
  EXPECT_EQ(Count("tries WHERE idx = 0 AND program = 0 AND our_kill = 1 AND least_walltime_s = 60"),
            1);
  EXPECT_EQ(Count("retry WHERE idx = 0"), 1);
  Sql("UPDATE batches SET walltime_s = 100");
  Apply({Ended(jobs[1], {}, EndCause::kWalltime)});
  EXPECT_EQ(Count("needs_attention WHERE idx = 1"), 1) << "at the maximum it counts";
  ExpectConservation(campaign);
}

TEST_F(StatusUpdatesPgTest, TheJdlsRulesDecideWhatATaskDoesNext) {
  GivenClusters(1);
  const auto campaign = GivenCampaign({.ntasks = 2, .max_tries = 5});
  Sql("UPDATE campaigns SET jdl = '{\"retry\": {\"evaluateOnExit\": [{\"onExitCode\": \"3\", "
      "\"action\": \"EXIT\"}, {\"onStatusReason\": \"WALLTIME\", \"action\": "
      "\"RETRY_MORE_WALLTIME\"}]}}'");
  const auto jobs = GivenLive(campaign, 1, 2);
  Apply({Ended(jobs[0], 3 << 8), Ended(jobs[1], {}, EndCause::kWalltime)});
  EXPECT_EQ(Count("needs_attention WHERE idx = 0"), 1);
  EXPECT_EQ(Count("tries WHERE idx = 1 AND walltime_x = 1.5"), 1);
  ExpectConservation(campaign);
}

TEST_F(StatusUpdatesPgTest, TheFirstJobsSayWhatIsNotOnTheCluster) {
  GivenClusters(1);
  const auto campaign = GivenCampaign({.ntasks = 4, .max_tries = 1});
  const auto jobs = GivenLive(campaign, 1, 4);
  Apply({Ended(jobs[0], 127 << 8), Ended(jobs[1], 126 << 8),
         Ended(jobs[2], 213 << 8, EndCause::kBadDirectory)});
  const auto said = [&](std::size_t i) {
    return Sql("SELECT message FROM done WHERE job_id = " + std::to_string(jobs[i]))[0][0]
        .as<std::string>();
  };
  EXPECT_EQ(said(0), "not on the cluster: ./job.sh: exit code 127");
  EXPECT_EQ(said(1), "not executable on the cluster: ./job.sh: exit code 126");
  EXPECT_EQ(said(2), "not on the cluster: $HOME");
  Sql("UPDATE placements SET verified = true");
  Apply({Ended(jobs[3], 127 << 8)});
  EXPECT_EQ(said(3), "exit code 127")
      << "the program's own exit code, once a job has succeeded there";
}

TEST_F(StatusUpdatesPgTest, APreemptedJobCostsNoTryAndItsTaskIsRetried) {
  GivenClusters(1);
  const auto campaign = GivenCampaign({.ntasks = 1, .max_tries = 1});
  const auto jobs = GivenLive(campaign, 1, 1);
  Apply({Ended(jobs[0], std::nullopt, EndCause::kPreempted)});
  EXPECT_EQ(Count("retry"), 1);
  EXPECT_EQ(Sql("SELECT program FROM tries")[0][0].as<int>(), 0);
  EXPECT_EQ(Sql("SELECT sum(n) FROM counters WHERE state = 'preemption'")[0][0].as<int>(), 1);
  ExpectConservation(campaign);
}

// T-24 (CIG-30): two copies of a task succeed in the same answer: one counts.
TEST_F(StatusUpdatesPgTest, OfTwoCopiesThatSucceedAtOnceOneCounts) {
  GivenClusters(2);
  const auto campaign = GivenCampaign({.ntasks = 1, .max_replicas = 1, .clusters = 2});
  const auto first = GivenLive(campaign, 1, 1);
  const auto copy = GivenLive(campaign, 2, 1, "replica");
  ASSERT_EQ(copy.size(), 1u);
  Apply({Ended(first[0], 0), Ended(copy[0], 0)});
  EXPECT_EQ(Count("done WHERE counted"), 1);
  EXPECT_EQ(Count("done WHERE NOT counted"), 1);
  ExpectConservation(campaign);
}

TEST_F(StatusUpdatesPgTest, AFailedCopyChangesNothingWhileTheOtherSurvival) {
  GivenClusters(2);
  const auto campaign = GivenCampaign({.ntasks = 1, .max_replicas = 1, .clusters = 2});
  const auto first = GivenLive(campaign, 1, 1);
  const auto copy = GivenLive(campaign, 2, 1, "replica");
  Apply({Ended(first[0], 1 << 8)});
  EXPECT_EQ(Count("retry"), 0) << "the task still has a copy";
  ExpectConservation(campaign);
  Apply({Ended(copy[0], 0)});
  EXPECT_EQ(Count("done WHERE counted"), 1);
  ExpectConservation(campaign);
}

// Its copy was in no table of jobs yet: the task got into two places.
TEST_F(StatusUpdatesPgTest, ACopyThatIsBeingSentIsACopyUntilItsBatchIsGivenUp) {
  GivenClusters(2);
  for (const bool at_once : {false, true}) {
    const auto campaign =
        GivenCampaign({.ntasks = 1, .max_tries = 1, .max_replicas = 1, .clusters = 2});
    const auto first = GivenLive(campaign, 1, 1);
    GivenGrant(campaign, 2, 1, "replica");
    runner::Store store(2, "grid", 0, 0);
    auto runner = Connect("runner"), updator = Connect("updator");
    std::vector<runner::ClaimedBatch> copies;
    {
      db::Tx tx(*runner);
      copies = store.Claim(
          tx, 1000, [](std::int64_t) { return 1000; }, 10, false);
      tx.Commit();
    }
    ASSERT_EQ(copies.size(), 1u);
    const auto give_back = [&] {
      db::Tx tx(*runner);
      store.GiveBack(tx, copies[0], BatchState::kRefused, "no");
      tx.Commit();
    };
    db::Tx ending(*updator);
    ApplyStatusUpdates(ending, {Ended(first[0], 1 << 8)}, {{1, "c1"}, {2, "c2"}});
    std::future<void> given_back;
    if (at_once) {
      given_back = std::async(std::launch::async, give_back);
      ASSERT_TRUE(test::Await([&] {
        return Count(
                   "pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = "
                   "'runner'") == 1;
      }));
    }
    ending.Commit();
    if (at_once) {
      given_back.get();
    } else {
      ExpectConservation(campaign);
      EXPECT_EQ(Count("needs_attention") + Count("retry"), 0) << "it still has a copy";
      give_back();
    }
    ExpectConservation(campaign);
    EXPECT_EQ(Count("retry WHERE campaign_id = " + std::to_string(campaign)), 1);
    EXPECT_EQ(Count("needs_attention"), 0);
    Sql("DELETE FROM retry; DELETE FROM grants");
  }
}

TEST_F(StatusUpdatesPgTest, NoCopyIsMadeOfAJobWhoseEndIsBeingWritten) {
  GivenClusters(2);
  const auto campaign = GivenCampaign({.ntasks = 1, .max_replicas = 1, .clusters = 2});
  const auto first = GivenLive(campaign, 1, 1);
  auto updator = Connect("updator");
  db::Tx ending(*updator);
  ApplyStatusUpdates(ending, {Ended(first[0], 1 << 8)}, {{1, "c1"}, {2, "c2"}});
  EXPECT_TRUE(GivenLive(campaign, 2, 1, "replica").empty());
  ending.Commit();
  ExpectConservation(campaign);
}

TEST_F(StatusUpdatesPgTest, ATaskOfABlackHoleWithACopyInFlightIsRetriedWhenThatFails) {
  GivenClusters(2);
  const auto campaign = GivenCampaign({.ntasks = 2, .max_replicas = 1, .clusters = 2});
  const auto first = GivenLive(campaign, 1, 1);
  const auto copy = GivenLive(campaign, 2, 1, "replica");
  ASSERT_EQ(copy.size(), 1u);
  Apply({Ended(first[0], 0)});
  Sql("INSERT INTO black_holes (campaign_id, cluster_id, n, until) VALUES (" +
      std::to_string(campaign) + ", 1, 1, now() + interval '1 hour')");
  Update({});
  ExpectConservation(campaign);
  EXPECT_EQ(Count("done WHERE counted") + Count("retry"), 0);
  Apply({Ended(copy[0], 15, EndCause::kDeleted)});
  ExpectConservation(campaign);
  EXPECT_EQ(Count("retry"), 1);
}

TEST_F(StatusUpdatesPgTest, AMissingCommandIsHeldAfterItsCanaryJobsAndCostsNoTry) {
  GivenClusters(1);
  const auto campaign = GivenCampaign({.ntasks = 4000});
  const auto jobs = GivenLive(campaign, 1, 10);
  std::vector<StatusUpdate> updates;
  for (const auto job : jobs) updates.push_back(Ended(job, 127 << 8));
  Apply(updates);
  Update({campaign});
  EXPECT_EQ(Count("placements WHERE held_since IS NOT NULL"), 1);
  EXPECT_EQ(Count("events WHERE code = 'CANARY_FAILED' AND state = 'open'"), 1);
  EXPECT_EQ(Sql("SELECT sum(program) FROM tries")[0][0].as<int>(), 0) << "no try charged";
  Update({});
  EXPECT_EQ(State(campaign), "paused") << "held everywhere: it stops";
  ExpectConservation(campaign);
  Sql("UPDATE events SET state = 'closed' WHERE code = 'CANARY_FAILED'");
  Update({});
  EXPECT_EQ(State(campaign), "in_treatment") << "its user answered: more canary jobs may run";
}

// They waited for two minutes for another cluster, after their user had answered.
TEST_F(StatusUpdatesPgTest, WithoutAnotherClusterTheTasksOfAHeldOneAvoidNone) {
  for (const int clusters : {1, 2}) {
    if (clusters == 1) GivenClusters(2);
    const auto campaign = GivenCampaign({.ntasks = 4000, .max_tries = 1, .clusters = clusters});
    std::vector<StatusUpdate> updates;
    for (const auto job : GivenLive(campaign, 1, 10)) updates.push_back(Ended(job, 127 << 8));
    Apply(updates);
    Update({campaign});
    EXPECT_EQ(Count("retry WHERE campaign_id = " + std::to_string(campaign) + " AND avoid = '" +
                    (clusters == 1 ? "{}" : "{1}") + "'"),
              10)
        << clusters;
  }
}

// The longer canary jobs run the more may follow them: these may fail when the placement is held.
TEST_F(StatusUpdatesPgTest, WhatFailsAfterTheCanaryJobsCostsNoTryEither) {
  GivenClusters(2);
  const auto campaign = GivenCampaign({.ntasks = 4000, .clusters = 2});
  const auto jobs = GivenLive(campaign, 1, 14);
  std::vector<StatusUpdate> first, then;
  for (std::size_t i = 0; i < jobs.size(); ++i)
    (i < 10 ? first : then).push_back(Ended(jobs[i], 1 << 8));
  Apply(first);
  Update({campaign});
  EXPECT_EQ(Count("placements WHERE held_since IS NOT NULL"), 1);
  for (const auto& update : then) Apply({update});
  Update({campaign});
  EXPECT_EQ(Sql("SELECT sum(program) FROM tries")[0][0].as<int>(), 0);
  EXPECT_EQ(Count("needs_attention"), 0);
  EXPECT_EQ(Count("retry"), 14);
  ExpectConservation(campaign);
  Apply({Ended(GivenLive(campaign, 2, 1)[0], 1 << 8)});
  EXPECT_EQ(Sql("SELECT sum(program) FROM tries")[0][0].as<int>(), 1) << "elsewhere it costs one";
}

// Below canary_jobs + 1 tasks nobody counts, but the failures went on being added: when tasks were
// added, more canary jobs had failed than may run, and nothing ran any more.
TEST_F(StatusUpdatesPgTest, ACampaignThatGetsAnotherTryGetsItsCanaryJobsAgain) {
  GivenClusters(2);
  const auto campaign = GivenCampaign({.ntasks = 8, .max_tries = 2, .clusters = 2});
  const auto counted = [&](int cluster) {
    return Sql("SELECT ended || ' ' || program_failures FROM placements WHERE cluster_id = " +
               std::to_string(cluster))[0][0]
        .as<std::string>();
  };
  for (int i = 0; i < 2; ++i) {
    std::vector<StatusUpdate> ends;
    Sql("UPDATE retry SET not_before = now(), avoid = '{}'");
    for (const auto job : GivenLive(campaign, 1, 8)) ends.push_back(Ended(job, 1 << 8));
    ASSERT_EQ(ends.size(), 8u);
    Apply(ends);
  }
  Sql("UPDATE placements SET verified = true, ended = 3 WHERE cluster_id = 2");
  Update({campaign});
  EXPECT_EQ(counted(1), "16 16");
  Sql("INSERT INTO canary_renewals (campaign_id) SELECT " + std::to_string(campaign) +
      " FROM generate_series(1, 2)");
  Update({});
  EXPECT_EQ(counted(1), "0 0");
  EXPECT_EQ(counted(2), "3 0") << "something has succeeded there";
  EXPECT_EQ(Count("canary_renewals"), 0);
}

TEST_F(StatusUpdatesPgTest, ThePolicyKeySaysHowManyCanaryJobsThereAre) {
  GivenClusters(1);
  Sql("INSERT INTO policy_settings (key, value) VALUES ('canary_jobs', '3')");
  const auto campaign = GivenCampaign({.ntasks = 4000});
  const auto jobs = GivenLive(campaign, 1, 3);
  Apply({Ended(jobs[0], 127 << 8), Ended(jobs[1], 127 << 8)});
  Update({campaign});
  EXPECT_EQ(Count("placements WHERE held_since IS NOT NULL"), 0) << "two of three";
  Apply({Ended(jobs[2], 127 << 8)});
  Update({campaign});
  EXPECT_EQ(Count("placements WHERE held_since IS NOT NULL"), 1);
  ExpectConservation(campaign);
}

TEST_F(StatusUpdatesPgTest, ABrokenPolicyKeyCountsAsTheDefault) {
  GivenClusters(1);
  Sql("INSERT INTO policy_settings (key, value) VALUES ('canary_jobs', '\"many\"')");
  const auto campaign = GivenCampaign({.ntasks = 4000});
  const auto jobs = GivenLive(campaign, 1, kDefaultCanaryJobs);
  std::vector<StatusUpdate> updates;
  for (const auto job : jobs) updates.push_back(Ended(job, 127 << 8));
  const auto last = updates.back();
  updates.pop_back();
  Apply(updates);
  Update({campaign});
  EXPECT_EQ(Count("placements WHERE held_since IS NOT NULL"), 0);
  Apply({last});
  Update({campaign});
  EXPECT_EQ(Count("placements WHERE held_since IS NOT NULL"), 1);
}

TEST_F(StatusUpdatesPgTest, ACampaignHeldEverywhereNamesEachReasonOnceWithItsClusters) {
  GivenClusters(2);
  const auto campaign = GivenCampaign({.ntasks = 100, .clusters = 2});
  std::vector<StatusUpdate> updates;
  for (const int cluster : {1, 2})
    for (const auto job : GivenLive(campaign, cluster, 10)) {
      updates.push_back(Ended(job, 127 << 8));
      updates.back().remote.message = "not found";
    }
  Apply(updates);
  Update({campaign});
  Update({});
  EXPECT_EQ(Sql("SELECT state_reason FROM campaigns")[0][0].as<std::string>(),
            "held everywhere: c1, c2: the first 10 jobs all failed: ./job.sh: not on the cluster: "
            "./job.sh: "
            "exit code 127: not found");
}

TEST_F(StatusUpdatesPgTest, ATaskThatIsAddedAtTheEndIsNotLostAndACancelledCampaignIsCancelled) {
  GivenClusters(1);
  const auto campaign = GivenCampaign({.ntasks = 1});
  const auto jobs = GivenLive(campaign, 1, 1);
  Apply({Ended(jobs[0], 0)});
  Sql("UPDATE campaign_cursor SET ntasks = 2");  // added at this very moment
  Update({campaign});
  EXPECT_EQ(State(campaign), "in_treatment");
  Sql("UPDATE campaigns SET wanted = 'cancelled'");
  Update({});
  EXPECT_EQ(State(campaign), "cancelled");
  EXPECT_EQ(Count("events WHERE class = 'log'"), 0) << "the API has logged who wanted it";
}

TEST_F(StatusUpdatesPgTest, EpiloguesRunWhereSomethingRanBeforeTheCampaignEnds) {
  GivenClusters(2);
  const auto campaign = GivenCampaign({.ntasks = 1, .clusters = 2});
  Sql("UPDATE campaign_clusters SET epilogue = 'true'");
  const auto jobs = GivenLive(campaign, 1, 1);
  Apply({Ended(jobs[0], 0)});
  Update({campaign});
  EXPECT_EQ(State(campaign), "in_treatment");
  EXPECT_EQ(Count("campaigns WHERE finishing_since IS NOT NULL"), 1);
  const auto epilogue = GivenLive(campaign, 1, 1, "epilogue");
  ASSERT_EQ(epilogue.size(), 1u);
  Apply({Ended(epilogue[0], 0)});
  Update({campaign});
  EXPECT_EQ(State(campaign), "terminated");
}

// They ran beside it, or without what it had removed, and sometimes no other epilogue followed
// them.
TEST_F(StatusUpdatesPgTest, TasksAddedDuringAnEpilogueComeAfterItBetweenAPrologueAndAnother) {
  GivenClusters(1);
  const auto campaign = GivenCampaign({.ntasks = 1});
  Sql("UPDATE campaign_clusters SET prologue = 'true', epilogue = 'true'");
  const auto live = [&](const std::string& kind) {  // as a plan of this alone
    Sql("DELETE FROM grants");
    return GivenLive(campaign, 1, 1, kind);
  };
  const auto run = [&](const std::string& kind) {
    const auto jobs = live(kind);
    ASSERT_EQ(jobs.size(), 1u) << kind;
    Apply({Ended(jobs[0], 0)});
    Update({campaign});
  };
  EXPECT_TRUE(live("task").empty()) << "there was no prologue yet";
  run("prologue");
  run("task");
  for (const bool killed : {false, true}) {
    SCOPED_TRACE(killed);
    const auto epilogue = live("epilogue");
    ASSERT_EQ(epilogue.size(), 1u);
    Sql("UPDATE campaign_cursor SET ntasks = ntasks + 1");
    Sql("UPDATE campaigns SET finishing_since = NULL");
    EXPECT_TRUE(live("task").empty()) << "the epilogue is in flight";
    EXPECT_TRUE(live("prologue").empty()) << "the epilogue is in flight";
    Apply(
        {killed ? Ended(epilogue[0], std::nullopt, EndCause::kPreempted) : Ended(epilogue[0], 0)});
    EXPECT_EQ(Count("placements WHERE prologue = 'undone'"), 1) << "it may have begun to clean up";
    EXPECT_TRUE(live("task").empty());
    EXPECT_TRUE(live("epilogue").empty()) << "there is a task to come";
    run("prologue");
    run("task");
    EXPECT_EQ(Count("campaigns WHERE state = 'in_treatment' AND finishing_since IS NOT NULL"), 1);
  }
  run("epilogue");
  EXPECT_EQ(State(campaign), "terminated");
}

// The campaign ended without it, and its epilogue never came; where it waits, nothing is to clean
// up.
TEST_F(StatusUpdatesPgTest, APrologueInFlightAtTheEndIsFollowedByItsEpilogueIfItHasBegun) {
  GivenClusters(2);
  for (const bool begun : {true, false}) {
    SCOPED_TRACE(begun);
    const auto campaign = GivenCampaign({.ntasks = 1, .clusters = 2});
    Sql("UPDATE campaign_clusters SET epilogue = 'true'");
    Sql("UPDATE campaign_clusters SET prologue = 'sleep 100' WHERE cluster_id = 2");
    const auto prologue = GivenLive(campaign, 2, 1, "prologue");
    Apply({Ended(GivenLive(campaign, 1, 1).at(0), 0)});
    Update({campaign});
    const auto epilogue = GivenLive(campaign, 1, 1, "epilogue");
    Apply({Ended(epilogue.at(0), 0)});
    Update({campaign});
    EXPECT_EQ(State(campaign), "in_treatment");
    EXPECT_TRUE(GivenLive(campaign, 2, 1, "epilogue").empty()) << "not beside its prologue";
    Sql("INSERT INTO kills (job_id, reason) VALUES (" + std::to_string(prologue.at(0)) +
        ", 'campaign_over')");
    auto end = Ended(prologue.at(0), std::nullopt, EndCause::kDeleted);
    if (!begun) end.remote.started_at = 0;
    Apply({end});
    Update({campaign});
    EXPECT_EQ(State(campaign), begun ? "in_treatment" : "terminated");
    if (!begun) continue;
    Apply({Ended(GivenLive(campaign, 2, 1, "epilogue").at(0), 0)});
    Update({campaign});
    EXPECT_EQ(State(campaign), "terminated");
  }
}

TEST_F(StatusUpdatesPgTest, AnEpilogueThatDoesNotRunIsReportedAndGivenUp) {
  GivenClusters(2);
  const auto campaign = GivenCampaign({.ntasks = 2, .clusters = 2});
  Sql("UPDATE campaign_clusters SET epilogue = 'false'");
  const auto one = GivenLive(campaign, 1, 1), two = GivenLive(campaign, 2, 1);
  Apply({Ended(one[0], 0), Ended(two[0], 0)});
  Update({campaign});
  const auto epilogue = GivenLive(campaign, 1, 1, "epilogue");
  Apply({Ended(epilogue.at(0), 1 << 8)});
  EXPECT_EQ(Count("events WHERE code = 'EPILOGUE_FAILED' AND cluster_id = 1 AND state = 'open'"),
            1);
  Update({campaign}, {.epilogue_wait_s = 600});
  EXPECT_EQ(State(campaign), "in_treatment") << "the other cluster has some time";
  Sql("UPDATE campaigns SET finishing_since = now() - interval '11 minutes'");
  Update({}, {.epilogue_wait_s = 600});
  EXPECT_EQ(Count("events WHERE code = 'EPILOGUE_GIVEN_UP' AND cluster_id = 2 AND state = 'open'"),
            1);
  EXPECT_EQ(State(campaign), "terminated");
}

// `cigri down` during an epilogue, and the next day `cigri up`: it was given up at once. So was one
// that takes longer than the limit and was preempted, and that of a campaign that was paused so
// long.
TEST_F(StatusUpdatesPgTest, TheTimeOfAnEpilogueIsThatInWhichItCouldRun) {
  GivenClusters(1);
  const auto campaign = GivenCampaign({.ntasks = 1});
  Sql("UPDATE campaign_clusters SET epilogue = 'true'");
  Apply({Ended(GivenLive(campaign, 1, 1).at(0), 0)});
  Update({campaign});
  const auto pass_later = [&] {
    Sql("UPDATE campaigns SET finishing_since = now() - interval '11 minutes'");
    Update({}, {.epilogue_wait_s = 600});
    return Count("placements WHERE epilogue = 'given_up'");
  };
  Sql("UPDATE grid SET leading_since = now() - interval '1 minute'");
  EXPECT_EQ(pass_later(), 0) << "the grid was down";
  Sql("UPDATE grid SET leading_since = now() - interval '1 day'");
  const auto epilogue = GivenLive(campaign, 1, 1, "epilogue");
  Apply({Ended(epilogue.at(0), std::nullopt, EndCause::kPreempted)});
  EXPECT_EQ(pass_later(), 0) << "it is to run again";
  Sql("UPDATE done SET ended_at = now() - interval '12 minutes'");
  Sql("UPDATE campaigns SET state = 'paused', finishing_since = now() - interval '11 minutes'");
  Update({}, {.epilogue_wait_s = 600});
  EXPECT_EQ(Count("placements WHERE epilogue = 'given_up'"), 0) << "it goes on now";
  EXPECT_EQ(pass_later(), 1);
}

// CIG-19
TEST_F(StatusUpdatesPgTest, ATestCampaignReportsAClusterWithoutAnAnswerAndEnds) {
  GivenClusters(2);
  const auto campaign = GivenCampaign({.ntasks = 2, .type = "test", .clusters = 2});
  const auto jobs = GivenLive(campaign, 1, 1, "test");
  GivenLive(campaign, 2, 1, "test");
  Apply({Ended(jobs.at(0), 0)});
  Update({campaign}, {.test_wait_s = 600});
  EXPECT_EQ(State(campaign), "in_treatment");
  Sql("UPDATE campaigns SET submission_time = now() - interval '11 minutes'");
  Update({}, {.test_wait_s = 600});
  EXPECT_EQ(State(campaign), "terminated");
  EXPECT_EQ(
      Sql("SELECT string_agg(cluster_id || message, '') FROM events WHERE code = 'NOT_TESTED'")
          [0][0]
              .as<std::string>(),
      "2c2 was not tested: no answer within 10 min");
  ExpectConservation(campaign);
}

// It was paused, and what is paused never ends.
TEST_F(StatusUpdatesPgTest, ATestCampaignThatItsClustersRefuseEnds) {
  GivenClusters(1);
  const auto campaign = GivenCampaign({.ntasks = 1, .type = "test"});
  Sql("INSERT INTO events (class, code, campaign_id, cluster_id, message) VALUES ('campaign', "
      "'SUBMIT_REFUSED', " +
      std::to_string(campaign) + ", 1, 'no')");
  Update({}, {.test_wait_s = 600});
  EXPECT_EQ(State(campaign), "in_treatment");
  Sql("UPDATE campaigns SET submission_time = now() - interval '11 minutes'");
  Update({}, {.test_wait_s = 600});
  EXPECT_EQ(State(campaign), "terminated");
  EXPECT_EQ(Count("events WHERE code = 'NOT_TESTED'"), 1);
  // One that an updator before us has stopped.
  Sql("UPDATE campaigns SET state = 'paused', state_reason = 'held everywhere: c1: no', "
      "completion_time = NULL");
  Update({}, {.test_wait_s = 600});
  EXPECT_EQ(State(campaign), "terminated");
}

TEST_F(StatusUpdatesPgTest, ACancelledCampaignIsNotSaidToBeHeld) {
  GivenClusters(1);
  const auto campaign = GivenCampaign({.ntasks = 1});
  Sql("UPDATE campaigns SET state = 'paused', state_reason = 'held everywhere: c1: no', "
      "wanted = 'cancelled'");
  Update({});
  EXPECT_EQ(State(campaign), "cancelled");
  EXPECT_EQ(Count("campaigns WHERE state_reason IS NULL"), 1);
}

TEST_F(StatusUpdatesPgTest,
       ACancelledCampaignIsCompleteWhenItsKillsAreConfirmedAndItsEpilogueHasRun) {
  GivenClusters(2);
  const auto campaign = GivenCampaign({.ntasks = 100, .clusters = 2});
  Sql("UPDATE campaign_clusters SET epilogue = 'true'");
  const auto jobs = GivenLive(campaign, 1, 2);
  GivenGrant(campaign, 1, 1, "epilogue");
  Sql("UPDATE campaigns SET wanted = 'cancelled'");
  Update({});
  EXPECT_EQ(State(campaign), "cancelled");
  Apply({Ended(jobs[0], 15, EndCause::kDeleted)});
  Update({campaign});
  EXPECT_EQ(Count("campaigns WHERE finishing_since IS NULL AND completion_time IS NULL"), 1)
      << "one of its jobs still runs";
  Apply({Ended(jobs[1], 15, EndCause::kDeleted)});
  Update({campaign});
  EXPECT_EQ(Count("campaigns WHERE finishing_since IS NOT NULL AND completion_time IS NULL"), 1);
  const auto epilogue = GivenLive(campaign, 1, 1, "epilogue");
  ASSERT_EQ(epilogue.size(), 1u) << "nothing else of a cancelled campaign may be claimed";
  EXPECT_TRUE(GivenLive(campaign, 2, 5).empty());
  Apply({Ended(epilogue[0], 0)});
  Update({campaign});
  EXPECT_EQ(Count("campaigns WHERE state = 'cancelled' AND completion_time IS NOT NULL"), 1);
  EXPECT_EQ(Count("placements WHERE epilogue = 'done'"), 1) << "nothing ran on the other cluster";
}

TEST_F(StatusUpdatesPgTest, AClusterThatConfirmsNoKillsIsReportedAndKeepsNoOtherFromItsEpilogue) {
  GivenClusters(2);
  const auto campaign = GivenCampaign({.ntasks = 100, .clusters = 2});
  Sql("UPDATE campaign_clusters SET epilogue = 'true'");
  const auto here = GivenLive(campaign, 1, 1), away = GivenLive(campaign, 2, 2);
  Apply({Ended(here[0], 0), Ended(away[0], 0)});
  Sql("UPDATE campaigns SET wanted = 'cancelled'");
  Sql("INSERT INTO kills (job_id, reason, asked_at) VALUES (" + std::to_string(away[1]) +
      ", 'campaign_cancelled', now() - interval '20 minutes')");
  Update({}, {.epilogue_wait_s = 1800});
  EXPECT_EQ(Count("placements WHERE epilogue <> 'none'"), 0) << "not so long yet";
  Update({}, {.epilogue_wait_s = 600});
  EXPECT_EQ(Count("events WHERE code = 'EPILOGUE_GIVEN_UP' AND cluster_id = 2"), 1);
  EXPECT_EQ(Count("campaigns WHERE completion_time IS NULL"), 1);
  const auto epilogue = GivenLive(campaign, 1, 1, "epilogue");
  ASSERT_EQ(epilogue.size(), 1u);
  Apply({Ended(epilogue[0], 0)});
  Update({}, {.epilogue_wait_s = 600});
  EXPECT_EQ(Count("campaigns WHERE completion_time IS NOT NULL"), 1);
}

TEST_F(StatusUpdatesPgTest, ACancelledCampaignThatNeverRanIsCompleteAtOnce) {
  GivenClusters(1);
  GivenCampaign({.ntasks = 5});
  Sql("UPDATE campaign_clusters SET epilogue = 'true'; UPDATE campaigns SET wanted = 'cancelled'");
  Update({});
  EXPECT_EQ(Count("campaigns WHERE state = 'cancelled' AND completion_time IS NOT NULL"), 1);
}

}  // namespace
}  // namespace cigri::updator
