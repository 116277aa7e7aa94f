// `cigri import-cigri3`: what comes from the database of a CiGri 3, and what stays there.
#include <filesystem>
#include <fstream>

#include "core/text.h"
#include "jdl/blocks.h"
#include "process/run.h"
#include "tests/support/pg.h"

namespace cigri::test {
namespace {

class ImportPgTest : public PgTest {
 protected:
  void SetUp() override {
    PgTest::SetUp();
    home_ = std::filesystem::temp_directory_path() / ("cigri-import-" + RandomHex(6));
    schema_ = "cigri3_" + RandomHex(6);
    std::ifstream in(std::string(CIGRI_SOURCE_DIR) + "/tests/support/cigri3_tables.sql");
    const std::string tables(std::istreambuf_iterator<char>(in), {});
    Sql("CREATE SCHEMA " + schema_);
    Cigri3(tables);
    Cigri3(
        "INSERT INTO clusters (name, api_url, api_auth_type, batch, api_auth_header, properties) "
        "VALUES ('luke', 'https://luke/oarapi/', 'cert', 'oar2_5', 'X_REMOTE_IDENT', ''), "
        "('dahu', 'https://dahu/oarapi/', 'jwt', 'oar3', NULL, NULL);"
        "INSERT INTO users_mapping (grid_login, cluster_login, cluster_id) VALUES "
        "('alice', 'ali', 1), ('alice', 'Bearer abc.def.ghi', 2);"
        "INSERT INTO users_priority (grid_user, cluster_id, priority) VALUES ('alice', 1, 5);"
        "INSERT INTO user_notifications (grid_user, type, identity, severity) VALUES "
        "('alice', 'mail', 'a@b.org', 'high'), ('alice', 'irc', 'x', 'low');");
    // 7: paused, 2 done, 1 failed, 2 waiting. 8: a job is being submitted. 9: not paused. 10: over.
    // 11: paused, two jobs run and one waits on luke, one task waits.
    const std::string jdl =
        R"('{"name":"sweep","params":["x"],"clusters":{"luke":{"exec_file":"\\$HOME/a \\$CIGRI_CAMPAIGN_ID","walltime":"00:10:00","type":"best-effort","test_mode":"false"},"gone":{"exec_file":"x"}}}')";
    for (const auto& [id, state] : std::vector<std::pair<int, std::string>>{
             {7, "paused"}, {8, "paused"}, {9, "in_treatment"}, {10, "terminated"}, {11, "paused"}})
      Cigri3("INSERT INTO campaigns (id, grid_user, state, name, jdl) VALUES (" +
             std::to_string(id) + ", 'alice', '" + state + "', 'sweep', " + jdl + ")");
    Cigri3(
        "INSERT INTO parameters (id, campaign_id, name, param) VALUES (0, 0, '', ''), "
        "(1, 7, 'a', 'a 1'), (2, 7, 'b', 'b 2'), (3, 7, 'c', 'c ''3'''), (4, 7, 'd', 'd 4'), "
        "(5, 7, 'e', 'e 5'), (6, 8, 'f', 'f'), (7, 8, 'g', 'g'), (8, 9, 'h', 'h'), "
        "(9, 11, 'i', 'i 1'), (10, 11, 'j', 'j 2'), (11, 11, 'k', 'k 3'), (12, 11, 'l', 'l 4');"
        "INSERT INTO bag_of_tasks (campaign_id, param_id) VALUES "
        "(7, 3), (7, 5), (8, 7), (9, 8), (11, 10);"
        "INSERT INTO jobs (id, campaign_id, param_id, state) VALUES (1, 7, 1, 'terminated'), "
        "(2, 7, 2, 'terminated'), (3, 7, 4, 'event'), (4, 8, 6, 'launching');"
        "INSERT INTO jobs (id, campaign_id, param_id, state, cluster_id, remote_id) VALUES "
        "(5, 11, 12, 'running', 1, 4711), (6, 11, 9, 'remote_waiting', 1, 4712), "
        "(7, 11, 11, 'submitted', 1, 4713);"
        "INSERT INTO events (class, code, state, job_id, campaign_id) VALUES "
        "('job', 'EXIT_ERROR', 'open', 3, 7);"
        "INSERT INTO events (class, code, state, cluster_id, date_open, message) VALUES "
        "('cluster', 'TIMEOUT', 'closed', 1, '2026-11-01', 'no answer'), "
        "('log', 'ALMIGHTY_STARTING', 'open', NULL, now(), '')");
  }
  void TearDown() override {
    Sql("DROP SCHEMA " + schema_ + " CASCADE");
    std::filesystem::remove_all(home_);
    PgTest::TearDown();
  }
  void Cigri3(const std::string& sql) { Sql("SET LOCAL search_path TO " + schema_ + "; " + sql); }
  process::Result Import(const std::string& more = "") {
    return ImportFrom(TestServer() + " options=-csearch_path=" + schema_, more);
  }
  process::Result ImportFrom(const std::string& from, const std::string& more = "") {
    process::Command command;
    command.argv = {CIGRI_BIN_DIR "/cigri", "import-cigri3", "--from", from};
    if (!more.empty()) command.argv.push_back(more);
    command.environment =
        process::Environment{"PATH=/usr/bin:/bin", "CIGRI_DB=" + conninfo(),
                             "CIGRI_HOME=" + home_.string(), "CIGRICONFFILE=/dev/null"};
    command.errors = process::Errors::kWithOutput;
    return process::Run(command);
  }
  std::string One(const std::string& sql) { return Sql(sql)[0][0].c_str(); }

