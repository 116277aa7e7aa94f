// The runner of one cluster against a recorded API: what a refusal leads to, and what heals it.
#include <filesystem>

#include "core/text.h"
#include "runner/cluster_runner.h"
#include "tests/cluster/recorded_server.h"
#include "tests/support/await.h"
#include "tests/support/rows.h"
#include "tests/support/wakers.h"

namespace cigri::runner {
namespace {

using test::Await;
using test::Says;

class ClusterRunnerPgTest : public test::RowsTest {
 protected:
  void SetUp() override {
    RowsTest::SetUp();
    home_ = "/tmp/cigri-runner-" + RandomHex(6);
    setenv("CIGRI_HOME", home_.c_str(), 1);
  }
  void TearDown() override {
    runner_.reset();
    shared_.reset();
    unsetenv("CIGRI_HOME");
    std::filesystem::remove_all(home_);
    RowsTest::TearDown();
  }
  // Cluster 1, an OAR behind `server_`.
  void GivenOar(const std::string& more = "") {
    Sql("INSERT INTO clusters (id, name, kind, api_url, mode, api_auth_type) VALUES (1, 'froggy', "
        "'oar2', "
        "'http://127.0.0.1:" +
        std::to_string(server_.port()) + "', 'unlimited', 'jwt')");
    if (!more.empty()) Sql("UPDATE clusters SET " + more);
  }
  void Start(int sessions = 4) {
    Sql("INSERT INTO cluster_leases (cluster_id) VALUES (1) ON CONFLICT DO NOTHING");
    shared_.reset(new Shared{{conninfo(), "runner", sessions},
                             "grid",
                             0,
                             10,
                             std::chrono::seconds(24),
                             waker_,
                             conninfo(),
                             {}});
    auto c = Connect();
    db::Tx tx(*c);
    runner_ = std::make_unique<ClusterRunner>(clusterdb::LoadClusters(tx).at(0), 0, *shared_);
  }
  // Wakes it until `condition` holds.
  bool WakeUntil(const std::function<bool()>& condition) {
    return Await([&] {
      runner_->Wake();
      return condition();
    });
  }
  // Wakes it until `what` has a row.
  bool WakeUntilRow(const std::string& what) {
    return WakeUntil([&] { return !Sql("SELECT 1 FROM " + what).empty(); });
  }
  void GivenToken(const std::string& expires = "NULL") {
    Sql("INSERT INTO users_mapping (grid_login, cluster_id, cluster_login, token, "
        "token_expires_at) "
        "VALUES ('alice', 1, 'alice', 'tok', " +
        expires +
        ") ON CONFLICT (grid_login, cluster_id) DO UPDATE "
        "SET token = excluded.token, token_expires_at = excluded.token_expires_at");
  }
  void TakesJobs(int n) {
    std::string ids;
    for (int i = 0; i < n; ++i) ids += "OAR_JOB_ID=" + std::to_string(84 + i) + "\n";
    server_.On("POST", "/jobs.json", Says({{"cmd_output", ids}}, 201));
  }
  std::string home_;
  test::RecordedServer server_;
  test::TestWaker waker_;
  std::unique_ptr<Shared> shared_;
  std::unique_ptr<ClusterRunner> runner_;
};

TEST_F(ClusterRunnerPgTest, ACampaignWithoutATokenPausesThereAndGoesOnWhenItComes) {
  GivenOar();
  const auto campaign = GivenCampaign({.ntasks = 3});
  GivenGrant(campaign, 1, 3);
  TakesJobs(3);
  Start();
  ASSERT_TRUE(WakeUntilRow("events WHERE state = 'open' AND code = 'TOKEN_MISSING'"));
  const auto message = Sql("SELECT message FROM events")[0][0].as<std::string>();
  EXPECT_EQ(message, "froggy: no token of user alice for cluster froggy: give one with gridtoken");
  EXPECT_EQ(Count("events WHERE code = 'SUBMIT_REFUSED'"), 0);
  EXPECT_TRUE(server_.Asked("POST", "").empty());
  ExpectConservation(campaign);
  GivenToken();
  ASSERT_TRUE(WakeUntilRow("live HAVING count(*) = 3"));
  EXPECT_EQ(Count("events WHERE state = 'open'"), 0);
  EXPECT_EQ(Sql("SELECT closed_by FROM events")[0][0].as<std::string>(), "runner");
  EXPECT_EQ(server_.Asked("POST", "/jobs.json").at(0).Header("Authorization"), "Bearer tok");
  ExpectConservation(campaign);
}

// A host that stands still between the claim and the POST finds its clock where it was: it sent
// what another runner had given up by then, and the tasks ran twice.
TEST_F(ClusterRunnerPgTest, WhatTheDatabaseTakesForTooLateIsNotSent) {
  GivenOar();
  GivenToken();
  const auto campaign = GivenCampaign({.ntasks = 3});
  GivenGrant(campaign, 1, 3);
  TakesJobs(3);
  Sql("CREATE FUNCTION late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
      "NEW.send_by := now(); RETURN NEW; END $$; "
      "CREATE TRIGGER late BEFORE INSERT ON batches FOR EACH ROW EXECUTE FUNCTION late()");
  Start();
  ASSERT_TRUE(WakeUntilRow("batches WHERE state = 'refused' AND error LIKE '%had passed'"));
  EXPECT_TRUE(server_.Asked("POST", "").empty());
  Sql("DROP TRIGGER late ON batches");
  EXPECT_TRUE(WakeUntilRow("live HAVING count(*) = 3"));
  ExpectConservation(campaign);
}

TEST_F(ClusterRunnerPgTest, WhatAnotherRunnerMayHaveGivenUpIsNotSent) {
  GivenOar();
  GivenToken();
  const auto campaign = GivenCampaign({.ntasks = 3});
  GivenGrant(campaign, 1, 3);
  TakesJobs(3);
  Sql("CREATE FUNCTION taken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
      "UPDATE cluster_leases SET epoch = epoch + 1; RETURN NULL; END $$; "
      "CREATE CONSTRAINT TRIGGER taken AFTER INSERT ON batches DEFERRABLE INITIALLY DEFERRED "
      "FOR EACH ROW EXECUTE FUNCTION taken()");
  Start();
  ASSERT_TRUE(WakeUntilRow("cluster_leases WHERE epoch > 0"));
  EXPECT_TRUE(WakeUntilRow("batches WHERE state = 'intended'"));
  runner_.reset();
  EXPECT_TRUE(server_.Asked("POST", "").empty());
  EXPECT_EQ(Count("batches"), 1);
  ExpectConservation(campaign);
}

TEST_F(ClusterRunnerPgTest, AnExpiredTokenAndOneThatTheClusterRefusesPauseToo) {
  GivenOar();
  const auto campaign = GivenCampaign({.ntasks = 1});
  GivenGrant(campaign, 1, 1);
  GivenToken();
  server_.On("POST", "/jobs.json", {401, "<h1>Unauthorized</h1>", "text/html"});
  Start();
  ASSERT_TRUE(WakeUntilRow("events WHERE state = 'open' AND code = 'TOKEN_MISSING'"));
  const auto message = Sql("SELECT message FROM events")[0][0].as<std::string>();
  EXPECT_NE(message.find("is refused by cluster froggy: give a new one with gridtoken"),
            message.npos)
      << message;
  const auto posts = server_.Asked("POST", "").size();
  EXPECT_EQ(posts, 1u);
  TakesJobs(1);
  Sql("UPDATE users_mapping SET token = 'another'");
  ASSERT_TRUE(WakeUntilRow("live HAVING count(*) = 1"));
  ExpectConservation(campaign);
}

TEST_F(ClusterRunnerPgTest, ATokenOfTheSitesProgramIsMadeOnDemand) {
  GivenOar("token_command = 'echo made-for-%u'");
  const auto campaign = GivenCampaign({.ntasks = 2});
  GivenGrant(campaign, 1, 2);
  TakesJobs(2);
  Start();
  ASSERT_TRUE(WakeUntilRow("live HAVING count(*) = 2"));
  EXPECT_EQ(server_.Asked("POST", "").at(0).Header("Authorization"), "Bearer made-for-alice");
}

TEST_F(ClusterRunnerPgTest, AProgramThatFailsIsNamedInTheEvent) {
  GivenOar("token_command = 'sh -c ''echo no ticket for %u >&2; exit 4'''");
  GivenGrant(GivenCampaign({.ntasks = 1}), 1, 1);
  Start();
  ASSERT_TRUE(WakeUntilRow("events WHERE code = 'TOKEN_MISSING'"));
  const auto message = Sql("SELECT message FROM events")[0][0].as<std::string>();
  EXPECT_NE(message.find("its token_command: it exited with code 4: no ticket for alice"),
            message.npos)
      << message;
}

TEST_F(ClusterRunnerPgTest, ATokenThatEndsBeforeTheCampaignIsReportedOnce) {
  GivenOar();
  const auto campaign = GivenCampaign({.ntasks = 1});
  GivenGrant(campaign, 1, 1);
  GivenToken("now() + interval '1 hour'");
  Sql("INSERT INTO forecasts (campaign_id, cluster_id, end_high) VALUES (" +
      std::to_string(campaign) + ", 0, now() + interval '3 hours')");
  TakesJobs(1);
  Start();
  ASSERT_TRUE(WakeUntilRow("events WHERE state = 'open' AND code = 'TOKEN_EXPIRES'"));
  const auto message = Sql("SELECT message FROM events")[0][0].as<std::string>();
  EXPECT_NE(message.find("froggy: your token expires in"), message.npos) << message;
}

TEST_F(ClusterRunnerPgTest, ABodyTooLargeTeachesHowManyBytesFitAndSaysSo) {
  GivenOar();
  GivenToken();
  const auto campaign = GivenCampaign({.ntasks = 8});
  GivenGrant(campaign, 1, 8);
  server_.On("POST", "/jobs.json", {413, "<h1>Request Entity Too Large</h1>", "text/html"});
  Start();
  ASSERT_TRUE(WakeUntilRow("cluster_limits WHERE max_bytes IS NOT NULL"));
  EXPECT_EQ(Count("cluster_limits WHERE max_array IS NULL"), 1);
  EXPECT_EQ(Count("events WHERE code = 'LIMIT_LEARNT' AND message LIKE 'froggy: arrays are cut at "
                  "% bytes%'"),
            1);
  // At last a single job is refused: nothing is left to cut, and its user is notified.
  ASSERT_TRUE(WakeUntilRow("events WHERE state = 'open' AND code = 'SUBMIT_REFUSED'"));
  ExpectConservation(campaign);
}

TEST_F(ClusterRunnerPgTest, RefusedResourcesAreTheUsersMatterAndAMissingAccountIsTheClusters) {
  const struct {
    const char* fixture;
    const char* words;
    int cluster_faults;
  } cases[] = {
      {"oar/err_no_matching_resource_400", "froggy: cannot submit 1 jobs to froggy: HTTP 400", 0},
      {"oar/err_unknown_user_401", "is there an account \"alice\" there (gridadmin mapping)?", 1}};
  GivenOar("api_auth_type = 'header'");
  for (const auto& c : cases) {
    const auto campaign = GivenCampaign({.ntasks = 1});
    const auto other = GivenCampaign({.ntasks = 1});
    GivenGrant(campaign, 1, 1);
    server_.On("POST", "/jobs.json", test::Fixture(c.fixture));
    Start();
    ASSERT_TRUE(WakeUntilRow("events WHERE state = 'open' AND code = 'SUBMIT_REFUSED'"));
    const auto message = Sql("SELECT message FROM events")[0][0].as<std::string>();
    EXPECT_NE(message.find(c.words), message.npos) << message;
    EXPECT_EQ(Count("events WHERE state = 'open' AND class = 'cluster' AND code = "
                    "'CLUSTER_FAULT' AND campaign_id IS NULL"),
              c.cluster_faults)
        << message;
    ExpectConservation(campaign);
    TakesJobs(1);
    GivenGrant(other, 1, 1);  // another campaign there goes on
    EXPECT_TRUE(WakeUntilRow("live WHERE campaign_id = " + std::to_string(other)));
    runner_.reset();
    Sql("DELETE FROM events; DELETE FROM grants");
  }
}

TEST_F(ClusterRunnerPgTest, WhatIsLearntIsKeptAndUsedByTheNextRunner) {
  GivenOar();
  GivenToken();
  Sql("INSERT INTO cluster_limits (cluster_id, max_array) VALUES (1, 2)");
  const auto campaign = GivenCampaign({.ntasks = 4});
  GivenGrant(campaign, 1, 4);
  TakesJobs(2);
  Start();
  ASSERT_TRUE(WakeUntilRow("batches WHERE state = 'recorded' HAVING count(*) = 2"));
  EXPECT_EQ(Count("batches WHERE n > 2"), 0);
}

// When each claim took a second session while it held one, the first claims of as many clusters as
// the pool has sessions waited for each other for 10 s. A pool of one session shows it alone.
TEST_F(ClusterRunnerPgTest, TheFirstClaimNeedsOneSessionOfThePool) {
  GivenOar();
  GivenToken();
  GivenGrant(GivenCampaign({.ntasks = 2}), 1, 2);
  TakesJobs(2);
  Start(1);
  EXPECT_TRUE(WakeUntilRow("live HAVING count(*) = 2"));
}

// After an outage of some seconds it waited up to a minute, as for a cluster that refuses.
TEST_F(ClusterRunnerPgTest, AFaultOfTheDatabaseIsNoFailureOfTheCluster) {
  GivenOar("api_auth_type = 'none'");
  Start();
  GivenGrant(GivenCampaign({.ntasks = 1}), 1, 1);
  TakesJobs(1);
  const auto blocker = Connect();
  db::Tx lock(*blocker);
  lock.Raw("UPDATE cluster_leases SET since = now()");
  for (int cuts = 0; cuts < 12;)
    ASSERT_TRUE(WakeUntil([&] {
      const auto ended = Sql("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE "
                             "application_name = 'runner' AND wait_event_type = 'Lock'");
      cuts += static_cast<int>(ended.size());
      return !ended.empty();
    })) << cuts;
  lock.Commit();
  EXPECT_TRUE(WakeUntilRow("batches WHERE state = 'recorded'"));
}

TEST_F(ClusterRunnerPgTest, UnderACeilingOnCallsNoMinuteHoldsMore) {
  GivenOar("max_calls_per_min = 10");
  GivenToken();
  Sql("INSERT INTO cluster_limits (cluster_id, max_array) VALUES (1, 1)");
  const auto campaign = GivenCampaign({.ntasks = 50});
  GivenGrant(campaign, 1, 50);
  TakesJobs(1);
  Start();
  ASSERT_TRUE(WakeUntilRow("batches WHERE state = 'recorded'"));
  // Each pass that may not call asks to be woken later.
  const int before = waker_.delayed;
  ASSERT_TRUE(WakeUntil([&] { return waker_.delayed >= before + 5; }));
  EXPECT_LE(server_.requests().size(), 10u);
  EXPECT_EQ(Count("batches WHERE state = 'refused'"), 0) << "what may not be sent is not claimed";
  ExpectConservation(campaign);
}

TEST_F(ClusterRunnerPgTest, AfterTheBreakerWasOpenOneJobGoesFirst) {
  GivenOar();
  GivenToken();
  Sql("INSERT INTO api_load (api, half_open_limit) VALUES ('cluster 1', 1)");
  const auto campaign = GivenCampaign({.ntasks = 7});
  GivenGrant(campaign, 1, 7);
  TakesJobs(1);
  Start();
  ASSERT_TRUE(WakeUntilRow("batches WHERE state = 'recorded'"));
  EXPECT_EQ(Sql("SELECT n FROM batches ORDER BY id LIMIT 1")[0][0].as<int>(), 1);
  EXPECT_GE(Sql("SELECT half_open_limit FROM api_load")[0][0].as<int>(), 2);
}

TEST_F(ClusterRunnerPgTest, WhileTheBreakerIsOpenNothingIsClaimed) {
  GivenOar();
  GivenToken();
  Sql("INSERT INTO api_load (api, failures, open_until, error) VALUES ('cluster 1', 3, now() + "
      "interval '1 hour', 'x')");
  const auto campaign = GivenCampaign({.ntasks = 7});
  GivenGrant(campaign, 1, 7);
  Start();
  ASSERT_TRUE(WakeUntil([&] { return waker_.delayed >= 5; })) << "passes that may not call";
  EXPECT_EQ(Count("batches"), 0);
  EXPECT_TRUE(server_.requests().empty());
}

// Seen on a real Slurm: a slurmctld that was killed came back with released jobs on hold, and they
// never started.
TEST_F(ClusterRunnerPgTest, WhatIsSeenOnHoldAgainIsReleasedAgain) {
  Sql("INSERT INTO clusters (id, name, kind, api_url, mode, options) VALUES (1, 'luke', 'slurm', "
      "'http://127.0.0.1:" +
      std::to_string(server_.port()) + "', 'unlimited', '{\"api_version\": \"v0.0.38\"}')");
  const auto campaign = std::to_string(GivenCampaign({.ntasks = 2}));
  Sql("INSERT INTO batches (id, first_job_id, kind, campaign_id, cluster_id, n, first_idx, slots, "
      "tag, state, "
      "epoch, send_by, released) VALUES (7, 1, 'task', " +
      campaign +
      ", 1, 2, 0, 1, 'cigri.x', 'recorded', 0, "
      "now(), true); INSERT INTO live (job_id, campaign_id, idx, kind, batch_id, element, "
      "cluster_id, remote_id, "
      "attempt, slots) SELECT 1 + i, " +
      campaign +
      ", i, 'task', 7, i, 1, '12_' || i, 1, 1 FROM "
      "generate_series(0, 1) AS i");
  server_.On("POST", "/job/12", Says({{"errors", nlohmann::json::array()}}));
  Start();
  Sql("INSERT INTO still_held VALUES (7, 1)");
  EXPECT_TRUE(WakeUntilRow("(SELECT count(*) AS n FROM still_held) AS h WHERE n = 0"));
  EXPECT_TRUE(Await([&] { return !server_.Asked("POST", "/job/12").empty(); }));
}

}  // namespace
}  // namespace cigri::runner
