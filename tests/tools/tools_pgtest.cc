// griddel, gridevents, gridclusters, gridnotify and gridtoken against the real API on rows.
#include "tests/tools/grid.h"

namespace cigri {
namespace {

class ToolsPgTest : public test::GridTest {
 protected:
  std::string Value(const std::string& sql) { return Sql(sql)[0][0].as<std::string>(""); }
};

TEST_F(ToolsPgTest, GriddelIsSilentAndTruthful) {
  GivenCampaign();
  GivenCampaign();
  auto ran = Run("griddel", {"1,2"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(Value("SELECT string_agg(wanted::text, ' ') FROM campaigns"), "cancelled cancelled");
  ran = Run("griddel", {"99"});
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("failed to cancel campaign 99"), std::string::npos) << ran.err;
  EXPECT_EQ(Run("griddel", {}).code, 64);
  EXPECT_EQ(Run("griddel", {"12x"}).code, 64);
  EXPECT_EQ(Run("griddel", {"-p", "-r", "1"}).code, 64);
}

TEST_F(ToolsPgTest, GriddelGoesOnAfterOneThatCannotBe) {
  GivenCampaign();
  EXPECT_EQ(Run("griddel", {"99", "1"}).code, 1);
  EXPECT_EQ(Value("SELECT wanted FROM campaigns"), "cancelled");
}

TEST_F(ToolsPgTest, GriddelPausesAndResumes) {
  GivenCampaign();
  EXPECT_EQ(Run("griddel", {"-p", "-c", "1"}).code, 0);
  EXPECT_EQ(Value("SELECT wanted FROM campaigns"), "paused");
  EXPECT_EQ(Run("griddel", {"-r", "-v", "1"}).out, "campaign 1 is resumed.\n");
  EXPECT_EQ(Value("SELECT wanted FROM campaigns"), "in_treatment");
}

TEST_F(ToolsPgTest, GriddelCancelsOneJob) {
  GivenCampaign();
  const auto job = std::to_string(GivenBatch(1, 1, 0, 1));
  GivenLive(1, std::stoll(job), 0, 1, "running");
  EXPECT_EQ(Run("griddel", {"-j", job}).code, 0);
  EXPECT_EQ(Value("SELECT job_id FROM job_requests"), job);
  EXPECT_EQ(Run("griddel", {"-j", "777"}).code, 1);
}

TEST_F(ToolsPgTest, GrideventsHasCigrisBlocks) {
  GivenCampaign();
  EXPECT_EQ(Run("gridevents", {"-c", "1"}).out, "No events!\n");
  Sql("INSERT INTO events (id, class, code, campaign_id, cluster_id, job_id, parent, count, "
      "message, date_open) VALUES (7, 'job', 'EXIT_ERROR', 1, 2, 44, NULL, 3, E'exit 3\nno such "
      "file', '2026-11-20 09:00:03+00'),(8, 'campaign', 'CANARY_FAILED', 1, 2, NULL, 7, 1, 'held', "
      "'2026-11-20 09:00:04+00')");
  const std::string dashes(78, '-');
  EXPECT_EQ(
      Run("gridevents", {"1"}).out,
      dashes +
          "\n7: (open) EXIT_ERROR of job 44 at 2026-11-20 09:00:03+00 on beta, 3 times\nexit 3\nno "
          "such file\n" +
          dashes +
          "\n8: (open) CANARY_FAILED at 2026-11-20 09:00:04+00 on beta because of 7\nheld\n" +
          dashes + "\n");
  EXPECT_EQ(Run("gridstat", {"-c", "1", "-e"}).out, Run("gridevents", {"1"}).out);
  EXPECT_EQ(Run("gridevents", {"-e", "8", "-f"}).code, 0);
  EXPECT_EQ(Value("SELECT state FROM events WHERE id = 8"), "closed");
  EXPECT_EQ(Value("SELECT state FROM events WHERE id = 7"), "open");
}

TEST_F(ToolsPgTest, GrideventsFixResubmitsTheTasksThatWait) {
  GivenCampaign({.ntasks = 1, .next_idx = 1});
  Sql("INSERT INTO events (id, class, code, campaign_id, job_id, idx) VALUES (7, 'job', "
      "'EXIT_ERROR', 1, 44, 0);INSERT INTO needs_attention (campaign_id, idx, job_id, event_id) "
      "VALUES (1, 0, 44, 7)");
  const auto ran = Run("gridevents", {"-c", "1", "-f", "-r", "-v"});
  EXPECT_EQ(ran.out, "1 event closed, 1 task to be tried again.\n") << ran.err;
  EXPECT_EQ(Value("SELECT count(*) FROM retry"), "1");
}

TEST_F(ToolsPgTest, GrideventsKeepsCigrisExitStatusOfAMisusedResubmit) {
  EXPECT_EQ(Run("gridevents", {"-c", "1", "-r"}).code, 2);
  EXPECT_EQ(Run("gridevents", {}).code, 64);
  EXPECT_EQ(Run("gridevents", {"-c", "99"}).code, 1);
}

TEST_F(ToolsPgTest, GrideventsBlacklistsAClusterByNameAndExplainsCodes) {
  EXPECT_EQ(Run("gridevents", {"--blacklist-cluster", "beta", "--message", "broken"}).code, 0);
  EXPECT_EQ(Value("SELECT code || ' ' || cluster_id || ' ' || message FROM events"),
            "CLUSTER_MANUALLY_DISABLED 2 broken");
  EXPECT_EQ(Run("gridclusters", {"-i"}).out,
            "1: alpha , front (stress:0/0.8)\n2: beta ,  (stress:0/0.8, BLACKLISTED)\n");
  EXPECT_NE(Run("gridevents", {"--explain", "CANARY_FAILED"}).out.find("first 10 jobs"),
            std::string::npos);
  const auto wrong = Run("gridevents", {"--explain", "EXIT_EROR"});
  EXPECT_EQ(wrong.code, 1);
  EXPECT_NE(wrong.err.find("EXIT_ERROR"), std::string::npos);
}

TEST_F(ToolsPgTest, GridclustersHasCigrisLines) {
  EXPECT_EQ(Run("gridclusters", {}).out, "1: alpha\n2: beta\n");
  Sql("UPDATE clusters SET enabled = false WHERE id = 2");
  Sql("INSERT INTO gridstatus (cluster_id, max_resources, free_resources, used_resources, "
      "unavailable_resources, "
      "used_by_cigri, jobs_running, jobs_waiting) VALUES (1, 8, 4, 3, 1, 2, 2, 0)");
  EXPECT_EQ(Run("gridclusters", {"-u"}).out,
            "1: alpha , front (stress:0/0.8)\n    max_resources: 8\n    used_resources: 3\n"
            "    used_by_cigri: 2\n    unavailable_resources: 1\n");
  EXPECT_EQ(Run("gridclusters", {"-b"}).out,
            "1: alpha , front (stress:0/0.8) (8 resources)\n" + std::string(10, 'x') +
                std::string(10, 'o') + std::string(20, '#') + std::string(40, '.') +
                "\n\nx unavailable   o used by others   # used by CiGri   . free\n");
  EXPECT_NE(Run("gridclusters", {"-b", "--color", "always"}).out.find("\033[42m \033[0m"),
            std::string::npos);
  EXPECT_NE(Run("gridclusters", {"-a"}).out.find("2: beta"), std::string::npos);
}

TEST_F(ToolsPgTest, GridclustersSaysWhyAClusterTakesNothing) {
  Sql("UPDATE clusters SET mode = 'observe' WHERE id = 1");
  EXPECT_EQ(Run("gridclusters", {"--why", "alpha"}).out,
            "alpha is only observed: nothing is sent there; would send nothing now\n-> gridadmin "
            "cluster unlimited alpha\n");
  EXPECT_EQ(Run("gridclusters", {"--why", "nowhere"}).code, 1);
}

TEST_F(ToolsPgTest, GridnotifyKeepsSubscriptions) {
  EXPECT_EQ(Run("gridnotify", {"-l"}).out, "");
  EXPECT_EQ(Run("gridnotify", {"-m", "a@b.org"}).code, 2)
      << "CiGri's status for a missing severity";
  EXPECT_EQ(Run("gridnotify", {"-m", "a@b.org", "-s", "low"}).code, 0);
  EXPECT_EQ(
      Run("gridnotify", {"-l"}).out,
      "You have the following notification subscriptions:\n - mail on a@b.org with severity low\n");
  EXPECT_EQ(Run("gridnotify", {"-u", "-m", "a@b.org"}).code, 0);
  EXPECT_EQ(Run("gridnotify", {"-u", "-m", "a@b.org"}).code, 1) << "there is none any more";
}

TEST_F(ToolsPgTest, GridnotifyTakesQuietHoursDigestsAndOneCampaign) {
  GivenCampaign();
  Sql("UPDATE campaigns SET grid_user = 'alice'");
  EXPECT_EQ(Run("gridnotify", {"-m", "a@b.org", "-s", "low", "--quiet-hours", "20-8,Sat", "--digest",
                               "90"}).code, 0);
  const auto one = Run("gridnotify", {"-m", "a@b.org", "-s", "high", "-c", "1"});
  EXPECT_EQ(one.code, 77) << "it is Alice's: " << one.err;
  Sql("UPDATE campaigns SET grid_user = 'root'");
  EXPECT_EQ(Run("gridnotify", {"-m", "a@b.org", "-s", "high", "-c", "1"}).code, 0);
  EXPECT_EQ(Run("gridnotify", {"-l"}).out,
            "You have the following notification subscriptions:\n"
            " - mail on a@b.org with severity low, quiet 20-8,Sat, every 90 minutes\n"
            " - mail on a@b.org with severity high, campaign 1 alone\n");
  const auto bad = Run("gridnotify", {"-m", "a@b.org", "-s", "low", "--quiet-hours", "at night"});
  EXPECT_EQ(bad.code, 65);
  EXPECT_NE(bad.err.find("\"at night\" is not like 20-8"), std::string::npos) << bad.err;
  EXPECT_EQ(Run("gridnotify", {"-u", "-m", "a@b.org", "-c", "1"}).code, 0);
  EXPECT_EQ(Value("SELECT count(*) FROM user_notifications"), "1");
  EXPECT_EQ(Run("gridnotify", {"-u", "-m", "a@b.org"}).code, 0);
  EXPECT_EQ(Value("SELECT count(*) FROM user_notifications"), "0");
}

TEST_F(ToolsPgTest, GridtokenShowsTokensByTheirFirstCharactersOnly) {
  Sql("UPDATE clusters SET api_auth_type = 'jwt' WHERE id = 2");
  const std::string token = "eyJhbGciOiJIUzI1NiJ9.eyJleHAiOjF9.c2lnbmF0dXJlLW9mLXRoZS10b2tlbg";
  EXPECT_EQ(Run("gridtoken", {"-i", "beta", "-t", token}).out,
            "Token registered on cluster beta.\n");
  const auto list = Run("gridtoken", {"-l"}).out;
  EXPECT_EQ(list.find("You have the following tokens:\n - Cluster #2 : eyJ"), 0u) << list;
  EXPECT_EQ(list.find("signature"), std::string::npos);
  EXPECT_EQ(list.find(token.substr(40)), std::string::npos) << list;
  EXPECT_EQ(Run("gridtoken", {"-i", "1", "-t", token}).code, 77) << "alpha takes no tokens";
  EXPECT_EQ(Run("gridtoken", {"-i", "2", "-r"}).code, 0);
  EXPECT_EQ(Run("gridtoken", {"-l"}).out, "");
}

}  // namespace
}  // namespace cigri
