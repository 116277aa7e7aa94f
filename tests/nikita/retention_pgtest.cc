#include <future>

#include "nikita/retention.h"
#include "tests/nikita/fixture.h"
#include "tests/support/await.h"

namespace cigri::nikita {
namespace {

class RetentionPgTest : public test::PassTest {
 protected:
  void Pass() {
    auto db = Connect();
    auto step = StepOf(*db);
    Retention().Pass(step);
  }
};

TEST_F(RetentionPgTest, AbandonedUploadsGoAndPublishedOnesStay) {
  Sql("INSERT INTO uploads (id, grid_user, published, touched_at) VALUES (1, 'ann', false, now() - "
      "interval '2 days'), "
      "(2, 'ann', false, now()), (3, 'ann', true, now() - interval '2 days');"
      "INSERT INTO params_chunk SELECT u, 0, 0, 1, 1, 'x' FROM generate_series(1, 3) AS u");
  Pass();
  EXPECT_EQ(Number("SELECT sum(id) FROM uploads"), 5);
  EXPECT_EQ(Number("SELECT sum(upload_id) FROM params_chunk"), 5);
}

TEST_F(RetentionPgTest, SnapshotsAreThinnedByAge) {
  Sql("INSERT INTO gridstatus SELECT 1, date_trunc('hour', now()) - interval '2 hours' + i * "
      "interval '10 seconds', "
      "1, 1, 0, 0, 0, 0, 0 FROM generate_series(0, 59) AS i;"  // 10 minutes, 6 a minute
      "INSERT INTO gridstatus SELECT 1, date_trunc('hour', now()) - interval '26 hours' + i * "
      "interval '1 minute', "
      "1, 1, 0, 0, 0, 0, 0 FROM generate_series(0, 119) AS i;"  // 2 hours
      "INSERT INTO gridstatus SELECT 1, now() - i * interval '1 second', 1, 1, 0, 0, 0, 0, 0 FROM "
      "generate_series(0, 29) AS i;"
      "INSERT INTO gridstatus VALUES (1, now() - interval '400 days', 1, 1, 0, 0, 0, 0, 0)");
  Pass();
  EXPECT_EQ(Number("SELECT count(*) FROM gridstatus WHERE at < now() - interval '1 day'"), 2);
  EXPECT_EQ(Number("SELECT count(*) FROM gridstatus WHERE at BETWEEN now() - interval '1 day' AND "
                   "now() - interval '1 hour'"),
            10);
  EXPECT_EQ(Number("SELECT count(*) FROM gridstatus WHERE at > now() - interval '1 hour'"), 30);
}

TEST_F(RetentionPgTest, UsageKeepsItsSumsWhenItIsThinned) {
  Sql("INSERT INTO usage (bucket, campaign_id, cluster_id, grid_user, project, slot_s, ok, not_ok) "
      "SELECT date_trunc('hour', now()) - interval '3 days' + i * interval '1 minute', 1, 1 + i % "
      "2, 'ann', '', 10, 1, 2 "
      "FROM generate_series(0, 299) AS i;"
      "INSERT INTO usage (bucket, campaign_id, cluster_id, grid_user, project, slot_s, ok, width) "
      "SELECT date_trunc('day', now()) - interval '60 days' + i * interval '1 hour', 1, 1, 'ann', "
      "'', 5, 1, '1 hour' "
      "FROM generate_series(0, 47) AS i;"
      "UPDATE usage SET program = 2, lost_s = 3.5, waited = 2, wait_s = 7, "
      "waits = CASE WHEN slot_s = 10 THEN '{0,1,1}'::int[] ELSE '{2}' END");
  const std::string sums =
      "SELECT sum(slot_s), sum(ok), sum(not_ok), sum(program), sum(lost_s), sum(waited), "
      "sum(wait_s), sum(waits[1]), sum(waits[2]), sum(waits[3]) FROM usage";
  const auto before = Sql(sums)[0];
  for (int i = 0; i < 3; ++i) Pass();
  const auto after = Sql(sums)[0];
  for (int i = 0; i < 10; ++i) EXPECT_EQ(before[i].as<double>(), after[i].as<double>()) << i;
  EXPECT_EQ(Number("SELECT count(*) FROM usage WHERE width = '1 hour'"), 10);
  EXPECT_EQ(Number("SELECT count(*) FROM usage WHERE width = '1 day'"), 2);
  EXPECT_EQ(Number("SELECT count(*) FROM usage"), 12);
}

TEST_F(RetentionPgTest, OldCampaignsArePurgedAndWhatIsInFlightIsNot) {
  config.Set("KEEP_CAMPAIGNS_DAYS", "30");
  GivenCluster(1, "unix:/none");
  for (int id : {1, 2, 3}) GivenCampaign(id, 5);
  Sql("UPDATE campaigns SET state = 'terminated', completion_time = now() - interval '31 days' "
      "WHERE id IN (1, 2);INSERT INTO done (job_id, campaign_id, idx, batch_id, cluster_id, "
      "attempt, kind, counted, state, exit_class, slots, submitted_at, remote_id) SELECT i, 1, i, "
      "1, 1, 1, 'task', true, 'terminated', 'none', 1, now(), 'R' FROM generate_series(1, 5) AS i");
  GivenJobs(50, 1, 2, 1, "running");
  Pass();
  EXPECT_EQ(Number("SELECT count(*) FROM campaigns WHERE id = 1"), 0);
  EXPECT_EQ(Number("SELECT count(*) FROM done"), 0);
  EXPECT_EQ(Number("SELECT count(*) FROM campaigns"), 2);
}

TEST_F(RetentionPgTest, ACampaignThatIsReopenedWhileItIsFoundTooOldStays) {
  config.Set("KEEP_CAMPAIGNS_DAYS", "30");
  GivenCluster(1, "unix:/none");
  GivenCampaign(1, 5);
  Sql("UPDATE campaigns SET state = 'terminated', completion_time = now() - interval '31 days'");
  // As the api does when tasks are added.
  auto api = Connect("api");
  db::Tx adding(*api);
  adding.Raw("SELECT FROM campaign_cursor WHERE campaign_id = 1 FOR UPDATE");
  adding.Raw("UPDATE campaigns SET state = 'in_treatment', completion_time = NULL");
  auto db = Connect("nikita");
  auto step = StepOf(*db);
  auto pass = std::async(std::launch::async, [&] { Retention().Pass(step); });
  ASSERT_TRUE(test::Await([&] {
    return Number(
               "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
               "AND application_name = 'nikita'") > 0;
  }));
  adding.Commit();
  pass.get();
  EXPECT_EQ(Number("SELECT count(*) FROM campaigns JOIN campaign_cursor ON campaign_id = id"), 1);
}

// Whoever purges a large one gets an answer after ten seconds.
TEST_F(RetentionPgTest, APurgeThatWasBegunIsBroughtToItsEnd) {
  config.Set("KEEP_CAMPAIGNS_DAYS", "0");
  GivenCluster(1, "unix:/none");
  for (const int id : {1, 2}) GivenCampaign(id, 5);
  Sql("UPDATE campaigns SET state = 'terminated', completion_time = now() - interval '31 days', "
      "purge_since = CASE WHEN id = 2 THEN now() END");
  Pass();
  EXPECT_EQ(Number("SELECT sum(id) FROM campaigns"), 1);
}

TEST_F(RetentionPgTest, AHundredSmallCampaignsGoInOnePass) {
  config.Set("KEEP_CAMPAIGNS_DAYS", "30");
  GivenCluster(1, "unix:/none");
  for (int id = 1; id <= 100; ++id) GivenCampaign(id, 5);
  Sql("UPDATE campaigns SET state = 'terminated', completion_time = now() - interval '31 days';"
      "INSERT INTO done (job_id, campaign_id, idx, batch_id, cluster_id, attempt, kind, counted, "
      "state, exit_class, slots, submitted_at, remote_id) SELECT i, i, 0, 1, 1, 1, 'task', true, "
      "'terminated', 'none', 1, now(), 'R' FROM generate_series(1, 100) AS i");
  Pass();
  EXPECT_EQ(Number("SELECT count(*) FROM campaigns"), 0);
  EXPECT_EQ(Number("SELECT count(*) FROM done"), 0);
}

TEST_F(RetentionPgTest, TheAuditIsKeptForTheDaysOfTheConfiguration) {
  config.Set("AUDIT_KEEP_DAYS", "100");
  Sql("INSERT INTO audit (at, actor, source, action, subject) VALUES "
      "(now() - interval '101 days', 'ann', 'x', 'changed', 'old'), "
      "(now() - interval '99 days', 'ann', 'x', 'changed', 'kept')");
  Pass();
  EXPECT_EQ(Sql("SELECT string_agg(subject, ' ') FROM audit WHERE actor = 'ann'")[0][0].c_str(),
            std::string("kept"));
}

TEST_F(RetentionPgTest, ClosedEventsGoAfterNinetyDaysAndLogEventsCloseThemselves) {
  Sql("INSERT INTO events (class, code, state, date_closed, date_update, fingerprint) VALUES "
      "('job', 'EXIT_ERROR', 'closed', now() - interval '91 days', now(), 'a'), ('job', "
      "'EXIT_ERROR', 'closed', now(), now(), 'b'),"
      "('log', 'MODULE_RESTARTED', 'open', NULL, now() - interval '2 days', 'c'), ('job', "
      "'EXIT_ERROR', 'open', NULL, now() - interval '2 days', 'd')");
  Pass();
  std::string left;
  for (const auto& row : Sql("SELECT fingerprint, state FROM events ORDER BY 1"))
    left += row[0].c_str() + std::string(row[1].c_str()) + " ";
  EXPECT_EQ(left, "bclosed cclosed dopen ");
}

TEST_F(RetentionPgTest, SubscriptionsToOneCampaignGoAfterItsLastMessage) {
  GivenCluster(1, "unix:/none");
  for (int id : {1, 2, 3, 4, 5}) GivenCampaign(id, 5);
  Sql("UPDATE campaigns SET state = 'terminated', completion_time = now() - interval '25 hours' "
      "WHERE id <= 3;"
      "UPDATE campaigns SET state = 'terminated', completion_time = now() - interval '23 hours' "
      "WHERE id = 5;"
      "INSERT INTO user_notifications (grid_user, type, identity, severity, campaign_id, "
      "created_at) SELECT 'alice', 'mail', 'a@b', 'high', c, now() - interval '30 hours' FROM "
      "unnest(ARRAY[1, 2, 3, 4, 5, NULL]) AS c;"
      "INSERT INTO notifications (subscription_id, event_id, severity, code, message, state, "
      "sent_at) SELECT id, id, 'high', 'X', '', CASE campaign_id WHEN 2 THEN 'waiting' ELSE 'sent' "
      "END, CASE campaign_id WHEN 2 THEN NULL WHEN 3 THEN now() ELSE now() - interval '2 hours' "
      "END FROM user_notifications");
  Pass();
  EXPECT_EQ(Sql("SELECT string_agg(coalesce(campaign_id::text, 'all'), ' ' ORDER BY campaign_id) "
                "FROM user_notifications")[0][0]
                .c_str(),
            std::string("2 3 4 5 all"));
}

TEST_F(RetentionPgTest, ReasonsThatHoldStayAndThoseThatCeasedAreBounded) {
  Sql("INSERT INTO reasons (campaign_id, cluster_id, code, since, until) VALUES "
      "(1, 1, 'OPEN', now() - interval '1 year', NULL), "
      "(1, 1, 'OLD', now() - interval '40 days', now() - interval '31 days'), "
      "(1, 1, 'KEPT', now() - interval '40 days', now() - interval '29 days'), "
      "(1, 1, 'SHORT_OLD', now() - interval '121 minutes 30 seconds', now() - interval '121 "
      "minutes'), "
      "(1, 1, 'SHORT_NEW', now() - interval '100 seconds', now() - interval '90 seconds');"
      "INSERT INTO reasons SELECT 2, 1, 'MANY', '{}', now() - interval '20 days', now() - i * "
      "interval '5 minutes' FROM generate_series(1, 2500) AS i");
  Pass();
  std::string left;
  for (const auto& row : Sql("SELECT code FROM reasons WHERE campaign_id = 1 ORDER BY 1"))
    left += row[0].c_str() + std::string(" ");
  EXPECT_EQ(left, "KEPT OPEN SHORT_NEW ");
  EXPECT_EQ(Number("SELECT count(*) FROM reasons WHERE campaign_id = 2"), 2000);
  EXPECT_EQ(
      Number("SELECT count(*) FROM reasons WHERE campaign_id = 2 AND until < now() - interval "
             "'10001 minutes'"),
      0)
      << "the oldest went";
}

TEST_F(RetentionPgTest, KeysOfRequestsGoAfterADay) {
  Sql("INSERT INTO request_keys VALUES ('ann', 'old', 1, now() - interval '25 hours'), "
      "('ann', 'new', 2, now() - interval '23 hours')");
  Pass();
  EXPECT_STREQ(Sql("SELECT string_agg(key, ' ') FROM request_keys")[0][0].c_str(), "new");
}

TEST_F(RetentionPgTest, RequestsAboutJobsThatHaveEndedAreForgotten) {
  Sql("INSERT INTO kills (job_id, reason, asked_at) VALUES (5, 'user', now() - interval '1 hour'), "
      "(6, 'user', now());"
      "INSERT INTO job_requests (job_id, asked_by, asked_at) VALUES (5, 'ann', now() - interval '2 "
      "hours'), (6, 'ann', now())");
  Pass();
  EXPECT_EQ(Number("SELECT sum(job_id) FROM kills"), 6);
  EXPECT_EQ(Number("SELECT sum(job_id) FROM job_requests"), 6)
      << "its batch may still be on its way";
}

}  // namespace
}  // namespace cigri::nikita
