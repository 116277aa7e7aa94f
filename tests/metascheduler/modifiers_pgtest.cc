// What changes a policy's course, through the module's pass on real tables.
#include <sql/campaigns.h>

#include "tests/metascheduler/fixture.h"

namespace cigri::metascheduler {
namespace {

TEST_F(GridTest, PriorityZeroGetsNothingAndHigherOnesGetByWeight) {  // GRID-05, GRID-08, TECH-07
  Policy("policy", "usage");
  Policy("aggregate", "none");
  Policy("weights", {{"6", 30}, {"4", 10}});
  Cluster(1, 40);
  const auto suspended = Campaign({.user = "a", .priority = 0});
  const auto high = Campaign({.user = "b", .priority = 6});
  const auto normal = Campaign({.user = "c", .priority = 4});
  Pass();
  EXPECT_EQ(Granted(suspended), 0);
  EXPECT_EQ(Why(suspended), "SUSPENDED");
  EXPECT_EQ(Granted(high), 30);
  EXPECT_EQ(Granted(normal), 10);
}

// Each of them cost every decision a step, for as long as it was kept.
TEST_F(GridTest, CampaignsThatAreOverAndKeepTheirRetriesAreNotReadInEachDecision) {
  Cluster(1, 40);
  const auto first = Campaign({.user = "a"});
  const std::string many = " FROM generate_series(1001, 3000) AS i";
  Sql("INSERT INTO campaigns (id, grid_user, name, nb_params, first_task_id, jdl, wanted, state, "
      "completion_time) SELECT i, 'bob', 'x', 1, 1, '{}', 'cancelled', 'cancelled', now()" +
      many + "; INSERT INTO retry (campaign_id, idx, why) SELECT i, 0, ''" + many);
  Sql("SELECT setval(pg_get_serial_sequence('campaigns', 'id'), 4000)");
  const auto last = Campaign({.user = "a"});
  for (const auto id : {first, last})
    Sql("UPDATE campaign_cursor SET next_idx = ntasks WHERE campaign_id = " + std::to_string(id) +
        "; INSERT INTO retry (campaign_id, idx, why) VALUES (" + std::to_string(id) + ", 0, '')");
  auto db = Connect();
  db::Tx tx(*db);
  const auto rows = tx.Exec(sql::kSchedulableCampaigns, std::vector<std::int64_t>());
  ASSERT_EQ(rows.size(), 2u);
  for (const auto& row : rows) EXPECT_EQ(row.waiting, 1);
  const auto read =
      db::Native(tx)
          .exec(
              "SELECT coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) FROM "
              "pg_stat_xact_user_tables WHERE schemaname = current_schema() AND relname = "
              "'retry'")[0][0]
          .as<int>();
  EXPECT_LT(read, 100);
}

TEST_F(GridTest, StrictLevelsServeTheHigherFirst) {  // GRID-21
  Policy("policy", "usage");
  Policy("strict_priority", true);
  Cluster(1, 10);
  const auto low = Campaign({.user = "a", .priority = 3});
  const auto high = Campaign({.tasks = 7, .user = "b", .priority = 6});
  Pass();
  EXPECT_EQ(Granted(high), 7);
  EXPECT_EQ(Granted(low), 3);
}

TEST_F(GridTest, AUserOrALevelHasOneWeightWhenAggregated) {  // GRID-25, GRID-26, T-11
  Policy("policy", "usage");
  Policy("aggregate", "level");
  Cluster(1, 100);
  const auto six = Campaign({.user = "a", .priority = 6});
  const auto four = Campaign({.user = "b", .priority = 4});
  const auto other = Campaign({.user = "b", .priority = 4});
  Pass();
  EXPECT_EQ(Granted(six), 60);
  EXPECT_EQ(Granted(four), 20);
  EXPECT_EQ(Granted(other), 20);
  Policy("aggregate", "user");
  Pass();
  EXPECT_EQ(Granted(six), 50);
  EXPECT_EQ(Granted(four) + Granted(other), 50);
}

TEST_F(GridTest, OneCampaignOfAUserTakesPart) {  // TECH-14, TECH-16, TECH-18, T-05
  Policy("policy", "stride");
  Policy("parallel_campaigns", 1);
  Cluster(1, 100);
  const auto normal = Campaign({.user = "john", .priority = 4});
  const auto high = Campaign({.user = "john", .priority = 6});
  const auto alice = Campaign({.tasks = 30, .user = "alice"});
  const auto later = Campaign({.user = "alice"});
  Pass();
  EXPECT_EQ(Granted(normal), 0);
  EXPECT_EQ(Why(normal), "BEHIND_OWN");
  EXPECT_GT(Granted(high), 0);
  EXPECT_EQ(Granted(alice), 30);
  EXPECT_EQ(Granted(later) + Granted(alice) + Granted(high), 100) << "no slot idle for it";
}

TEST_F(GridTest, TestCampaignsGoFirstOneJobForEachCluster) {  // CIG-21, CIG-25, T-22
  Policy("policy", "fifo");
  for (int k = 1; k <= 3; ++k) Cluster(k, 5);
  const auto all = Campaign({.clusters = {1, 2, 3}});
  const auto test = Campaign(
      {.tasks = 10000, .user = "b", .clusters = {1, 2, 3}, .type = "test", .verified = false});
  Pass();
  EXPECT_EQ(Granted(test, 0, "test"), 3);
  EXPECT_EQ(Granted(all), 12);
  for (int k = 1; k <= 3; ++k)
    EXPECT_EQ(
        Number("SELECT rank FROM grants WHERE kind = 'test' AND cluster_id = " + std::to_string(k)),
        1);
  EXPECT_EQ(Cycle()[test], 3);
  End(Live(test), 1);
  Fresh();
  Pass();
  EXPECT_EQ(Granted(test, 0, "test"), 0) << "one each, never a second";
}

TEST_F(GridTest, FirstResultsOfEveryCampaignGoAhead) {  // CIG-16
  Policy("policy", "fifo");
  Policy("first_results", 3);
  Cluster(1, 10);
  const auto first = Campaign({.user = "a"});
  const auto second = Campaign({.user = "b"});
  Pass();
  EXPECT_EQ(Granted(second), 3);
  EXPECT_EQ(Granted(first), 7);
  Cycle();
  End(Live(second), 5);
  Fresh();
  Pass();
  EXPECT_EQ(Granted(second), 0) << "it has had its first results";
}

TEST_F(GridTest, ACampaignWaitsForAClusterThatHasItsData) {  // GRID-22, GRID-23, T-10
  Policy("policy", "fifo");
  Cluster(1, 10);
  Cluster(2, 10);
  const auto c = Campaign({.clusters = {1, 2}, .jdl = {{"affinity_wait", 300}}});
  Sql("UPDATE placements SET verified = cluster_id = 1");
  Pass();
  EXPECT_EQ(Granted(c, 1), 10);
  EXPECT_EQ(Granted(c, 2), 0);
  EXPECT_EQ(Why(c, 2), "AFFINITY_WAIT");
  LetPass(301);
  Pass();
  EXPECT_GT(Granted(c, 2), 0);
}

TEST_F(GridTest, CommonInputsOfAnotherCampaignAreDataOfThisOne) {  // CIG-05
  const struct {
    const char* when;
    const char* sql;
    int on_first;  // cluster 1, which has not had them
  } cases[] = {
      {"it has no inputs", "SELECT", 10},
      {"the same inputs", "UPDATE campaign_clusters SET common_inputs = 'x'", 0},
      {"in the cache of another user",
       "UPDATE campaign_clusters SET common_inputs = 'x', cluster_login = campaign_id::text", 10},
  };
  Policy("policy", "fifo");
  for (const auto& test : cases) {
    SCOPED_TRACE(test.when);
    Sql("TRUNCATE campaigns, clusters, cluster_status, gridstatus, placements, grants CASCADE");
    Cluster(1, 10);
    Cluster(2, 10);
    const auto before = std::to_string(Campaign({.tasks = 1, .clusters = {1, 2}}));
    Sql("UPDATE placements SET verified = true, last_end = now() - CASE cluster_id WHEN 1 THEN "
        "interval '8 days' ELSE '1 day' END WHERE campaign_id = " + before);
    Sql("UPDATE campaign_cursor SET next_idx = ntasks WHERE campaign_id = " + before);
    const auto c = Campaign(
        {.clusters = {1, 2}, .jdl = {{"affinity_wait", 300}}, .verified = false});
    Sql(test.sql);
    Fresh();
    Pass();
    EXPECT_EQ(Granted(c, 1), test.on_first);
    EXPECT_EQ(Granted(c, 2), 10);
    EXPECT_EQ(Why(c, 1) == "AFFINITY_WAIT", test.on_first == 0) << Why(c, 1);
  }
}

TEST_F(GridTest, QuotasAndCapsCountWhatIsInFlight) {  // TECH-05, FBS-30, T-01
  Policy("policy", "fifo");
  Policy(
      "quotas",
      nlohmann::json::array(
          {{{"scope", "grid"}, {"name", ""}, {"cluster", ""}, {"slots", 30}, {"jobs", -1}},
           {{"scope", "user"}, {"name", "a"}, {"cluster", ""}, {"slots", 8}, {"jobs", -1}},
           {{"scope", "project"}, {"name", "p"}, {"cluster", "c2"}, {"slots", -1}, {"jobs", 5}}}));
  Cluster(1, 100);
  Cluster(2, 100);
  const auto a = Campaign({.user = "a", .clusters = {1}});
  const auto p = Campaign({.user = "b", .clusters = {2}, .project = "p"});
  const auto rest = Campaign({.user = "c", .clusters = {1, 2}});
  EXPECT_EQ(Cycle()[a], 8);
  EXPECT_EQ(Granted(p), 5);
  EXPECT_EQ(Granted(rest), 17);
  EXPECT_EQ(Why(a), "QUOTA");
  Fresh();
  EXPECT_TRUE(Cycle().empty()) << "jobs in flight fill their quotas";
  Run(Live(a));
  Sql("UPDATE campaigns SET wanted = 'paused', state = 'paused' WHERE id = " + std::to_string(a));
  const auto more = Campaign({.user = "a", .clusters = {1}});
  Fresh();
  Pass();
  EXPECT_EQ(Granted(more), 0) << "what a paused campaign still runs is its user's all the same";
  EXPECT_EQ(Why(more), "QUOTA");
}

TEST_F(GridTest, OperatorsCeilingsOfAClusterHold) {  // CIG-10
  Policy("policy", "fifo");
  Cluster(1, 100);
  Cluster(2, 100);
  Cluster(3, 100);
  Sql("UPDATE clusters SET mode = 'limited', mode_limit = 3 WHERE id = 1");
  Sql("UPDATE clusters SET max_running = 4 WHERE id = 2");
  Sql("UPDATE clusters SET mode = 'observe' WHERE id = 3");
  const auto c = Campaign({.clusters = {1, 2, 3}});
  EXPECT_EQ(Cycle()[c], 7);
  EXPECT_EQ(Granted(c, 3), 0);
  EXPECT_EQ(Why(c, 1), "CLUSTER_LIMITED");
  EXPECT_EQ(Why(c, 2), "CLUSTER_MAX_RUNNING");
  EXPECT_EQ(Why(c, 3), "CLUSTER_OBSERVED");
}

TEST_F(GridTest, ALicencePoolIsCountedOverTheGridPausedCampaignsIncluded) {  // FAIR-21
  Policy("policy", "fifo");
  Policy("licences", {{"matlab", 7}});
  Cluster(1, 100);
  const auto a = Campaign({.user = "a", .jdl = {{"licences", {{"matlab", 2}}}}});
  EXPECT_EQ(Cycle()[a], 3);
  EXPECT_EQ(Why(a), "LICENCE");
  Sql("UPDATE campaigns SET wanted = 'paused', state = 'paused' WHERE id = " + std::to_string(a));
  const auto b = Campaign({.user = "b", .jdl = {{"licences", {{"matlab", 1}}}}});
  const auto unknown = Campaign({.user = "c", .jdl = {{"licences", {{"idl", 1}}}}});
  EXPECT_EQ(Cycle()[b], 1) << "three jobs of the paused one hold six";
  EXPECT_EQ(Granted(unknown), 0);
}

TEST_F(GridTest, AStartRateFillsWithTime) {
  Policy("policy", "fifo");
  Policy("start_rates", nlohmann::json::array(
                            {{{"scope", "user"}, {"name", ""}, {"per_minute", 60}, {"burst", 5}}}));
  Cluster(1, 1000);
  const auto c = Campaign({});
  EXPECT_EQ(Cycle()[c], 5);
  EXPECT_EQ(Why(c), "START_RATE");
  Fresh();
  EXPECT_EQ(Cycle()[c], 0);
  LetPass(3);
  EXPECT_EQ(Cycle()[c], 3);
}

TEST_F(GridTest, TheStartRateOfAJdlHoldsOnItsClusterAndUnclaimedStartsAreNotLost) {
  Policy("policy", "fifo");
  Cluster(1, 1000);
  Cluster(2, 1000);
  const auto c = Campaign({.clusters = {1, 2}, .options = {{"start_rate", 60}}});
  Sql("UPDATE campaign_clusters SET options = '{}' WHERE cluster_id = 2");
  Sql("UPDATE campaign_cursor SET ntasks = 100000");
  Pass();
  EXPECT_EQ(Granted(c, 1), 10);
  EXPECT_EQ(Granted(c, 2), 1000);
  Fresh();
  Pass();
  EXPECT_EQ(Granted(c, 1), 10) << "nobody claimed them: they are still its to claim";
  Claim();
  Fresh();
  Pass();
  EXPECT_EQ(Granted(c, 1), 0);
  EXPECT_EQ(Why(c, 1), "START_RATE");
  LetPass(4);
  Pass();
  EXPECT_EQ(Granted(c, 1), 14);
}

TEST_F(GridTest, APartOfAClusterIsReservedForAClass) {  // FAIR-23
  Policy("policy", "fifo");
  Policy("reserves",
         nlohmann::json::array({{{"class", "new"}, {"cluster", "c1"}, {"fraction", 0.25}}}));
  Cluster(1, 101);
  const auto old = Campaign({.user = "a"});
  const auto fresh = Campaign({.user = "b", .jdl = {{"class", "new"}}});
  Pass();
  EXPECT_EQ(Granted(old), 75);
  EXPECT_EQ(Granted(fresh), 26);
  EXPECT_EQ(Why(old), "RESERVE");
}

TEST_F(GridTest, ACampaignWaitsForTheOnesItComesAfter) {
  Policy("policy", "fifo");
  Cluster(1, 10);
  const auto first = Campaign({.tasks = 2});
  const auto second = Campaign({.jdl = {{"after", {first}}}});
  Pass();
  EXPECT_EQ(Granted(first), 2);
  EXPECT_EQ(Granted(second), 0);
  EXPECT_EQ(Why(second), "AFTER");
  EXPECT_EQ(Number("SELECT (numbers ->> 'other')::bigint FROM reasons WHERE code = 'AFTER'"),
            first);
  Cycle();
  End(Live(first), 1);
  Update({first});
  Fresh();
  Pass();
  EXPECT_EQ(Granted(second), 10);
}

TEST_F(GridTest, ACampaignAfterOneThatFailedWaitsForItsUser) {
  Policy("policy", "fifo");
  Cluster(1, 10);
  const auto first = Campaign({.tasks = 1});
  const auto cancelled = Campaign({.tasks = 1});
  const auto second = Campaign({.tasks = 1, .jdl = {{"after", {first}}}});
  const auto third = Campaign({.tasks = 1, .jdl = {{"after", {cancelled}}}});
  const auto anyway = Campaign({.tasks = 1, .jdl = {{"after_any", {first, cancelled}}}});
  const auto set_state = [&](std::int64_t id, const std::string& state) {
    Sql("UPDATE campaigns SET wanted = '" + (state == "cancelled" ? state : "in_treatment") +
        "', state = '" + state + "' WHERE id = " + std::to_string(id));
    Fresh();
    Pass();
  };
  Pass();
  EXPECT_EQ(Why(anyway), "AFTER");
  // Both are over, and neither well: one with a task that needs attention.
  Sql("INSERT INTO needs_attention (campaign_id, idx, job_id) VALUES (" + std::to_string(first) +
      ", 0, 1)");
  set_state(cancelled, "cancelled");
  set_state(first, "terminated");
  EXPECT_EQ(Granted(second), 0);
  EXPECT_EQ(Why(second), "AFTER_FAILED");
  EXPECT_EQ(Number("SELECT (numbers ->> 'other')::bigint FROM reasons WHERE code = 'AFTER_FAILED' "
                   "AND campaign_id = " +
                   std::to_string(second)),
            first);
  EXPECT_EQ(Number("SELECT (numbers ->> 'failed tasks')::float::bigint FROM reasons WHERE code = "
                   "'AFTER_FAILED' AND campaign_id = " +
                   std::to_string(second)),
            1);
  EXPECT_EQ(Why(third), "AFTER_FAILED");
  EXPECT_EQ(Granted(third), 0);
  EXPECT_EQ(Granted(anyway), 1) << "after_any asks only for an end";
  // Its user has had the task repaired.
  Sql("DELETE FROM needs_attention");
  Fresh();
  Pass();
  EXPECT_EQ(Granted(second), 1);
  EXPECT_EQ(Granted(third), 0);
}

TEST_F(GridTest, NothingStartsBeforeItsTime) {  // FBS-31
  Policy("policy", "fifo");
  Cluster(1, 10);
  const auto now = static_cast<std::int64_t>(Number("SELECT extract(epoch FROM now())::bigint"));
  const auto later = Campaign({.tasks = 3, .jdl = {{"not_before", now + 3600}}});
  const auto due = Campaign({.tasks = 3, .jdl = {{"not_before", now - 1}}});
  Pass();
  EXPECT_EQ(Granted(due), 3);
  EXPECT_EQ(Granted(later), 0);
  EXPECT_EQ(Why(later), "NOT_BEFORE");
  Sql("UPDATE campaigns SET jdl = jdl || '{\"not_before\": " + std::to_string(now - 1) + "}'");
  Fresh();
  Pass();
  EXPECT_EQ(Granted(later), 3);
}

TEST_F(GridTest, ADeadlineGoesFirstWithinTheShareOfItsUser) {  // FAIR-22
  Policy("policy", "fairshare");
  Cluster(1, 10);
  const auto now = static_cast<std::int64_t>(Number("SELECT extract(epoch FROM now())::bigint"));
  const auto first = Campaign({.tasks = 100});
  const auto due = Campaign({.tasks = 1000, .jdl = {{"deadline", now + 100}}});
  Sql("INSERT INTO forecasts (campaign_id, cluster_id, p50_s) SELECT c, 0, 60 FROM "
      "unnest(ARRAY[" + std::to_string(first) + ", " + std::to_string(due) + "]) AS c");
  Pass();
  EXPECT_EQ(Granted(due), 9);
  EXPECT_EQ(Granted(first), 1) << "the oldest";
}

TEST_F(GridTest, MaxJobsTotalCountsAllClusters) {  // GRID-46
  Policy("policy", "fairshare");
  Cluster(1, 10);
  Cluster(2, 10);
  const auto capped = Campaign({.clusters = {1, 2}, .jdl = {{"max_jobs_total", 12}}});
  EXPECT_EQ(Cycle()[capped], 12);
  Fresh();
  EXPECT_EQ(Cycle()[capped], 0) << "those in flight count";
  EXPECT_EQ(Why(capped), "MAX_JOBS_TOTAL");
  const auto live = Live(capped);
  End({live[0], live[1]}, 1);
  Fresh();
  EXPECT_EQ(Cycle()[capped], 2);
}

TEST_F(GridTest, UrgentGoesFirst) {  // GRID-27, GRID-35
  Policy("policy", "fifo");
  Cluster(1, 10);
  const auto usual = Campaign({.user = "a"});
  const auto urgent = Campaign({.tasks = 6, .user = "b", .priority = 10});
  Pass();
  EXPECT_EQ(Granted(urgent), 6);
  EXPECT_EQ(Granted(usual), 4);
}

TEST_F(GridTest, AScavengerTakesWhatNobodyElseWantsAndGivesWay) {  // TECH-08, T-02
  Policy("policy", "fifo");
  Cluster(1, 10);
  const auto scavenger = Campaign({.user = "s", .jdl = {{"class", "scavenger"}}});
  EXPECT_EQ(Cycle()[scavenger], 10);
  Run(Live(scavenger));
  const auto usual = Campaign({.tasks = 5, .user = "a"});  // one may wait there
  const auto low = Campaign({.tasks = 4, .user = "b", .priority = 3});
  Fresh();
  Pass();
  EXPECT_EQ(Number("SELECT count(*) FROM preemptions"), 0) << "off by default";
  Policy("scavenger.preempt", true);
  Fresh();
  Pass();
  EXPECT_EQ(
      Number("SELECT count(*) FROM preemptions WHERE for_campaign = " + std::to_string(usual)), 4);
  EXPECT_EQ(Number("SELECT count(*) FROM preemptions WHERE for_campaign = " + std::to_string(low)),
            0);
  Fresh();
  Pass();
  EXPECT_EQ(Number("SELECT count(*) FROM preemptions"), 4)
      << "what is on its way is not asked for again";
}

TEST_F(GridTest, UrgentPreemptsTheLowestWithinItsGuards) {  // GRID-29..34, T-12, T-13
  Policy("policy", "fifo");
  Policy("urgent.percent", 50);
  Policy("urgent.delay", 60);
  Cluster(1, 11);  // ten slots
  const auto high = Campaign({.tasks = 5, .user = "a", .priority = 6});
  const auto low = Campaign({.tasks = 6, .user = "b", .priority = 2});
  Cycle();
  Run(Live(high), 100);
  Run(Live(low), 100);
  const auto urgent = Campaign({.user = "c", .priority = 10});
  Fresh();
  Pass();
  EXPECT_EQ(Number("SELECT count(*) FROM preemptions"), 0) << "it has not waited long enough";
  LetPass(61);
  Pass();
  EXPECT_EQ(
      Number("SELECT count(*) FROM preemptions WHERE for_campaign = " + std::to_string(urgent)), 4)
      << "half of ten slots, with the one that it was given";
  EXPECT_EQ(
      Number("SELECT count(*) FROM preemptions JOIN live USING (job_id) WHERE campaign_id = " +
             std::to_string(low)),
      4)
      << "of the lowest priority";
  EXPECT_EQ(Number("SELECT count(*) FROM preemptions WHERE lost_s >= 160"), 4);
  for (int i = 0; i < 3; ++i) {
    Fresh();
    Pass();
  }
  EXPECT_EQ(Number("SELECT count(*) FROM preemptions"), 4)
      << "kills take a while; they are not repeated";
}

TEST_F(GridTest, WhatPreemptionCostsAndBringsIsReported) {  // GRID-28, GRID-36
  Policy("policy", "fifo");
  Policy("urgent.percent", 100);
  Policy("urgent.delay", 0);
  Cluster(1, 5);  // four slots
  const auto usual = Campaign({.tasks = 4, .user = "a"});
  Cycle();
  Run(Live(usual), 3600);
  const auto urgent = Campaign({.tasks = 4, .user = "b", .priority = 10});
  Fresh();
  Pass();
  EXPECT_EQ(Number("SELECT count(*) FROM preemptions"), 3);
  Claim();
  Jobs victims;
  for (const auto& row : Sql("SELECT job_id FROM preemptions ORDER BY job_id"))
    victims.push_back(row[0].as<std::int64_t>());
  Sql("INSERT INTO kills (job_id, reason) SELECT job_id, 'preempted_by_grid' FROM preemptions");  // as nikita does
  End(victims, 3600, 9);
  EXPECT_EQ(Number("SELECT count(*) FROM tries WHERE program > 0"), 0) << "GRID-33: not charged";
  Resources(1, 4, 1);  // a local user was faster than we
  Fresh();
  Cycle();
  const auto started = Live(urgent);
  Run({started[0], started[1]}, 0);
  Sql("UPDATE live SET started_at = now() WHERE state = 'running' AND campaign_id = " +
      std::to_string(urgent));
  Fresh();
  Pass();
  const auto reported = Text(
      "SELECT message FROM events WHERE code = 'PREEMPTION' AND state = 'open' AND campaign_id = " +
      std::to_string(urgent));
  // A fourth was cancelled for the slot that the local user took.
  EXPECT_NE(reported.find("4 jobs (4 slots) were cancelled for it, 4 h of slot time lost"),
            std::string::npos)
      << reported;
  EXPECT_NE(reported.find("of 3 slots freed it got 2 (yield 66 %)"), std::string::npos) << reported;
}

TEST_F(GridTest, AGroupTakesBackWhatItHadLent) {  // GRID-45
  Policy("policy", "sla");
  Policy("sla.groups", {{"a", 6}, {"b", 4}});
  Policy("sla.preempt", true);
  Cluster(1, 11);
  const auto b = Campaign({.user = "b", .sla_group = "b"});
  Cycle();
  Run(Live(b), 10);
  const auto a = Campaign({.user = "a", .sla_group = "a"});
  Fresh();
  Pass();
  EXPECT_EQ(Number("SELECT count(*) FROM preemptions WHERE for_campaign = " + std::to_string(a)), 5)
      << "six, with the one that it was given";
}

TEST_F(GridTest, AMultiSlotJobThatWasBypassedTooOftenIsWaitedFor) {  // FBS-19, FBS-27, T-19
  Policy("policy", "fifo");
  Policy("multi_slot.age", 3);
  Policy("backfill", false);
  Cluster(1, 9);  // eight slots
  const auto running = Campaign({.tasks = 6, .user = "a"});
  Cycle();
  Run(Live(running), 10);
  const auto wide = Campaign({.tasks = 1, .user = "b", .slots = 8});
  const auto narrow = Campaign({.user = "c"});
  int passed = 0;
  for (int i = 0; i < 6; ++i) {
    Fresh();
    for (const auto& [key, jobs] : (Pass(), Claim())) {
      if (key.first != narrow) continue;
      passed += static_cast<int>(jobs.size());
      End(jobs, 5);
    }
  }
  EXPECT_EQ(passed, 3);
  EXPECT_EQ(Why(narrow), "MULTI_SLOT_RESERVATION");
  End(Live(running), 20);
  Fresh();
  Pass();
  EXPECT_EQ(Granted(wide), 1) << "all eight are idle now";
}

TEST_F(GridTest,
       AShortJobGoesBeforeAReservedMultiSlotOneThatItDoesNotDelay) {  // FAIR-08, FAIR-09, T-32
  Policy("policy", "fifo");
  Policy("multi_slot.age", 0);
  Cluster(1, 9);
  const auto running = Campaign({.tasks = 6, .user = "a", .walltime_s = 3600});
  Cycle();
  Run(Live(running), 10);  // until 3590 s from now
  const auto wide = Campaign({.tasks = 1, .user = "b", .slots = 8});
  const auto tall = Campaign({.user = "c", .walltime_s = 7200});
  const auto low = Campaign({.tasks = 2, .user = "d", .walltime_s = 1800});
  Fresh();
  Pass();
  EXPECT_EQ(Granted(wide), 0);
  EXPECT_EQ(Granted(tall), 0);
  EXPECT_EQ(Why(tall), "MULTI_SLOT_RESERVATION");
  EXPECT_EQ(Granted(low), 2) << "it is over before the multi-slot one could start";
}

}  // namespace
}  // namespace cigri::metascheduler
