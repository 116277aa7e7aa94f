#include <sql/jobs.h>
#include <sql/kills.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include "nikita/nikita.h"
#include "tests/nikita/fixture.h"
#include "tests/support/await.h"

namespace cigri::nikita {
namespace {

class NikitaPgTest : public test::PassTest {
 protected:
  void SetUp() override {
    PassTest::SetUp();
    db_ = Connect();
    GivenCluster(1, server.url());
    GivenCampaign(1, 100);
  }
  // A pass with what becomes true by time, as if none had been for long.
  void Pass() {
    nikita_ = std::make_unique<Nikita>();
    PassAgain();
  }
  void PassAgain() {
    auto step = StepOf(*db_);
    nikita_->Pass(step);
  }
  bool AwaitAsked(const std::string& remote_id) {
    return test::Await([&] { return server.Asked(remote_id); });
  }
  // Answers of clusters are taken by the next pass.
  bool AwaitInPasses(const std::function<bool()>& condition) {
    return test::Await([&] {
      PassAgain();
      return condition();
    });
  }
  std::string ReasonOf(int job) {
    const auto rows = Sql("SELECT reason FROM kills WHERE job_id = " + std::to_string(job));
    return rows.empty() ? "" : rows[0][0].c_str();
  }

  std::string Error() { return Sql("SELECT coalesce(max(error), '') FROM kills")[0][0].c_str(); }

  test::KillServer server;