  std::filesystem::path home_;
  std::string schema_;
};

TEST_F(ImportPgTest, WhatWaitsInPausedCampaignsComesAndNothingElse) {
  const auto ran = Import();
  EXPECT_EQ(ran.code, 1) << ran.out;  // two campaigns are left out
  EXPECT_NE(ran.out.find("campaign 7 of alice: 2 waiting tasks as campaign "), std::string::npos)
      << ran.out;
  EXPECT_NE(ran.out.find("2 are done and stay there; 1 failed one too"), std::string::npos)
      << ran.out;
  EXPECT_NE(ran.out.find("campaign 8 of alice: left out: a job of it is being submitted"),
            std::string::npos);
  EXPECT_NE(ran.out.find("campaign 9 of alice: left out: not paused"), std::string::npos);
  EXPECT_EQ(One("SELECT count(*) FROM campaigns"), "2");
  const auto params = Sql("SELECT params FROM params_chunk JOIN segments USING (upload_id) "
                          "ORDER BY campaign_id")[0][0]
                          .as<std::string>();
  EXPECT_EQ(jdl::DecodeBlock(params), (std::vector<std::string>{"c '3'", "e 5"}));
  EXPECT_EQ(One("SELECT grid_user || ' ' || exec_file || ' ' || walltime_s || ' ' || cluster_login "
                "FROM campaign_clusters JOIN campaigns ON id = campaign_id"),
            "alice $HOME/a $CIGRI_CAMPAIGN_ID 600 ali");
  EXPECT_EQ(One("SELECT ntasks || ' ' || next_idx FROM campaign_cursor ORDER BY campaign_id"),
            "2 0");
  EXPECT_EQ(One("SELECT string_agg(name || ' ' || kind || ' ' || api_auth_type || ' ' || mode, ',' "
                "ORDER BY name) FROM clusters"),
            "dahu oar3 jwt observe,luke oar2 cert observe");
  EXPECT_EQ(One("SELECT priority FROM users_priority"), "5");
  EXPECT_EQ(One("SELECT type || identity || severity FROM user_notifications"), "maila@b.orghigh");
  EXPECT_EQ(One("SELECT left(token, 3) FROM users_mapping WHERE token IS NOT NULL"), "s1:");
}

// Of 11: the jobs on the cluster are ours by their ids there, and only the rest waits.
TEST_F(ImportPgTest, JobsThatRunAreTakenOver) {
  const auto ran = Import();
  EXPECT_NE(ran.out.find("campaign 11 of alice: 3 jobs on clusters and 1 waiting task as "),
            std::string::npos)
      << ran.out;
  const auto id = One("SELECT max(id) FROM campaigns");
  const auto params = Sql("SELECT params FROM params_chunk JOIN segments USING (upload_id) "
                          "WHERE campaign_id = " + id)[0][0]
                          .as<std::string>();
  EXPECT_EQ(jdl::DecodeBlock(params), (std::vector<std::string>{"l 4", "i 1", "k 3", "j 2"}));
  EXPECT_EQ(One("SELECT ntasks || ' ' || next_idx FROM campaign_cursor WHERE campaign_id = " + id),
            "4 3");
  EXPECT_EQ(One("SELECT string_agg(l.idx || ' ' || l.remote_id || ' ' || l.state, ',' ORDER BY "
                "l.idx) FROM live AS l"),
            "0 4711 submitted,1 4712 submitted,2 4713 submitted");
  EXPECT_EQ(One("SELECT b.tag || ' ' || b.state || ' ' || b.n || ' ' || k.name FROM batches AS b "
                "JOIN clusters AS k ON k.id = b.cluster_id"),
            "cigri.11 recorded 3 luke");
  EXPECT_EQ(One("SELECT n || ' ' || slots || ' ' || writer FROM counters "
                "WHERE state = 'submitted'"),
            "3 3 runner");
  EXPECT_EQ(One("SELECT count(*) FROM batches JOIN live ON job_id = first_job_id + element"), "3");
}

TEST_F(ImportPgTest, JobsThatCannotBeFollowedAloneKeepTheirCampaignThere) {
  const std::pair<const char*, const char*> cases[] = {
      {"UPDATE jobs SET remote_id = NULL WHERE id = 5", "is being submitted to luke"},
      {"UPDATE jobs SET remote_id = 4711 WHERE id = 6", "share jobs on luke"},
      {"UPDATE jobs SET tag = 'prologue', param_id = 0 WHERE id = 5", "prologue or epilogue"},
      {"UPDATE jobs SET cluster_id = 2 WHERE id = 5", "dahu, which its JDL does not name"}};
  for (const auto& [change, why] : cases) {
    Cigri3("CREATE TABLE jobs_before AS SELECT * FROM jobs; " + std::string(change));
    const auto ran = Import("--dry-run");
    EXPECT_NE(ran.out.find("campaign 11 of alice: left out: "), std::string::npos) << ran.out;
    EXPECT_NE(ran.out.find(why), std::string::npos) << ran.out;
    Cigri3("DELETE FROM jobs; INSERT INTO jobs SELECT * FROM jobs_before; DROP TABLE jobs_before");
  }
}

TEST_F(ImportPgTest, EventsComeAsHistory) {
  Import();
  const auto rows = Sql(
      "SELECT code, state, message, campaign_id IS NULL FROM events "
      "WHERE closed_by = 'cigri import-cigri3' ORDER BY id");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_STREQ(rows[0][2].c_str(), "CiGri 3, 2026-11-01 00:00, closed: TIMEOUT: no answer");
  EXPECT_TRUE(rows[0][3].as<bool>());
  EXPECT_STREQ(rows[0][1].c_str(), "closed");
  EXPECT_STREQ(rows[1][2].c_str(), "CiGri 3, ?, open: EXIT_ERROR of its job 3 (d 4)");
  EXPECT_FALSE(rows[1][3].as<bool>());
  Import();
  EXPECT_EQ(One("SELECT count(*) FROM events WHERE code = 'CIGRI3_EVENT'"), "2") << "once";
}

TEST_F(ImportPgTest, TheSecondTimeTakesWhatHasBecomePossibleAndNoTaskTwice) {
  Import();
  Cigri3(
      "UPDATE jobs SET state = 'terminated' WHERE id = 4; "
      "UPDATE campaigns SET state = 'paused' WHERE id = 9");
  const auto ran = Import();
  EXPECT_NE(ran.out.find("campaign 7 of alice: left out: imported before"), std::string::npos)
      << ran.out;
  EXPECT_NE(ran.out.find("cluster luke: there is one of that name"), std::string::npos);
  EXPECT_EQ(One("SELECT string_agg(ntasks::text, ',' ORDER BY campaign_id) FROM campaign_cursor"),
            "2,4,1,1");
}

TEST_F(ImportPgTest, ADryRunSaysTheSameAndStoresNothing) {
  const auto ran = Import("--dry-run");
  EXPECT_NE(ran.out.find("campaign 7 of alice: 2 waiting tasks"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("dry run, nothing was stored: 2 clusters"), std::string::npos) << ran.out;
  EXPECT_EQ(One("SELECT (SELECT count(*) FROM campaigns) + (SELECT count(*) FROM clusters)"), "0");
}

TEST_F(ImportPgTest, AnotherDatabaseIsRefused) {
  Cigri3("DROP TABLE jobs_to_launch");
  const auto ran = Import();
  EXPECT_EQ(ran.code, 78);
  EXPECT_NE(ran.out.find("no database of a CiGri 3"), std::string::npos) << ran.out;
  const auto nowhere = ImportFrom("host=/nowhere dbname=cigri3");
  EXPECT_EQ(nowhere.code, 69);
  EXPECT_NE(nowhere.out.find("--from 'host=grid dbname=cigri3"), std::string::npos) << nowhere.out;
}

}  // namespace
}  // namespace cigri::test
