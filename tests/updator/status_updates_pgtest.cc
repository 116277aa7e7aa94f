#include <future>

#include "tests/support/await.h"
#include "tests/updator/fixture.h"

namespace cigri::updator {
namespace {

using cluster::EndCause;
using cluster::RemoteState;

class StatusUpdatesPgTest : public UpdatesTest {};

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

// Grid Engine tells no clock: its jobs had begun when a poll had seen them running, or never.
TEST_F(StatusUpdatesPgTest, WithoutAClockAJobHasLastedWhatTheClustersTimesDifferBy) {
  GivenClusters(1);
  const auto campaign = GivenCampaign({.ntasks = 2});
  const auto jobs = GivenLive(campaign, 1, 2);
  std::vector<StatusUpdate> ends{Ended(jobs[0], 0), Ended(jobs[1], 15, EndCause::kDeleted)};
  for (auto& end : ends) end.cluster_time = 0;
  ends[1].remote.started_at = 0;
  Apply(ends);
  EXPECT_EQ(Sql("SELECT string_agg(coalesce(extract(epoch FROM ended_at - started_at)::int, -1)"
                "::text, ' ' ORDER BY job_id) FROM done")[0][0]
                .as<std::string>(),
            "12 -1");
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

}  // namespace
}  // namespace cigri::updator
