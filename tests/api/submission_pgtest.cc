// POST /campaigns: what becomes rows, and what leaves nothing behind.
#include "tests/api/api_fixture.h"

namespace cigri::test {
namespace {

using nlohmann::json;

TEST_F(ApiTest, ACampaignBecomesRowsAndTheAnswerIsCiGris) {
  const auto a =
      Ask("alice", "POST", "/campaigns",
          json{{"name", "sweep"},
               {"nb_jobs", 5},
               {"exec_file", "./run.sh"},
               {"walltime", "0:10:00"},
               {"resources", "/nodes=1/core=2"},
               {"exec_directory", "{HOME}/out/{CAMPAIGN_ID}"},
               {"clusters", {{"alpha", {{"max_jobs", 3}}}, {"beta", {{"walltime", "60s"}}}}}});
  ASSERT_EQ(a.status, 201) << a.body;
  const std::int64_t id = a.body["id"];
  EXPECT_EQ(a.headers.find("location")->second, "/campaigns/" + std::to_string(id));
  EXPECT_EQ(a.body["user"], "alice");
  EXPECT_EQ(a.body["state"], "in_treatment");
  EXPECT_EQ(a.body["total_jobs"], 5);
  EXPECT_EQ(a.body["finished_jobs"], 0);
  EXPECT_EQ(a.body["clusters_state"][0]["name"], "alpha");
  EXPECT_EQ(One("SELECT string_agg(walltime_s || ' ' || slots || ' ' || coalesce(max_jobs, 0) || ' "
                "' || cluster_login, ','"
                " ORDER BY cluster_id) FROM campaign_clusters"),
            "600 2 3 alice,60 2 0 alice");
  EXPECT_EQ(One("SELECT exec_directory FROM campaign_clusters LIMIT 1"),
            "$HOME/out/" + std::to_string(id));
  EXPECT_EQ(
      One("SELECT first_idx || ' ' || n || ' ' || coalesce(upload_id::text, 'none') FROM segments"),
      "0 5 none");
  EXPECT_EQ(One("SELECT ntasks || ' ' || next_idx FROM campaign_cursor"), "5 0");
  EXPECT_EQ(One("SELECT count(*) FROM placements"), "2");
}

TEST_F(ApiTest, InlineParametersAreKeptByteForByte) {
  const auto id = Submit({{"params", {"a b", "it's \"x\" $HOME #", "\xC3\xA9\n2", 17, "", "a b"}}});
  const auto params = Sql("SELECT params FROM params_chunk")[0][0].as<std::string>();
  const std::vector<std::string> want{"a b", "it's \"x\" $HOME #", "\xC3\xA9\n2", "17", "", "a b"};
  EXPECT_EQ(jdl::DecodeBlock(params), want);
  EXPECT_EQ(Ask("alice", "GET", "/campaigns/" + std::to_string(id)).body["total_jobs"], 6);
}

TEST_F(ApiTest, TaskIdsOfCampaignsFollowEachOther) {
  Submit({{"nb_jobs", 1000}});
  Submit({{"nb_jobs", 7}});
  Submit({{"nb_jobs", 1}});
  EXPECT_EQ(One("SELECT string_agg(first_task_id::text, ' ' ORDER BY id) FROM campaigns"),
            "1 1001 1008");
}

// CIG-19
TEST_F(ApiTest, ATestCampaignMakesOneJobForEachCluster) {
  const auto id = Submit({{"nb_jobs", 100}}, "?type=test");
  EXPECT_EQ(One("SELECT ntasks FROM campaign_cursor"), "2");
  const auto a = Ask("alice", "GET", "/campaigns/" + std::to_string(id));
  EXPECT_EQ(a.body["type"], "test");
  EXPECT_EQ(a.body["not_run_jobs"], 98);
}

TEST_F(ApiTest, EveryFaultOfAJdlIsReportedWithItsPlaceAndNothingIsLeftBehind) {
  const auto a = Ask(
      "alice", "POST", "/campaigns",
      "{\n  \"name\": \"x\", \"nb_jobs\": 0,\n  \"exec_file\": \"./x\", \"walltime\": \"1:99\",\n"
      "  \"clusters\": {\"alhpa\": {}, \"beta\": {\"resources\": \"/nodes=x\"}}\n}");
  EXPECT_EQ(a.status, 400);
  EXPECT_EQ(a.body["title"], "Error");
  ASSERT_GE(a.body["faults"].size(), 3u) << a.body;
  for (const auto& fault : a.body["faults"]) EXPECT_GT(fault.value("line", 0), 1) << fault;
  EXPECT_EQ(One("SELECT count(*) FROM campaigns"), "0");
}

TEST_F(ApiTest, MalformedJdlsAreBadRequests) {
  const std::string deep(100'000, '[');
  for (const std::string& body : {std::string(), std::string("{"), std::string("[1]"),
                                  std::string("\"x\""), std::string("\xff\xfe\x00", 3), deep}) {
    const auto a = Ask("alice", "POST", "/campaigns", body);
    EXPECT_EQ(a.status, 400) << body.substr(0, 20);
    EXPECT_TRUE(a.body.contains("message"));
  }
}

TEST_F(ApiTest, AParamFileIsRefusedWithAHint) {
  const auto a = Ask("alice", "POST", "/campaigns",
                     json{{"name", "x"},
                          {"exec_file", "./x"},
                          {"param_file", "/etc/shadow"},
                          {"clusters", {{"alpha", json::object()}}}});
  EXPECT_EQ(a.status, 400);
  EXPECT_FALSE(a.body["faults"][0].value("hint", "").empty()) << a.body;
}

TEST_F(ApiTest, ADryRunShowsWhatWouldBeAndStoresNothing) {
  const auto a = Ask("alice", "POST", "/campaigns?dry_run=1",
                     json{{"name", "x"},
                          {"exec_file", "./x"},
                          {"params", {"1 2", "3", "4", "5"}},
                          {"clusters", {{"alpha", json::object()}}}});
  ASSERT_EQ(a.status, 200) << a.body;
  EXPECT_EQ(a.body["total_jobs"], 4);
  EXPECT_EQ(a.body["commands"], (json{"./x 1 2", "./x 3", "./x 4"}));
  EXPECT_EQ(a.body["clusters"][0]["name"], "alpha");
  EXPECT_EQ(a.body["clusters"][0]["matched"], true);
  EXPECT_EQ(a.body["jdl"]["clusters"]["alpha"]["walltime"], "1:00:00");
  EXPECT_EQ(One("SELECT count(*) FROM campaigns"), "0");
}

// CIG-52
TEST_F(ApiTest, RulesChangeRefuseAndAreReported) {
  Sql("INSERT INTO admission_rules (name, code) VALUES ('cap',"
      " 'for _, c in pairs(campaign.clusters) do if c.walltime > 60 then c.walltime = 60 end end "
      "warn(\"short ones\")')");
  const auto a = Ask("alice", "POST", "/campaigns",
                     json{{"name", "x"},
                          {"exec_file", "./x"},
                          {"params", {"1"}},
                          {"clusters", {{"alpha", {{"walltime", "100s"}}}}}});
  ASSERT_EQ(a.status, 201) << a.body;
  EXPECT_EQ(One("SELECT walltime_s FROM campaign_clusters"), "60");
  EXPECT_NE(a.body["notes"].dump().find("100 -> 60"), std::string::npos) << a.body["notes"];
  EXPECT_NE(One("SELECT notes::text FROM campaigns").find("short ones"), std::string::npos);
  EXPECT_EQ(One("SELECT count(*) FROM params_chunk"), "1")
      << "the parameters survive a change by rules";

  Sql("INSERT INTO admission_rules (name, code) VALUES ('no', 'require_that(campaign.type == "
      "\"test\" and user.name == \"x\", \"not today\")')");
  const auto b = Ask("alice", "POST", "/campaigns",
                     json{{"name", "x"},
                          {"exec_file", "./x"},
                          {"nb_jobs", 1},
                          {"clusters", {{"alpha", json::object()}}}});
  EXPECT_EQ(b.status, 400);
  EXPECT_EQ(b.body["title"], "Admission rule error");
  EXPECT_NE(b.body["message"].get<std::string>().find("not today"), std::string::npos);
  EXPECT_EQ(One("SELECT count(*) FROM campaigns"), "1");
}

TEST_F(ApiTest, WhatARuleLeavesIsCheckedAgain) {
  Sql("INSERT INTO admission_rules (name, code) VALUES ('odd', 'campaign.clusters.alpha.walltime = "
      "\"soon\"')");
  const auto a = Ask("alice", "POST", "/campaigns",
                     json{{"name", "x"},
                          {"exec_file", "./x"},
                          {"nb_jobs", 1},
                          {"clusters", {{"alpha", json::object()}}}});
  EXPECT_EQ(a.status, 400);
  EXPECT_EQ(a.body["title"], "Admission rule error");
}

TEST_F(ApiTest, RubyClientsMaySendSmallJdlsAsForms) {
  const auto a =
      Ask("alice", "POST", "/cigri-api/campaigns/",
          "{\"name\":\"x\",\"exec_file\":\"./x\",\"nb_jobs\":1,\"clusters\":{\"alpha\":{}}}", {},
          "application/x-www-form-urlencoded");
  EXPECT_EQ(a.status, 201) << a.body;
  const auto b = Ask("alice", "POST", "/campaigns", std::string(9000, 'x'), {},
                     "application/x-www-form-urlencoded");
  EXPECT_EQ(b.status, 415);
  EXPECT_NE(b.body["hint"].get<std::string>().find("application/json"), std::string::npos);
}

TEST_F(ApiTest, WhereSharesGoByGroupsACampaignNamesOne) {  // GRID-39
  Sql("INSERT INTO policy_settings (key, value) VALUES ('policy', '\"sla\"'), ('sla.groups', "
      "'{\"a\": 10, \"b\": 20}')");
  Sql("INSERT INTO members (kind, name, grid_user) VALUES ('sla_group', 'a', 'alice'), "
      "('sla_group', 'b', '*')");
  const auto ask = [&](const json& more) {
    json body{{"name", "x"},
              {"nb_jobs", 1},
              {"exec_file", "true"},
              {"clusters", {{"alpha", json::object()}}}};
    body.update(more);
    return Ask("alice", "POST", "/campaigns", body);
  };
  for (const auto& bad : {json::object(), json{{"sla_group", "c"}}}) {
    const auto a = ask(bad);
    EXPECT_EQ(a.status, 400);
    EXPECT_NE(a.body.dump().find("sla_group"), std::string::npos) << a.body;
    EXPECT_NE(a.body.dump().find("one of: a, b"), std::string::npos) << a.body;
  }
  EXPECT_EQ(One("SELECT count(*) FROM campaigns"), "0");
  EXPECT_EQ(ask({{"sla_group", "b"}}).status, 201);
}

TEST_F(ApiTest, TheCampaignsThatEndFirstMustExist) {
  const auto first = Submit({{"nb_jobs", 1}});
  EXPECT_EQ(One("SELECT jdl -> 'after' FROM campaigns WHERE id = " +
                std::to_string(Submit({{"nb_jobs", 1}, {"after", first}}))),
            "[" + std::to_string(first) + "]");
  const auto a = Ask("alice", "POST", "/campaigns",
                     json{{"name", "x"},
                          {"nb_jobs", 1},
                          {"exec_file", "true"},
                          {"after", {first, 4711}},
                          {"clusters", {{"alpha", json::object()}}}});
  EXPECT_EQ(a.status, 400);
  EXPECT_NE(a.body.dump().find("there is no campaign 4711"), std::string::npos) << a.body;
  EXPECT_EQ(One("SELECT count(*) FROM campaigns"), "2");
}

TEST_F(ApiTest, ARuleThatDoesNotRunIsTheOperatorsMatterUntilItIsFixed) {
  Sql("INSERT INTO admission_rules (name, code) VALUES ('bad', 'error(''oops'')')");
  const json jdl = {{"name", "x"},
                    {"nb_jobs", 1},
                    {"exec_file", "true"},
                    {"clusters", {{"alpha", json::object()}}}};
  EXPECT_EQ(Ask("alice", "POST", "/campaigns", jdl).status, 400);
  EXPECT_EQ(Ask("alice", "POST", "/campaigns", jdl).status, 400);
  EXPECT_EQ(One("SELECT count FROM events WHERE code = 'RULE_BROKEN' AND state = 'open'"), "2");
  EXPECT_NE(One("SELECT message FROM events").find("(bad) failed"), std::string::npos)
      << One("SELECT message FROM events");
  Sql("UPDATE admission_rules SET code = '-- nothing'");
  EXPECT_EQ(Ask("alice", "POST", "/campaigns", jdl).status, 201);
  EXPECT_EQ(One("SELECT count(*) FROM events WHERE code = 'RULE_BROKEN' AND state = 'open'"), "0");
}

// A token is looked at when it can still be fixed: at the submission.
TEST_F(ApiTest, ATokenThatIsMissingOrEndsTooEarlyIsReportedAtTheSubmission) {
  Sql("UPDATE clusters SET api_auth_type = 'jwt' WHERE name = 'alpha'");
  Sql("INSERT INTO gridstatus (cluster_id, max_resources, free_resources, used_resources, "
      "unavailable_resources, "
      "used_by_cigri, jobs_running, jobs_waiting) SELECT id, 2, 2, 0, 0, 0, 0, 0 FROM clusters "
      "WHERE name = 'alpha'");
  const json jdl = {{"name", "x"},
                    {"nb_jobs", 8},
                    {"walltime", "3600s"},
                    {"exec_file", "true"},
                    {"clusters", {{"alpha", json::object()}}}};
  const auto notes = [&] { return Ask("alice", "POST", "/campaigns", jdl).body["notes"].dump(); };
  const auto token = [&](const std::string& expires) {
    Sql("INSERT INTO users_mapping (grid_login, cluster_id, cluster_login, token, "
        "token_expires_at) SELECT 'alice', id, "
        "'alice', 't', " +
        expires +
        " FROM clusters WHERE name = 'alpha' ON CONFLICT (grid_login, cluster_id) "
        "DO UPDATE SET token_expires_at = excluded.token_expires_at");
    return notes();
  };
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != text.npos;
  };
  const auto none = notes();
  EXPECT_TRUE(
      has(none, "you have no token for cluster alpha, nothing is sent there: gridtoken -i alpha"))
      << none;
  const auto expired = token("now() - interval '1 day'");
  EXPECT_TRUE(has(expired, "your token for cluster alpha expired")) << expired;
  const auto early = token("now() + interval '2 hours'");  // 8 jobs of an hour on 2 slots take 4
  EXPECT_TRUE(has(early, "your token for cluster alpha expires in")) << early;
  EXPECT_FALSE(has(token("now() + interval '5 hours'"), "token"));
  EXPECT_FALSE(has(token("NULL"), "token"));
  for (const std::string never : {"'infinity'", "'-infinity'"}) {
    token(never);
    EXPECT_EQ(Ask("alice", "POST", "/campaigns", jdl).status, 201) << never;
    EXPECT_EQ(has(notes(), "your token for cluster alpha expired"), never == "'-infinity'");
  }
  Sql("UPDATE clusters SET token_command = 'make-token %u'; DELETE FROM users_mapping");
  EXPECT_FALSE(has(notes(), "token")) << "the site makes them";
}

}  // namespace
}  // namespace cigri::test
