#include <sql/campaigns.h>
#include <sql/claims.h>
#include <sql/tasks.h>

#include <atomic>
#include <future>

#include "db/native.h"
#include "module/module.h"
#include "runner/store.h"
#include "tests/support/rows.h"

namespace cigri::runner {
namespace {

class RunnerStorePgTest : public test::RowsTest {
 protected:
  std::vector<ClaimedBatch> Claim(int cluster = 1, int most = 1000, int max_array = 1000) {
    auto c = Connect();
    Store store(cluster, "grid", 0, 0);
    std::vector<ClaimedBatch> batches;
    do {
      db::Tx tx(*c);
      batches = store.Claim(
          tx, most, [&](std::int64_t) { return max_array; }, 10, false);
      tx.Commit();
    } while (batches.empty() && store.left_out());
    return batches;
  }
  // As the API does.
  void Boost(std::int64_t campaign, const std::vector<std::int64_t>& tasks) {
    auto c = Connect();
    db::Tx tx(*c);
    tx.Exec(sql::kLockCampaign, campaign);
    std::vector<std::int64_t> taken;
    for (const auto& row : tx.Exec(sql::kTakeFromCursor, campaign, tasks)) taken.push_back(row.idx);
    tx.Exec(sql::kPassBoosted, std::vector{campaign});
    tx.Exec(sql::kBoostTasks, campaign, taken, tasks);
    tx.Commit();
  }
  std::string Text(const std::string& query) { return Sql(query)[0][0].as<std::string>(); }
  void Record(const ClaimedBatch& batch, std::vector<int> missing = {}) {
    auto c = Connect();
    db::Tx tx(*c);
    std::vector<std::pair<int, std::string>> remote;
    for (int i = 0; i < static_cast<int>(batch.tasks.size()); ++i)
      if (std::find(missing.begin(), missing.end(), i) == missing.end())
        remote.emplace_back(i, "r" + std::to_string(i));
    EXPECT_TRUE(Store(1, "grid", 0, 0).Record(tx, batch, remote, missing, false));
    tx.Commit();
  }
};

TEST_F(RunnerStorePgTest, TwoClaimsNeverTakeTheSameTask) {
  GivenClusters(2);
  const auto campaign = GivenCampaign({.ntasks = 1000, .clusters = 2});
  GivenGrant(campaign, 1, 600);
  GivenGrant(campaign, 2, 600);
  auto other = std::async(std::launch::async, [&] { return Claim(2); });
  auto batches = Claim(1);
  for (auto& b : other.get()) batches.push_back(b);
  std::set<std::int64_t> seen, jobs;
  std::size_t n = 0;
  for (const auto& b : batches)
    for (std::size_t i = 0; i < b.tasks.size(); ++i, ++n) {
      seen.insert(b.tasks[i].idx);
      jobs.insert(b.first_job_id + static_cast<std::int64_t>(i));
    }
  EXPECT_EQ(n, 1000u);
  EXPECT_EQ(seen.size(), 1000u);
  EXPECT_EQ(jobs.size(), 1000u) << "a job id is given once";
  ExpectConservation(campaign);
}

// FBS-13: first what is boosted, then the others in their order; each once.
TEST_F(RunnerStorePgTest, BoostedTasksAreClaimedFirstAndOnce) {
  GivenClusters(1);
  const auto campaign = GivenCampaign({.ntasks = 10});
  GivenGrant(campaign, 1, 10);
  Boost(campaign, {6, 2, 3, 9});
  std::vector<std::int64_t> sent;
  const auto claim = [&] {
    for (const auto& batch : Claim())
      for (const auto& task : batch.tasks) sent.push_back(task.idx);
    return sent;
  };
  EXPECT_EQ(claim(), (std::vector<std::int64_t>{2, 3, 6, 9, 0, 1}));
  EXPECT_EQ(claim(), (std::vector<std::int64_t>{2, 3, 6, 9, 0, 1, 4, 5}));
  Boost(campaign, {7});
  EXPECT_EQ(claim().size(), 10u);
  EXPECT_EQ(Text("SELECT concat_ws(' ', waiting, next_idx, boosted, next_boosted) FROM "
                 "campaign_cursor"),
            "0 10 0");
  EXPECT_EQ(Text("SELECT count(*) FROM boosted_tasks"), "0");
  ExpectConservation(campaign);
}

// A quarter is kept for fresh tasks from those that are sent again, not from these.
TEST_F(RunnerStorePgTest, NoFreshTaskGoesBeforeABoostedOne) {
  GivenClusters(1);
  const auto campaign = GivenCampaign({.ntasks = 20});
  GivenGrant(campaign, 1, 8);
  Boost(campaign, {10, 11, 12, 13, 14, 15, 16});
  Sql("UPDATE campaign_cursor SET next_idx = 3; INSERT INTO retry (campaign_id, idx, why) VALUES "
      "(1, "
      "0, ''), (1, 1, ''), (1, 2, '')");
  std::vector<std::int64_t> sent;
  for (const auto& batch : Claim())
    for (const auto& task : batch.tasks) sent.push_back(task.idx);
  EXPECT_EQ(sent, (std::vector<std::int64_t>{10, 11, 12, 13, 14, 15, 16, 3}));
}

// Each boost commits between a claim's snapshot and its lock sooner or later.
TEST_F(RunnerStorePgTest, WhatIsBoostedDuringClaimsIsSentOnce) {
  constexpr int kTasks = 600;
  GivenClusters(2);
  const auto campaign = GivenCampaign({.ntasks = kTasks, .clusters = 2});
  GivenGrant(campaign, 1, kTasks);
  GivenGrant(campaign, 2, kTasks);
  auto boosts = std::async(std::launch::async, [&] {
    for (std::int64_t i = 0; i < kTasks; i += 7) Boost(campaign, {kTasks - 1 - i, i + 3});
  });
  std::atomic<int> taken = 0;
  const auto claims = [&](int cluster) {
    std::vector<std::int64_t> idxs;
    for (int i = 0; i < 10000 && taken < kTasks; ++i)
      for (const auto& batch : Claim(cluster, 5))
        for (const auto& task : batch.tasks) idxs.push_back(task.idx), ++taken;
    return idxs;
  };
  auto other = std::async(std::launch::async, claims, 2);
  auto sent = claims(1);
  for (const auto idx : other.get()) sent.push_back(idx);
  boosts.get();
  EXPECT_EQ(sent.size(), std::size_t(kTasks));
  EXPECT_EQ(std::set(sent.begin(), sent.end()).size(), std::size_t(kTasks));
  ExpectConservation(campaign);
}

// "violates check constraint": a claim that began before a change of the cursor was committed, and
// locked it after that, compared its range with the number of tasks before: one in some dozens
// here.
TEST_F(RunnerStorePgTest, TasksThatAreAddedDuringClaimsAreClaimed) {
  constexpr int kAdded = 2000, kRunners = 2;
  GivenClusters(1);
  const auto campaign = GivenCampaign({.ntasks = 1});
  std::atomic<std::int64_t> claimed = 0;
  std::atomic<bool> all_added = false;
  std::vector<std::future<void>> runners;
  for (int i = 0; i < kRunners; ++i)
    runners.push_back(std::async(std::launch::async, [&] {
      auto c = Connect();
      for (bool last = false, found = true; found || !last;) {
        last = all_added;
        db::Tx tx(*c, db::Tx::Sync::kOff);
        const auto rows = tx.Exec(sql::kClaimFresh, std::vector{campaign}, std::vector{5});
        found = !rows.empty();  // one without tasks says that somebody else has the cursor
        for (const auto& row : rows) claimed += row.n;
        tx.Commit();
      }
    }));
  auto c = Connect();
  for (int i = 0; i < kAdded; ++i) {
    db::Tx tx(*c, db::Tx::Sync::kOff);
    tx.Raw("UPDATE campaign_cursor SET ntasks = ntasks + 1");
    tx.Commit();
  }
  all_added = true;
  for (auto& runner : runners) EXPECT_NO_THROW(runner.get());
  EXPECT_EQ(claimed, kAdded + 1);
}

// 415 ms a claim with half a million retries: all of them were sorted.
TEST_F(RunnerStorePgTest, AClaimReadsTheFirstOfManyRetriesAlone) {
  GivenClusters(1);
  const auto campaign = GivenCampaign({.ntasks = 20000});
  const std::string c = std::to_string(campaign);
  Sql("UPDATE campaign_cursor SET next_idx = 19990");
  Sql("INSERT INTO retry (campaign_id, idx, rank, why, since) SELECT " + c +
      ", i, CASE WHEN i < 10000 THEN 1 ELSE 0 END, '', now() - i * interval '1 second' FROM "
      "generate_series(0, 19989) AS i");
  Sql("INSERT INTO tries (campaign_id, idx, attempts) SELECT campaign_id, idx, 1 FROM retry");
  Sql("ANALYZE retry; ANALYZE tries");
  auto connection = Connect();
  for (const bool no_fresh : {false, true}) {
    db::Tx tx(*connection);
    const auto taken = tx.Exec(sql::kClaimRetry, std::vector{campaign}, std::vector{5},
                               std::vector{no_fresh}, 1, std::vector{1}, std::vector{5});
    ASSERT_EQ(taken.size(), 5u);
    EXPECT_EQ(taken[0].idx, 19985) << "the first of rank 0";
    const auto read =
        db::Native(tx)
            .exec(
                "SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)) FROM "
                "pg_stat_xact_user_tables WHERE schemaname = current_schema() AND relname IN "
                "('retry', 'tries')")[0][0]
            .as<int>();
    EXPECT_GT(read, 0);
    EXPECT_LT(read, 100);
  }
  {
    db::Tx tx(*connection);
    tx.Raw("DELETE FROM retry WHERE rank = 0");
    EXPECT_EQ(tx.Exec(sql::kClaimRetry, std::vector{campaign}, std::vector{5}, std::vector{false},
                      1, std::vector{1}, std::vector{5})
                  .size(),
              0u)
        << "before fresh tasks";
  }
}

// Tables that nobody has analyzed yet, as in the first minute of a grid.
TEST_F(RunnerStorePgTest, AClaimReadsTheCampaignsOfItsGrantsAlone) {
  constexpr int kCampaigns = 3000;
  GivenClusters(1);
  for (int i = 0; i < 3; ++i) GivenGrant(GivenCampaign({}), 1, 2);
  const std::string others =
      " FROM generate_series(1001, 1000 + " + std::to_string(kCampaigns) + ") AS i";
  Sql("INSERT INTO campaigns (id, grid_user, name, type, nb_params, first_task_id, jdl) "
      "SELECT i, 'bob', 'x', 'default', 1, 1, '{}'" +
      others);
  Sql("INSERT INTO campaign_cursor (campaign_id, ntasks) SELECT i, 1" + others);
  Sql("INSERT INTO campaign_clusters (campaign_id, cluster_id, exec_file, resources, walltime_s, "
      "cluster_login) SELECT i, 1, './job.sh', '/resource_id=1', 60, 'bob'" +
      others);
  Sql("INSERT INTO placements (campaign_id, cluster_id) SELECT i, 1" + others);
  auto c = Connect();
  db::Tx tx(*c);
  EXPECT_EQ(tx.Exec(sql::kClaimCandidates, 1).size(), 3u);
  const auto read =
      db::Native(tx)
          .exec(
              "SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)) FROM "
              "pg_stat_xact_user_tables WHERE schemaname = current_schema()")[0][0]
          .as<int>();
  EXPECT_GT(read, 0);
  EXPECT_LT(read, kCampaigns / 2);
}

TEST_F(RunnerStorePgTest, ATaskThatGrowsIsInABatchOfItsOwnWithinTheClustersWalltime) {
  GivenClusters(1);
  const auto campaign = GivenCampaign({.ntasks = 3});
  const std::string c = std::to_string(campaign);
  Sql("UPDATE clusters SET options = '{\"max_walltime\": 100}'");
  Sql("UPDATE campaign_clusters SET options = '{\"mem\": \"2G\"}'");
  Sql("UPDATE campaign_cursor SET next_idx = 3");
  Sql("INSERT INTO retry (campaign_id, idx, why) SELECT " + c +
      ", i, '' FROM generate_series(0, 2) "
      "AS i");
  Sql("INSERT INTO tries (campaign_id, idx, attempts, walltime_x, memory_x) VALUES (" + c +
      ", 1, 1, 1.5, 1), (" + c + ", 2, 3, 3, 1.5)");
  GivenGrant(campaign, 1, 3);
  const auto batches = Claim();
  ASSERT_EQ(batches.size(), 3u);
  EXPECT_EQ(Sql("SELECT string_agg(idxs[1] || ':' || coalesce(walltime_s::text, '-'), ' ' ORDER BY "
                "id) FROM batches WHERE idxs IS NOT NULL OR first_idx IS NOT NULL")[0][0]
                .as<std::string>(),
            "1:90 2:100");
  auto connection = Connect();
  db::Tx tx(*connection);
  const auto spec = Store(1, "grid", 0, 0).Build(tx, batches[2]);
  EXPECT_EQ(spec.walltime_s, 100);
  EXPECT_EQ(spec.options["mem"], 3072);
  EXPECT_EQ(Store(1, "grid", 0, 0).Build(tx, batches[0]).walltime_s, 60);
}

// FAIR-09. The campaign asks for 60 s.
TEST_F(RunnerStorePgTest, AnAutomaticWalltimeIsWhatIsForeseenAndNoMoreThanTheCampaignsOwn) {
  GivenClusters(1);
  const auto campaign = GivenCampaign({.ntasks = 100});
  const std::string c = std::to_string(campaign);
  GivenGrant(campaign, 1, 100);
  const auto claimed = [&](const std::string& before) {
    Sql(before);
    Sql("UPDATE grants SET n = n + 100; DELETE FROM batches");
    Sql("UPDATE campaign_cursor SET next_idx = 50");
    Sql("DELETE FROM retry; INSERT INTO retry (campaign_id, idx, why) SELECT " + c +
        ", i, '' FROM generate_series(0, 3) AS i");
    Claim();
    return Sql("SELECT string_agg(coalesce(idxs[1], first_idx) || ':' || "
               "coalesce(walltime_s::text, '-'), ' ' ORDER BY coalesce(idxs[1], first_idx)) "
               "FROM batches")[0][0]
        .as<std::string>();
  };
  const std::string is_auto = "UPDATE campaign_clusters SET options = '{\"auto_walltime\": true}'";
  EXPECT_EQ(claimed("INSERT INTO forecasts (campaign_id, cluster_id, walltime_s) VALUES (" + c +
                    ", 1, 20)"),
            "0:- 50:-")
      << "not asked for";
  EXPECT_EQ(claimed(is_auto), "0:20 50:20");
  EXPECT_EQ(
      claimed("INSERT INTO tries (campaign_id, idx, attempts, our_kill, least_walltime_s, "
              "walltime_x) VALUES (" +
              c + ", 1, 1, 1, 40, 1), (" + c + ", 2, 1, 1, 80, 1), (" + c + ", 3, 1, 1, 10, 1.5)"),
      "0:20 1:40 2:60 3:90 50:20");
  EXPECT_EQ(claimed("UPDATE forecasts SET walltime_s = NULL"), "0:- 1:40 2:60 3:90 50:-")
      << "not known yet: what the campaign asks for";
  EXPECT_EQ(claimed("DELETE FROM tries; UPDATE forecasts SET walltime_s = 10, tasks_per_job = 16"),
            "0:50 50:50")
      << "four tasks share a job, and begin in its first half";
}

TEST_F(RunnerStorePgTest, TasksThatShareAJobTakeItsSlotsAndItsPlaceInTheGrantOnce) {
  GivenClusters(1);
  const auto campaign = GivenCampaign({.ntasks = 100});
  const std::string c = std::to_string(campaign);
  Sql("INSERT INTO forecasts (campaign_id, cluster_id, tasks_per_job) VALUES (" + c + ", 1, 10)");
  GivenGrant(campaign, 1, 3);
  const auto batches = Claim();
  ASSERT_EQ(batches.size(), 1u);
  EXPECT_EQ(batches[0].tasks.size(), 30u);
  EXPECT_EQ(batches[0].tasks_per_job, 10);
  const auto in_flight = [&] {
    return Sql("SELECT concat_ws(' ', sum(n), sum(jobs), sum(slots)) FROM jobs_in_flight")[0][0]
        .as<std::string>();
  };
  EXPECT_EQ(in_flight(), "30 3 3");
  Record(batches[0]);
  EXPECT_EQ(in_flight(), "30 3 3");
  EXPECT_EQ(Sql("SELECT string_agg(element::text, ' ' ORDER BY element) FROM live WHERE NOT "
                "rides")[0][0]
                .as<std::string>(),
            "9 19 29");
  EXPECT_TRUE(Claim().empty()) << "three jobs are in flight";
  ExpectConservation(campaign);
  auto connection = Connect();
  db::Tx tx(*connection);
  EXPECT_EQ(Store(1, "grid", 0, 0).Build(tx, batches[0]).tasks_per_job, 10);
}

TEST_F(RunnerStorePgTest, CheckpointsAreAsOftenAsTheClusterKillsJobs) {
  GivenClusters(1);
  const auto campaign = GivenCampaign({.ntasks = 4});
  Sql("UPDATE campaign_clusters SET walltime_s = 7200, options = "
      "'{\"checkpoint\": {\"every\": \"auto\", \"grace\": 60}}'");
  GivenGrant(campaign, 1, 1);
  const auto batches = Claim();
  const auto lifetime = [&] {
    auto connection = Connect();
    db::Tx tx(*connection);
    const auto batch = Store(1, "grid", 0, 0).Build(tx, batches.at(0));
    return batch.options["checkpoint"]["lifetime"].get<double>();
  };
  EXPECT_EQ(lifetime(), 7200) << "nothing was killed yet";
  // Of four jobs that ran for about 939 s one was killed.
  Sql("INSERT INTO cluster_survival (cluster_id, killed, ended) SELECT 1, array_fill(0, ARRAY[67]) "
      "|| 1, "
      "array_fill(0, ARRAY[67]) || 3");
  EXPECT_NEAR(lifetime(), 3756, 5);
}

TEST_F(RunnerStorePgTest, WhatHasFailedRunsAlone) {
  GivenClusters(1);
  const auto campaign = GivenCampaign({.ntasks = 4});
  const std::string c = std::to_string(campaign);
  Sql("INSERT INTO forecasts (campaign_id, cluster_id, tasks_per_job) VALUES (" + c + ", 1, 10)");
  Sql("UPDATE campaign_cursor SET next_idx = 4");
  Sql("INSERT INTO retry (campaign_id, idx, why) SELECT " + c +
      ", i, '' FROM generate_series(0, 3) AS i");
  Sql("INSERT INTO tries (campaign_id, idx, attempts, program, our_kill) VALUES (" + c +
      ", 0, 1, 1, 0), (" + c + ", 1, 1, 0, 1)");
  GivenGrant(campaign, 1, 2);
  const auto batches = Claim();
  ASSERT_EQ(batches.size(), 2u);
  for (const auto& b : batches)
    EXPECT_EQ(b.tasks_per_job, b.tasks.front().idx == 0 ? 1 : 2) << "a kill is no failure";
}

TEST_F(RunnerStorePgTest, WhatIsToBeRetriedFillsTheJobsOfTheGrantAndNoMore) {
  GivenClusters(1);
  const auto campaign = GivenCampaign({.ntasks = 100});
  const std::string c = std::to_string(campaign);
  Sql("INSERT INTO forecasts (campaign_id, cluster_id, tasks_per_job) VALUES (" + c + ", 1, 10)");
  Sql("UPDATE campaign_cursor SET next_idx = 100");
  Sql("INSERT INTO retry (campaign_id, idx, why) SELECT " + c +
      ", i, '' FROM generate_series(0, 99) AS i");
  Sql("INSERT INTO tries (campaign_id, idx, attempts, program) VALUES (" + c + ", 5, 1, 1)");
  GivenGrant(campaign, 1, 4);
  Claim();
  EXPECT_EQ(
      Sql("SELECT concat_ws(' ', sum(n), sum(jobs)) FROM jobs_in_flight")[0][0].as<std::string>(),
      "31 4")
      << "three jobs of ten tasks, and the task that has failed";
  EXPECT_TRUE(Claim().empty());
  ExpectConservation(campaign);
}

TEST_F(RunnerStorePgTest, AutomaticMemoryIsLearntFromTheTasksThatAreDone) {
  GivenClusters(1);
  const auto campaign = GivenCampaign({.ntasks = 40});
  Sql("UPDATE campaign_clusters SET options = '{\"mem\": \"auto:2G\"}'");
  GivenGrant(campaign, 1, 1);
  const auto batches = Claim();
  ASSERT_EQ(batches.size(), 1u);
  const auto mem = [&] {
    auto connection = Connect();
    db::Tx tx(*connection);
    const auto spec = Store(1, "grid", 0, 0).Build(tx, batches[0]);
    EXPECT_TRUE(spec.options[kAutoMemory]);
    return spec.options.value("mem", 0);
  };
  EXPECT_EQ(mem(), 2048) << "as the user says";
  Sql("UPDATE campaign_clusters SET options = '{\"mem\": \"auto\"}'");
  EXPECT_EQ(mem(), 0) << "the cluster's default";
  Sql("INSERT INTO done (job_id, campaign_id, idx, batch_id, cluster_id, attempt, kind, counted, "
      "state, exit_class, slots, submitted_at, remote_id, peak_mb) SELECT 1000 + i, " +
      std::to_string(campaign) +
      ", i, 1, 1, 1, 'task', true, 'terminated', 'none', 1, now(), 'x', 100 FROM "
      "generate_series(1, 20) AS i");
  EXPECT_EQ(mem(), 125);
}

TEST_F(RunnerStorePgTest, WhatIsClaimedCountsAgainstTheGrantUntilItEnds) {
  GivenClusters(1);
  const auto campaign = GivenCampaign({.ntasks = 100});
  GivenGrant(campaign, 1, 10);
  const auto batches = Claim();
  ASSERT_EQ(batches.size(), 1u);
  EXPECT_EQ(batches[0].tasks.size(), 10u);
  EXPECT_TRUE(Claim().empty()) << "an intent is in flight";
  Record(batches[0]);
  EXPECT_TRUE(Claim().empty()) << "so is a job";
  EXPECT_EQ(Count("live"), 10);
  ExpectConservation(campaign);
}

TEST_F(RunnerStorePgTest, WhatHasEndedSinceThePlanMakesNoRoomInIt) {
  GivenClusters(1);
  for (const std::string kind : {"task", "test", "prologue", "epilogue"}) {
    SCOPED_TRACE(kind);
    const auto campaign = GivenCampaign({.ntasks = 100});
    const std::string its = std::to_string(campaign);
    if (kind == "epilogue") Sql("UPDATE campaigns SET finishing_since = now() WHERE id = " + its);
    GivenGrant(campaign, 1, 1, kind);
    const auto batches = Claim();
    ASSERT_EQ(batches.size(), 1u);
    Record(batches[0]);
    // It ends: as the updator counts.
    Sql("INSERT INTO counters (campaign_id, cluster_id, kind, state, writer, n) VALUES (" + its +
        ", 1, '" + kind + "', 'submitted', 'updator', -1), (" + its + ", 1, '" + kind +
        "', 'terminated', 'updator', 1)");
    EXPECT_TRUE(Claim().empty());
    Sql("UPDATE grants SET ended = 1 WHERE campaign_id = " + its);
    EXPECT_EQ(Claim().size(), 1u) << "the next plan means one more";
    Sql("DELETE FROM grants WHERE campaign_id = " + its);
  }
}

TEST_F(RunnerStorePgTest, ADrainedClusterAnObservedOneAndAPausedCampaignGetNothing) {
  GivenClusters(1);
  const auto campaign = GivenCampaign({});
  GivenGrant(campaign, 1, 5);
  Sql("UPDATE clusters SET drained = true, drain_reason = 'cooling'");
  EXPECT_TRUE(Claim().empty());
  Sql("UPDATE clusters SET drained = false, mode = 'observe'");
  EXPECT_TRUE(Claim().empty());
  Sql("UPDATE clusters SET mode = 'unlimited'; INSERT INTO events (class, code, cluster_id) VALUES "
      "('cluster', 'CLUSTER_MANUALLY_DISABLED', 1)");
  EXPECT_TRUE(Claim().empty()) << "gridevents --blacklist-cluster";
  Sql("UPDATE events SET state = 'closed'");
  Sql("UPDATE campaigns SET wanted = 'paused'");
  EXPECT_TRUE(Claim().empty());
  Sql("UPDATE campaigns SET wanted = 'in_treatment'");
  EXPECT_EQ(Claim().size(), 1u);
}

// Whatever the plan says: what an operator allows is looked at in the claim.
TEST_F(RunnerStorePgTest, TheOperatorsCeilingsHoldWhateverThePlanSays) {
  GivenClusters(1);
  const auto campaign = GivenCampaign({.ntasks = 1000});
  GivenGrant(campaign, 1, 900);
  const auto claimed = [&](const std::string& set) {
    Sql("UPDATE clusters SET mode = 'unlimited', mode_limit = NULL, max_running = NULL, hours = "
        "NULL, enabled = true, kill_all = false");
    Sql("UPDATE clusters SET " + set);
    std::size_t n = 0;
    for (const auto& b : Claim()) n += b.tasks.size();
    return n;
  };
  EXPECT_EQ(claimed("mode = 'observe'"), 0u);
  EXPECT_EQ(claimed("enabled = false"), 0u);
  EXPECT_EQ(claimed("kill_all = true"), 0u);
  // Hours that are over now: two hours that begin three hours from now.
  std::tm local{};
  const std::time_t then = std::time(nullptr) + 3 * 3600;
  localtime_r(&then, &local);
  EXPECT_EQ(claimed("hours = '" + std::to_string(local.tm_hour) + "-" +
                    std::to_string((local.tm_hour + 2) % 24) + "'"),
            0u);
  EXPECT_EQ(claimed("mode = 'limited', mode_limit = 3"), 3u);
  EXPECT_EQ(claimed("mode = 'limited', mode_limit = 3"), 0u) << "those in flight count";
  EXPECT_EQ(claimed("max_running = 5"), 2u);
  EXPECT_EQ(claimed("max_running = 5"), 0u);
  EXPECT_EQ(claimed("mode = 'limited', mode_limit = 20, max_running = 6"), 1u)
      << "the lowest counts";
  ExpectConservation(campaign);
}

TEST_F(RunnerStorePgTest, ARefusedBatchGivesItsTasksBackAndTheyGoFirst) {
  GivenClusters(1);
  const auto campaign = GivenCampaign({.ntasks = 20});
  GivenGrant(campaign, 1, 5);
  const auto batches = Claim();
  {
    auto c = Connect();
    db::Tx tx(*c);
    EXPECT_TRUE(Store(1, "grid", 0, 0).GiveBack(tx, batches[0], BatchState::kRefused, "no"));
    EXPECT_FALSE(Store(1, "grid", 0, 0).GiveBack(tx, batches[0], BatchState::kAbandoned, "again"))
        << "only once";
    tx.Commit();
  }
  ExpectConservation(campaign);
  const auto again = Claim();
  ASSERT_FALSE(again.empty());
  EXPECT_EQ(again[0].tasks[0].idx, 0) << "before the cursor moves";
  ExpectConservation(campaign);
}

TEST_F(RunnerStorePgTest, AHalfTakenBatchIsRecordedAndItsOtherHalfGoesBack) {
  GivenClusters(1);
  const auto campaign = GivenCampaign({.ntasks = 4});
  GivenGrant(campaign, 1, 4);
  Record(Claim()[0], {1, 3});
  EXPECT_EQ(Count("live"), 2);
  EXPECT_EQ(Count("retry"), 2);
  ExpectConservation(campaign);
}

TEST_F(RunnerStorePgTest, ALeaseThatAnotherRunnerHasTakenChangesNothing) {
  GivenClusters(1);
  GivenGrant(GivenCampaign({}), 1, 5);
  Sql("UPDATE cluster_leases SET epoch = 1");
  EXPECT_THROW(Claim(), module::StaleEpoch);
  EXPECT_EQ(Count("batches"), 0);
}

TEST_F(RunnerStorePgTest, TheParametersOfARangeComeFromItsChunks) {
  GivenClusters(1);
  const auto campaign = GivenCampaign({.ntasks = 3});
  Sql("INSERT INTO uploads (id, grid_user) VALUES (77, 'alice')");
  Sql("INSERT INTO params_chunk (upload_id, block, off, n, longest, params) VALUES (77, 0, 0, 2, "
      "9, E'a "
      "b\\n$HOME \"x\"\\n'), "
      "(77, 1, 2, 1, 4, E'last\\n')");
  Sql("UPDATE segments SET upload_id = 77");
  GivenGrant(campaign, 1, 3);
  const auto batches = Claim();
  auto c = Connect();
  db::Tx tx(*c);
  const auto spec = Store(1, "grid", 0, 0).Build(tx, batches.at(0));
  ASSERT_EQ(spec.elements.size(), 3u);
  EXPECT_EQ(spec.elements[0].command, "./job.sh a b");
  EXPECT_EQ(spec.elements[1].command, "./job.sh $HOME \"x\"");
  EXPECT_EQ(spec.elements[2].command, "./job.sh last");
  EXPECT_EQ(spec.tag.substr(0, 6), "cigri.");
}

}  // namespace
}  // namespace cigri::runner