 private:
  std::unique_ptr<db::Connection> db_;
  std::unique_ptr<Nikita> nikita_;
};

TEST_F(NikitaPgTest, JobsOfACancelledCampaignAreKilledButForItsEpilogue) {
  GivenJobs(1, 2, 1, 1, "running");
  GivenJobs(10, 1, 1, 1, "running", 0, "epilogue");
  GivenJobs(20, 1, 1, 1, "submitted", 0, "prologue");
  Pass();
  EXPECT_EQ(Number("SELECT count(*) FROM kills"), 0);
  Sql("UPDATE campaigns SET wanted = 'cancelled', state = 'cancelled'");
  Pass();
  EXPECT_EQ(ReasonOf(1), "campaign_cancelled");
  EXPECT_EQ(ReasonOf(2), "campaign_cancelled");
  EXPECT_EQ(ReasonOf(20), "campaign_cancelled");
  EXPECT_EQ(ReasonOf(10), "");
  EXPECT_TRUE(AwaitAsked("R1"));
  EXPECT_TRUE(AwaitAsked("R20"));
}

TEST_F(NikitaPgTest, APrologueWhoseCampaignHasNoMoreTasksIsKilled) {
  GivenJobs(10, 1, 1, 1, "running", 0, "epilogue");
  GivenJobs(20, 1, 1, 1, "remote_waiting", 0, "prologue");
  Pass();
  EXPECT_EQ(Number("SELECT count(*) FROM kills"), 0);
  Sql("UPDATE campaigns SET finishing_since = now()");
  Pass();
  EXPECT_EQ(ReasonOf(20), "campaign_over");
  EXPECT_EQ(ReasonOf(10), "");
  EXPECT_TRUE(AwaitAsked("R20"));
}

TEST_F(NikitaPgTest, WhatWaitsIsKilledFirstOrItWouldBeginInThePlaceOfWhatRan) {
  GivenJobs(1, 1, 1, 1, "running");
  GivenJobs(2, 1, 1, 1, "remote_waiting");
  Sql("UPDATE campaigns SET wanted = 'cancelled', state = 'cancelled'");
  Pass();
  ASSERT_TRUE(AwaitAsked("R1"));
  EXPECT_TRUE(server.AskedBefore("R2", "R1"));
}

TEST_F(NikitaPgTest, OtherCopiesOfATaskThatIsDoneAreKilled) {  // T-24
  Sql("UPDATE campaigns SET max_replicas = 1");
  GivenJobs(1, 2, 1, 1, "running");
  Sql("INSERT INTO done (job_id, campaign_id, idx, batch_id, cluster_id, attempt, kind, counted, "
      "state, exit_class, slots, submitted_at, remote_id) VALUES (99, 1, 2, 9, 1, 1, 'replica', "
      "true, 'terminated', 'none', 1, now(), 'R99')");
  Pass();
  EXPECT_EQ(ReasonOf(1), "");
  EXPECT_EQ(ReasonOf(2), "task_done");
}

TEST_F(NikitaPgTest, AUsersRequestADrainAndAPreemptionEachGiveTheirReason) {
  GivenCluster(2, server.url());
  GivenJobs(1, 3, 1, 1, "running");
  GivenJobs(11, 1, 1, 2, "running");
  Sql("INSERT INTO job_requests (job_id, asked_by) VALUES (1, 'ann'), (777, 'ann')");
  Sql("INSERT INTO preemptions (job_id, for_campaign, cluster_id, slots, lost_s, why) VALUES (2, "
      "7, 1, 1, 60, 'urgent campaign 7')");
  Sql("UPDATE clusters SET drained = true, kill_all = true, drain_reason = 'fire' WHERE id = 2");
  Pass();
  EXPECT_EQ(ReasonOf(1), "user");
  EXPECT_EQ(ReasonOf(2), "preempted_by_grid");
  EXPECT_EQ(ReasonOf(3), "");
  EXPECT_EQ(ReasonOf(11), "drain");
  EXPECT_EQ(Sql("SELECT detail FROM kills WHERE job_id = 11")[0][0].as<std::string>(), "fire");
  EXPECT_EQ(ReasonOf(777), "") << "a job that is not in flight";
}

TEST_F(NikitaPgTest, AJobIsKilledWithAllTasksThatShareIt) {
  GivenJobs(1, 4, 1, 1, "running");
  Sql("UPDATE batches SET tasks_per_job = 2; UPDATE live SET remote_id = CASE WHEN element < 2 THEN "
      "'RA' ELSE 'RB' END, rides = element % 2 = 0");
  Sql("INSERT INTO job_requests (job_id, asked_by) VALUES (1, 'ann')");
  Pass();
  EXPECT_EQ(ReasonOf(1), "user");
  EXPECT_EQ(ReasonOf(2), "shared_job") << "its user did not ask for it: it costs nothing";
  EXPECT_EQ(ReasonOf(3), "");
  EXPECT_TRUE(AwaitAsked("RA"));
}

TEST_F(NikitaPgTest, ATaskThatIsDoneDoesNotEndAJobThatOthersShare) {
  GivenJobs(1, 2, 1, 1, "running");
  Sql("UPDATE batches SET tasks_per_job = 2; UPDATE live SET remote_id = 'RA', rides = element = 0");
  Sql("INSERT INTO done (job_id, campaign_id, idx, batch_id, cluster_id, attempt, kind, counted, "
      "state, exit_class, slots, submitted_at, remote_id) SELECT 500, campaign_id, idx, batch_id, "
      "cluster_id, 1, 'task', true, 'terminated', 'none', 1, now(), 'R500' FROM live WHERE job_id = 1");
  Pass();
  EXPECT_EQ(ReasonOf(1), "");
  Sql("DELETE FROM live WHERE job_id = 2");
  Pass();
  EXPECT_EQ(ReasonOf(1), "task_done");
}

TEST_F(NikitaPgTest, AJobIsTakenBackForIdleSlotsElsewhereUnlessItHasStarted) {
  GivenCluster(2, server.url());
  GivenJobs(1, 1, 1, 1, "remote_waiting", 60);
  GivenJobs(2, 1, 1, 1, "running", 60);
  Sql("INSERT INTO recalls (job_id, to_cluster) VALUES (1, 2), (2, 2)");
  Pass();
  EXPECT_EQ(ReasonOf(1), "recalled");
  EXPECT_EQ(Sql("SELECT detail FROM kills WHERE job_id = 1")[0][0].as<std::string>(),
            "slots are free on c2");
  EXPECT_EQ(ReasonOf(2), "");
  EXPECT_TRUE(AwaitAsked("R1"));
}

// The tables are older than the cluster: what it says of the job counts.
TEST_F(NikitaPgTest, AJobThatHasBegunMeanwhileIsNotTakenBackAndItsUserCanStillEndIt) {
  GivenCluster(2, server.url());
  GivenJobs(1, 2, 1, 1, "remote_waiting", 60);
  Sql("INSERT INTO recalls (job_id, to_cluster) VALUES (1, 2), (2, 2)");
  server.Begin("R1");
  Pass();
  EXPECT_TRUE(AwaitInPasses([&] { return ReasonOf(1).empty(); }));
  EXPECT_EQ(Number("SELECT count(*) FROM recalls WHERE job_id = 1"), 0);
  EXPECT_FALSE(server.Asked("R1"));
  EXPECT_TRUE(server.Asked("R2"));
  EXPECT_EQ(ReasonOf(2), "recalled");
  Sql("INSERT INTO job_requests (job_id, asked_by) VALUES (1, 'ann')");
  EXPECT_TRUE(AwaitInPasses([&] { return server.Asked("R1"); }));
  EXPECT_EQ(ReasonOf(1), "user");
}

// It runs on some clusters while it is being ended: to drop the kill then would make it a failure.
TEST_F(NikitaPgTest, AKillThatTheClusterHasTakenIsRepeatedAlsoWhenTheJobRunsThere) {
  GivenCluster(2, server.url());
  GivenJobs(1, 1, 1, 1, "remote_waiting", 60);
  Sql("INSERT INTO recalls (job_id, to_cluster) VALUES (1, 2)");
  Pass();
  ASSERT_TRUE(AwaitAsked("R1"));
  EXPECT_FALSE(server.AskedInAnyCase("R1"));
  server.Begin("R1");
  Sql("UPDATE kills SET called_at = now() - interval '1 hour'");
  EXPECT_TRUE(AwaitInPasses([&] { return server.AskedInAnyCase("R1"); }));
  EXPECT_EQ(ReasonOf(1), "recalled");
}

TEST_F(NikitaPgTest, AfterACallThatFailedAJobThatHasBegunGoesOn) {
  GivenCluster(2, server.url());
  GivenJobs(1, 1, 1, 1, "remote_waiting", 60);
  Sql("INSERT INTO recalls (job_id, to_cluster) VALUES (1, 2)");
  server.Break(true);
  Pass();
  ASSERT_TRUE(AwaitInPasses([&] { return !Error().empty(); }));
  server.Break(false);
  server.Begin("R1");
  Sql("UPDATE kills SET called_at = now() - interval '1 hour'");
  EXPECT_TRUE(AwaitInPasses([&] { return ReasonOf(1).empty(); }));
  EXPECT_FALSE(server.AskedInAnyCase("R1"));
}

TEST_F(NikitaPgTest, AnOverfullQueueIsTrimmedAndTheTasksCanGoElsewhere) {  // CIG-36
  GivenJobs(1, 10, 1, 1, "remote_waiting", 60);
  Sql("INSERT INTO forecasts (campaign_id, cluster_id, waiting_allowed) VALUES (1, 1, 2)");
  Pass();
  EXPECT_EQ(Number("SELECT count(*) FROM kills WHERE reason = 'excess_waiting'"), 9);
  EXPECT_EQ(ReasonOf(1), "") << "the oldest stays";
}

TEST_F(NikitaPgTest, AQueueIsOverfullWhoeverFilledIt) {  // CIG-36
  for (int i = 0; i < 20; ++i) {
    const int campaign = 101 + i;
    GivenCampaign(campaign, 10);
    GivenJobs(1000 + 5 * i, 5, campaign, 1, "remote_waiting", 300 - i);
    Sql("INSERT INTO forecasts (campaign_id, cluster_id, waiting_allowed) VALUES (" +
        std::to_string(campaign) + ", 1, 5)");
  }
  Pass();
  EXPECT_EQ(Number("SELECT count(*) FROM kills WHERE reason = 'excess_waiting'"), 99);
  EXPECT_EQ(ReasonOf(1000), "") << "the oldest stays";
}

TEST_F(NikitaPgTest, WhatWaitsForAResourceClassIsAQueueOfItsOwn) {
  for (const int campaign : {1, 2, 3}) {
    if (campaign > 1) GivenCampaign(campaign, 10);
    Sql("INSERT INTO forecasts (campaign_id, cluster_id, waiting_allowed) VALUES (" +
        std::to_string(campaign) + ", 1, 1)");
    GivenJobs(10 * campaign, 1, campaign, 1, "remote_waiting", 300);
  }
  Sql("UPDATE campaign_clusters SET resource_class = 'class ' || campaign_id; "
      "INSERT INTO resource_classes SELECT 1, 'class ' || k, 'GPUs', 1, 0, 0 "
      "FROM generate_series(1, 3) AS k");
  Pass();
  EXPECT_EQ(Number("SELECT count(*) FROM kills"), 0) << "each waits for something else";
  Sql("UPDATE resource_classes SET name = NULL");  // the cluster cannot count them
  Pass();
  EXPECT_EQ(Number("SELECT count(*) FROM kills"), 2);
}

TEST_F(NikitaPgTest, NothingIsKilledOnAStaleAnswer) {
  GivenJobs(1, 10, 1, 1, "remote_waiting", 60);
  Sql("INSERT INTO forecasts (campaign_id, cluster_id, waiting_allowed) VALUES (1, 1, 2)");
  Sql("UPDATE cluster_status SET polled_at = now() - interval '1 hour'");
  Pass();
  EXPECT_EQ(Number("SELECT count(*) FROM kills"), 0);
}

TEST_F(NikitaPgTest, WalltimeIsWatchedOnlyWhereTheClusterIsRemote) {
  GivenCluster(3, server.url(), "oar2");
  GivenCampaign(2, 10, "{1,3}");
  GivenJobs(1, 1, 2, 1, "running", 5000);
  GivenJobs(2, 1, 2, 3, "running", 5000);
  GivenJobs(3, 1, 2, 3, "running", 3700);
  Pass();
  EXPECT_EQ(ReasonOf(1), "");
  EXPECT_EQ(ReasonOf(2), "walltime");
  EXPECT_EQ(ReasonOf(3), "") << "within the slack";
}

TEST_F(NikitaPgTest, WhatGivesNoSignOfItsStartIsKilledAfterTheLimitOfItsCluster) {
  GivenJobs(1, 4, 1, 1, "running");
  Sql("INSERT INTO unresponsive_jobs SELECT i, 1, now() - (i * 200 + 50) * interval '1 second' "
      "FROM generate_series(1, 3) AS i");
  Pass();
  EXPECT_EQ(Number("SELECT count(*) FROM kills"), 1);
  EXPECT_EQ(ReasonOf(3), "never_started") << "unresponsive for 650 s; the limit is 600";
  EXPECT_TRUE(AwaitAsked("R3"));
  Sql("UPDATE clusters SET options = '{\"start_limit_s\": 300}'");
  Pass();
  EXPECT_EQ(ReasonOf(2), "never_started");
  EXPECT_EQ(ReasonOf(1) + ReasonOf(4), "");
  // One option that was no number kept nikita from all kills of the grid.
  Sql("UPDATE clusters SET options = '{\"start_limit_s\": \"10m\"}'");
  Sql("UPDATE unresponsive_jobs SET since = now() - interval '1 hour'");
  Pass();
  EXPECT_EQ(ReasonOf(1), "never_started");
}

TEST_F(NikitaPgTest, ManyKillsOnOneClusterAreNotBeforeThoseOfAnother) {
  GivenCluster(2, server.url());
  GivenJobs(1, 5000, 1, 1, "running");
  GivenJobs(5001, 1, 1, 2, "running");
  Sql("INSERT INTO kills (job_id, reason) SELECT job_id, 'user' FROM live");
  Pass();
  EXPECT_TRUE(AwaitAsked("R5001"));
}

TEST_F(NikitaPgTest, ACallThatFailsIsKeptWithItsErrorAndMadeAgain) {
  server.Break(true);
  GivenJobs(1, 1, 1, 1, "running");
  Sql("INSERT INTO job_requests (job_id, asked_by) VALUES (1, 'ann')");
  Pass();
  EXPECT_TRUE(AwaitInPasses([&] { return !Error().empty(); }));
  EXPECT_EQ(Number("SELECT calls FROM kills"), 1) << "not before it is due";
  server.Break(false);
  Sql("UPDATE kills SET called_at = now() - interval '6 seconds'");
  Pass();
  EXPECT_TRUE(AwaitAsked("R1"));
  EXPECT_EQ(Number("SELECT calls FROM kills"), 2);
}

TEST_F(NikitaPgTest, AClusterThatConfirmsNothingIsReportedUntilItDoes) {
  GivenJobs(1, 1, 1, 1, "running");
  Sql("INSERT INTO kills (job_id, reason, called_at, calls, error) VALUES (1, 'user', now(), 9, "
      "'busy')");
  Pass();
  EXPECT_EQ(
      Number("SELECT count(*) FROM events WHERE code = 'KILL_UNCONFIRMED' AND state = 'open'"), 1);
  Sql("DELETE FROM live; DELETE FROM kills");
  Pass();
  EXPECT_EQ(
      Number("SELECT count(*) FROM events WHERE code = 'KILL_UNCONFIRMED' AND state = 'closed'"),
      1);
}

TEST_F(NikitaPgTest, AnIdleGridIsNotWritten) {
  const char* next_transaction = "SELECT txid_snapshot_xmax(txid_current_snapshot())";
  const auto before = Number(next_transaction);
  Pass();
  EXPECT_EQ(Number(next_transaction), before);
}

TEST_F(NikitaPgTest, ACopyThatTheClusterHasMadeIsKilledAndNothingOfOursEndsWithIt) {
  GivenJobs(1, 1, 1, 1, "running");
  Sql("INSERT INTO duplicates (cluster_id, remote_id, tag, element, cluster_user) VALUES (1, "
      "'R900', 'cigri.1.grid.1', 0, 'ann')");
  Pass();
  ASSERT_TRUE(AwaitAsked("R900"));
  EXPECT_FALSE(server.Asked("R1")) << "the recorded one goes on";
  // The cluster knows it no more: it is forgotten.
  EXPECT_TRUE(AwaitInPasses([&] { return Number("SELECT count(*) FROM duplicates") == 0; }));
  EXPECT_EQ(Number("SELECT count(*) FROM kills"), 0);
}

TEST_F(NikitaPgTest, ACopyThatCannotBeKilledIsAskedForAgainLater) {
  server.Break(true);
  Sql("INSERT INTO duplicates (cluster_id, remote_id, tag, element, cluster_user) VALUES (1, "
      "'R900', 'cigri.1.grid.1', 0, 'ann')");
  Pass();
  EXPECT_TRUE(AwaitInPasses(
      [&] { return Number("SELECT count(*) FROM duplicates WHERE error IS NOT NULL") == 1; }));
  EXPECT_EQ(Number("SELECT calls FROM duplicates"), 1);
  server.Break(false);
  Sql("UPDATE duplicates SET called_at = now() - interval '1 hour'");
  Pass();
  EXPECT_TRUE(AwaitAsked("R900"));
}

TEST_F(NikitaPgTest, ADrainWhoseTimeIsOverEndsWithItsEvent) {
  Sql("UPDATE clusters SET drained = true, drain_reason = 'x', drained_until = now() - interval '1 "
      "second'");
  Sql("INSERT INTO events (class, code, cluster_id) VALUES ('cluster', 'DRAINED', 1)");
  Pass();
  EXPECT_EQ(Number("SELECT count(*) FROM events WHERE state = 'open'"), 0);
  EXPECT_EQ(Number("SELECT count(*) FROM clusters WHERE drained"), 0);
}

std::set<std::string> ReasonsOf(const std::string& constraint) {
  static const std::regex kWord("'([a-z_]+)'");
  std::set<std::string> words;
  for (std::sregex_iterator it(constraint.begin(), constraint.end(), kWord), end; it != end; ++it)
    words.insert((*it)[1]);
  return words;
}

// A grid that was empty fills within seconds, and PostgreSQL takes its jobs for one until the next
// ANALYZE: blocks, as times say nothing.
TEST_F(NikitaPgTest, WhatLooksAtAllJobsDoesNotSquareThemWhenTheirNumberIsNotKnown) {
  Sql("INSERT INTO forecasts (campaign_id, cluster_id, overdue_s) VALUES (1, 0, 60)");
  int jobs = 0;
  const auto blocks = [&](int n, std::string_view statement) {
    if (n > jobs) GivenJobs(jobs + 1, n - jobs, 1, 1, "running", 600);
    jobs = n;
    Sql("UPDATE pg_class SET reltuples = 0, relpages = 1 WHERE oid IN ('live'::regclass, "
        "'live_pkey'::regclass, 'live_by_task'::regclass, 'kills'::regclass)");
    const auto plan = nlohmann::json::parse(
        Sql("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + std::string(statement))[0][0].c_str());
    return plan[0]["Plan"]["Shared Hit Blocks"].get<int>() +
           plan[0]["Plan"]["Shared Read Blocks"].get<int>();
  };
  const std::string_view statements[] = {sql::kCollectKills.sql, sql::kCollectSuperfluousCopies.sql,
                                         sql::kOverdueJobs.sql};
  std::vector<int> some;
  for (const auto& statement : statements) some.push_back(blocks(300, statement));
  for (std::size_t i = 0; i < some.size(); ++i)
    EXPECT_LT(blocks(1200, statements[i]), 8 * some[i] + 100) << statements[i];
}

// How many rows of joins a plan has made and thrown away.
double RowsOfJoinsRemoved(const nlohmann::json& plan) {
  double rows = plan.value("Rows Removed by Join Filter", 0.0) * plan.value("Actual Loops", 1.0);
  for (const auto& part : plan.value("Plans", nlohmann::json::array()))
    rows += RowsOfJoinsRemoved(part);
  return rows;
}

// The updator of a grid with 48,000 jobs in 9,600 batches began with 40 s of this.
TEST_F(NikitaPgTest, JobsOfBatchesAreNotComparedWithAllOfThemWhenTheirNumberIsNotKnown) {
  GivenJobs(1, 300, 1, 1, "running", 600);
  Sql("UPDATE pg_class SET reltuples = 0, relpages = 1 WHERE oid IN ('live'::regclass, "
      "'live_pkey'::regclass)");
  std::string statement(sql::kLiveJobsOf.sql);
  for (const char* parameter : {"$1", "$2"})
    statement =
        ReplaceAll(statement, parameter, "(SELECT array_agg(n) FROM generate_series(1, 300) n)");
  const auto plan =
      nlohmann::json::parse(Sql("EXPLAIN (ANALYZE, FORMAT JSON) " + statement)[0][0].c_str());
  EXPECT_EQ(plan[0]["Plan"]["Actual Rows"], 300);
  EXPECT_LT(RowsOfJoinsRemoved(plan[0]["Plan"]), 300);
}

// The text of a statement of sql/queries/kills.sql.
std::string StatementText(const std::string& name) {
  std::ifstream in(std::string(CIGRI_SOURCE_DIR) + "/sql/queries/kills.sql");
  const std::string all{std::istreambuf_iterator<char>(in), {}};
  const auto begin = all.find("-- name: " + name + "\n");
  return begin == std::string::npos ? ""
                                    : all.substr(begin, all.find("-- name: ", begin + 1) - begin);
}

TEST_F(NikitaPgTest, TheTableOfReasonsIsThatOfTheDatabaseAndNamesWhoDetectsEach) {
  std::set<std::string> listed;
  for (const auto& [reason, detector, when] : kKillReasons) {
    EXPECT_TRUE(listed.insert(reason).second) << reason << " stands twice";
    if (std::string(detector) == "Decide") continue;
    EXPECT_NE(StatementText(detector).find("'" + std::string(reason) + "'"), std::string::npos)
        << detector << " does not detect " << reason;
  }
  const std::string constraint =
      Sql("SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'kills'::regclass "
          "AND contype = 'c'")[0][0]
          .c_str();
  EXPECT_EQ(listed, ReasonsOf(constraint)) << constraint;
}

}  // namespace
}  // namespace cigri::nikita
