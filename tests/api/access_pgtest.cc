// Who may do what, over which way; shapes and codes of CiGri 3; long polls.
#include <future>

#include "secrets/secrets.h"
#include "tests/api/api_fixture.h"

namespace cigri::test {
namespace {

using nlohmann::json;

class AccessPgTest : public ApiTest {};

TEST_F(AccessPgTest, NobodyAnonymousSeesMoreThanTheRoot) {
  EXPECT_EQ(Ask("", "GET", "/").status, 200);
  EXPECT_EQ(Ask("", "GET", "/health").body["ok"], true);
  for (const char* anonymous : {"", "unknown", "NULL"}) {
    const auto a = Ask(anonymous, "GET", "/campaigns");
    EXPECT_EQ(a.status, 403);
    EXPECT_EQ(a.body["message"], "Access denied: not authenticated");
  }
}

TEST_F(AccessPgTest, CountsAreForAllTheRestForTheOwnerAndOperators) {
  const std::string path = "/campaigns/" + std::to_string(Submit({{"params", {"secret"}}}));
  EXPECT_EQ(Ask("bob", "GET", path).status, 200);
  for (const char* rest : {"/jdl", "/events", "/params"}) {
    EXPECT_EQ(Ask("bob", "GET", path + rest).status, 403) << rest;
    EXPECT_EQ(Ask("alice", "GET", path + rest).status, 200) << rest;
    EXPECT_EQ(Ask("oscar", "GET", path + rest).status, 200) << rest;
  }
}

// The event of a cluster's fault has the stderr of some job of somebody.
TEST_F(AccessPgTest, WhatAJobSaidOfAFaultOfItsClusterIsForOperators) {
  const std::string own = "/campaigns/" + std::to_string(Submit()) + "/events";
  Sql("INSERT INTO events (id, class, code, cluster_id, message, sample) VALUES (77, 'cluster', "
      "'CLUSTER_FAULT', 1, 'alpha: the disk is full: secret', "
      "'{\"fault\":\"the disk is full\",\"job\":1,\"campaign\":9,\"message\":\"secret\"}')");
  for (const auto& path : {own, std::string("/events"), std::string("/events/77")}) {
    const auto answer = Ask("alice", "GET", path);
    ASSERT_EQ(answer.status, 200) << path;
    EXPECT_NE(answer.body.dump().find("alpha: the disk is full"), std::string::npos) << answer.body;
    EXPECT_EQ(answer.body.dump().find("secret"), std::string::npos) << answer.body;
    EXPECT_NE(Ask("oscar", "GET", path).body.dump().find("secret"), std::string::npos) << path;
  }
}

TEST_F(AccessPgTest, OperatorsInTheTableCountWithinSeconds) {
  EXPECT_EQ(Ask("olga", "GET", "/admin/rules").status, 403);
  Sql("INSERT INTO operators (name) VALUES ('olga')");
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  int status = 0;
  while (status != 200 && std::chrono::steady_clock::now() < end) {
    status = Ask("olga", "GET", "/admin/rules").status;
    std::this_thread::yield();
  }
  EXPECT_EQ(status, 200);
}

TEST_F(AccessPgTest, OverTcpATokenSaysWhoAndHeadersDoNot) {
  const int port = server_->ListenTcp("127.0.0.1:0");
  const std::string url = "http://127.0.0.1:" + std::to_string(port);
  const std::string token = RandomToken();
  Sql("INSERT INTO api_tokens (grid_user, hash, prefix, created_by) VALUES ('carol', '" +
      HashToken(token) + "', 'x', 'test')");
  const auto get = [&](http::Client::Headers headers) {
    return http::Client(http::Endpoint::Parse(url), {}).Get("/campaigns", headers).status;
  };
  EXPECT_EQ(get({}), 403);
  EXPECT_EQ(
      get({{"X-Cigri-User", "root"}, {"X-Guard-Peer-Uid", "0"}, {"X-Guard-Peer-User", "root"}}),
      403);
  EXPECT_EQ(get({{"Authorization", "Bearer " + token}}), 200);
  EXPECT_EQ(get({{"Authorization", "Bearer " + token + "x"}}), 403);
  auto client = http::Client(http::Endpoint::Parse(url), {});
  const auto big = client.Post("/campaigns", std::string(20'000, ' '));
  EXPECT_EQ(big.status, 403) << "strangers may not even send it";
  const auto bigger = client.Post("/campaigns", std::string(20'000, ' '), "application/json",
                                  {{"Authorization", "Bearer " + token}});
  EXPECT_EQ(bigger.status, 400) << "it is no JDL, but it was read";
}

TEST_F(AccessPgTest, RoutesAnswerAsCiGriDoes) {
  const auto a = Ask("alice", "GET", "/nowhere");
  EXPECT_EQ(a.status, 404);
  EXPECT_EQ(a.body, (json{{"status", 404},
                          {"title", "Not found"},
                          {"message", "GET /nowhere not found on this server"}}));
  EXPECT_EQ(Ask("alice", "GET", "/campaigns/abc").status, 404);
  EXPECT_EQ(Ask("alice", "GET", "/campaigns/99999999999999999999").status, 404);
  const auto b = Ask("alice", "PUT", "/campaigns");
  EXPECT_EQ(b.status, 405);
  EXPECT_EQ(b.headers.find("allow")->second, "GET, HEAD, POST");
  EXPECT_EQ(Ask("alice", "GET", "/cigri-api/campaigns/").status, 200);
  const auto links = Ask("alice", "GET", "/", nullptr, {{"X-Cigri-Api-Path-Prefix", "/front"}});
  EXPECT_EQ(links.body["links"][1]["href"], "/front/campaigns");
  EXPECT_NE(Http().Get("/?pretty").body.find("\n  "), std::string::npos);
}

TEST_F(AccessPgTest, ALongPollIsWokenByNews) {
  const auto id = Submit();
  const std::string path = "/campaigns/" + std::to_string(id) + "/progress";
  const auto now = Ask("bob", "GET", path);
  ASSERT_EQ(now.status, 200) << now.body;
  EXPECT_EQ(now.body["total"], 5);
  EXPECT_EQ(now.body["over"], false);
  auto poll = std::async(std::launch::async, [&] {
    return Ask("alice", "GET", path + "?wait=20000&seen=" + now.body["token"].get<std::string>());
  });
  const auto listens =
      "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'cigri api changes'";
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (One(listens) == "0" && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  Sql("INSERT INTO counters (campaign_id, cluster_id, kind, state, writer, n) VALUES (" +
      std::to_string(id) + ", 2, 'task', 'terminated', 'updator', 3), (" + std::to_string(id) +
      ", 2, 'task', 'preemption', 'updator', 1);"
      "INSERT INTO events (class, code, campaign_id, message) VALUES ('notify', 'X_NEWS', " +
      std::to_string(id) +
      ", 'hear, hear');"
      "NOTIFY cigri_progress");
  const auto then = poll.get();
  EXPECT_EQ(then.body["done"], 3) << then.body;
  EXPECT_EQ(then.body["preempted"], 1);
  EXPECT_EQ(then.body["clusters"][1]["done"], 3);
  const std::string news = then.body["news"].dump();
  EXPECT_NE(
      news.find("beta: a local user took the slot, 1 job killed, it is retried (not your fault)"),
      std::string::npos)
      << news;
  EXPECT_NE(news.find("hear, hear"), std::string::npos) << news;
  EXPECT_NE(then.body["token"], now.body["token"]);
  const auto later =
      Ask("alice", "GET", path + "?wait=1&seen=" + then.body["token"].get<std::string>());
  EXPECT_EQ(later.body["news"], json::array()) << "reported once";
}

TEST_F(AccessPgTest, AHundredLongPollsTakeNoDatabaseSessionsOfTheirOwn) {
  const auto id = Submit();
  const std::string path = "/campaigns/" + std::to_string(id) + "/progress";
  const std::string token = Ask("alice", "GET", path).body["token"];
  std::vector<std::future<Answer>> polls;
  for (int i = 0; i < 100; ++i)
    polls.push_back(std::async(std::launch::async, [&, user = i % 2 == 0 ? "alice" : "bob"] {
      return Ask(user, "GET", path + "?wait=30000&seen=" + token);
    }));
  EXPECT_EQ(Ask("alice", "GET", "/campaigns").status, 200) << "others are served meanwhile";
  EXPECT_LE(std::stoi(One(
                "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'cigri api%'")),
            9)
      << "four that change something, four that read, one that listens";
  Ask("alice", "DELETE", "/campaigns/" + std::to_string(id));
  for (auto& poll : polls) EXPECT_EQ(poll.get().body["wanted"], "cancelled");
}

TEST_F(AccessPgTest, TheApiSurvivesTheLossOfItsSessions) {
  Submit();
  for (int i = 0; i < 3; ++i) {
    Sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'cigri "
        "api%'");
    EXPECT_EQ(Ask("alice", "GET", "/campaigns").status, 200);
    Sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'cigri "
        "api%'");
    Submit();
  }
}

TEST_F(AccessPgTest, AFullDiskOfTheDatabaseIsSaidAndWorthAnotherTry) {
  Sql("CREATE FUNCTION is_full() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION "
      "'could not "
      "extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$; "
      "CREATE TRIGGER is_full BEFORE INSERT ON uploads FOR EACH ROW EXECUTE FUNCTION is_full()");
  const auto a = Ask("alice", "POST", "/uploads");
  EXPECT_EQ(a.status, 503);
  EXPECT_EQ(a.body["message"], "the disk of the database is full: nothing was stored");
}

class NoDatabaseTest : public ::testing::Test {};

TEST_F(NoDatabaseTest, WithoutADatabaseTheAnswerIsOneLineThatSaysWhatToDo) {
  const auto dir = std::filesystem::temp_directory_path() / ("cigri-api-" + RandomHex(6));
  std::filesystem::create_directories(dir);
  api::Context context(Config(), "host=" + dir.string() + " user=nobody", 2);
  api::ApiServer server(context, api::AllRoutes());
  server.ListenUnix(dir / "api.sock");
  const auto r = http::Client(http::Endpoint::Parse("unix:" + (dir / "api.sock").string()), {})
                     .Get("/campaigns");
  EXPECT_EQ(r.status, 503);
  const auto body = json::parse(r.body);
  EXPECT_EQ(body["message"].get<std::string>().find('\n'), std::string::npos);
  EXPECT_NE(body["hint"].get<std::string>().find("tell an operator"), std::string::npos) << body;
  server.Stop();
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace cigri::test
