#include "core/defaults.h"
#include "tests/updator/fixture.h"

namespace cigri::updator {
namespace {

using cluster::EndCause;

class CampaignsPgTest : public UpdatesTest {};

TEST_F(CampaignsPgTest, AMissingCommandIsHeldAfterItsCanaryJobsAndCostsNoTry) {
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
TEST_F(CampaignsPgTest, WithoutAnotherClusterTheTasksOfAHeldOneAvoidNone) {
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
TEST_F(CampaignsPgTest, WhatFailsAfterTheCanaryJobsCostsNoTryEither) {
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
TEST_F(CampaignsPgTest, ACampaignThatGetsAnotherTryGetsItsCanaryJobsAgain) {
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

TEST_F(CampaignsPgTest, ThePolicyKeySaysHowManyCanaryJobsThereAre) {
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

TEST_F(CampaignsPgTest, ABrokenPolicyKeyCountsAsTheDefault) {
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

TEST_F(CampaignsPgTest, ACampaignHeldEverywhereNamesEachReasonOnceWithItsClusters) {
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

TEST_F(CampaignsPgTest, ATaskThatIsAddedAtTheEndIsNotLostAndACancelledCampaignIsCancelled) {
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

TEST_F(CampaignsPgTest, EpiloguesRunWhereSomethingRanBeforeTheCampaignEnds) {
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
TEST_F(CampaignsPgTest, TasksAddedDuringAnEpilogueComeAfterItBetweenAPrologueAndAnother) {
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
TEST_F(CampaignsPgTest, APrologueInFlightAtTheEndIsFollowedByItsEpilogueIfItHasBegun) {
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

// The campaign ended while the claim was being committed, and the epilogue there never came.
TEST_F(CampaignsPgTest, ACampaignDoesNotEndWhileAPrologueIsClaimedAndNoneIsClaimedWhileItEnds) {
  GivenClusters(2);
  const auto one_of_two = [&] {  // its task has ended, and a prologue is planned elsewhere
    const auto campaign = GivenCampaign({.ntasks = 1, .clusters = 2});
    Sql("UPDATE campaign_clusters SET prologue = 'true', epilogue = 'true' WHERE cluster_id = 2");
    Apply({Ended(GivenLive(campaign, 1, 1).at(0), 0)});
    GivenGrant(campaign, 2, 1, "prologue");
    return campaign;
  };
  const auto claim = [](db::Tx& tx) {
    runner::Store store(2, "grid", 0, 0);
    const auto batches = store.Claim(
        tx, 1000, [](std::int64_t) { return 1000; }, 10, false);
    EXPECT_EQ(store.left_out(), batches.empty());
    return batches.size();
  };
  auto one = Connect(), other = Connect();
  const auto first = one_of_two();
  db::Tx claims(*one);
  ASSERT_EQ(claim(claims), 1u);
  Update({first});
  EXPECT_EQ(State(first), "in_treatment");
  claims.Commit();
  Update({first});
  EXPECT_EQ(State(first), "in_treatment") << "its prologue is in flight";

  const auto second = one_of_two();
  db::Tx ends(*one), is_late(*other);
  UpdateCampaigns(ends, {second}, true, {});
  EXPECT_EQ(claim(is_late), 0u);
  ends.Commit();
  EXPECT_EQ(State(second), "terminated");
}

TEST_F(CampaignsPgTest, AnEpilogueThatDoesNotRunIsReportedAndGivenUp) {
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
TEST_F(CampaignsPgTest, TheTimeOfAnEpilogueIsThatInWhichItCouldRun) {
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
TEST_F(CampaignsPgTest, ATestCampaignReportsAClusterWithoutAnAnswerAndEnds) {
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
TEST_F(CampaignsPgTest, ATestCampaignThatItsClustersRefuseEnds) {
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

TEST_F(CampaignsPgTest, ACancelledCampaignIsNotSaidToBeHeld) {
  GivenClusters(1);
  const auto campaign = GivenCampaign({.ntasks = 1});
  Sql("UPDATE campaigns SET state = 'paused', state_reason = 'held everywhere: c1: no', "
      "wanted = 'cancelled'");
  Update({});
  EXPECT_EQ(State(campaign), "cancelled");
  EXPECT_EQ(Count("campaigns WHERE state_reason IS NULL"), 1);
}

TEST_F(CampaignsPgTest, ACancelledCampaignIsCompleteWhenItsKillsAreConfirmedAndItsEpilogueHasRun) {
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

TEST_F(CampaignsPgTest, AClusterThatConfirmsNoKillsIsReportedAndKeepsNoOtherFromItsEpilogue) {
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

TEST_F(CampaignsPgTest, ACancelledCampaignThatNeverRanIsCompleteAtOnce) {
  GivenClusters(1);
  GivenCampaign({.ntasks = 5});
  Sql("UPDATE campaign_clusters SET epilogue = 'true'; UPDATE campaigns SET wanted = 'cancelled'");
  Update({});
  EXPECT_EQ(Count("campaigns WHERE state = 'cancelled' AND completion_time IS NOT NULL"), 1);
}

}  // namespace
}  // namespace cigri::updator
