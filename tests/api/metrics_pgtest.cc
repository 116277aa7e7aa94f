// What the grid reports to Prometheus: read by Prometheus' own tools; and who is blamed when the
// grid does not work.
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <fstream>
#include <regex>

#include "tests/api/api_fixture.h"
#include "tests/support/await.h"

namespace cigri::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::string ReadAll(const std::string& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

int FreePort() {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const bool bound = ::bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                     ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  ::close(fd);
  return bound ? ntohs(address.sin_port) : 0;
}

class MetricsPgTest : public ApiTest {
 protected:
  void SetUp() override {
    ApiTest::SetUp();
    Sql("INSERT INTO gridstatus (cluster_id, max_resources, free_resources, used_resources, "
        "unavailable_resources, used_by_cigri, jobs_running, jobs_waiting) VALUES "
        "(1, 10, 3, 6, 1, 4, 4, 0);"
        "INSERT INTO cluster_status (cluster_id, polled_at, answered_at) VALUES (1, now(), now());"
        "INSERT INTO modules (name, host, pid, epoch, passes, last_pass_at, last_pass_ms) VALUES "
        "('updator', 'h', 1, 1, 7, now(), 12.5), ('nikita', 'h', 2, 1, 9, now(), 1);"
        "UPDATE leader_lease SET ends_at = now() + interval '1 hour'");
    Submit();
    Sql("UPDATE campaigns SET submission_time = now() - interval '1 hour'");
  }
  std::string Text() {
    const auto answer = Http().Get("/metrics", {{"X-Cigri-User", "bob"}});
    EXPECT_EQ(answer.status, 200) << answer.body;
    return answer.body;
  }
  void Ended(const std::string& bucket, int ok, int preempted) {
    Sql("INSERT INTO usage (bucket, campaign_id, cluster_id, grid_user, project, slot_s, ok, "
        "preempted, not_ok, lost_s) VALUES (" +
        bucket + ", 1, 1, 'alice', '', 100, " + std::to_string(ok) + ", " +
        std::to_string(preempted) +
        ", 0, 40) "
        "ON CONFLICT (bucket, campaign_id, cluster_id) DO UPDATE SET ok = usage.ok + excluded.ok, "
        "slot_s = usage.slot_s + 100, lost_s = usage.lost_s + 40");
  }
};

TEST_F(MetricsPgTest, PromtoolFindsNothingToSayAboutThem) {
  Ended("date_trunc('minute', now())", 1, 1);
  Text();
  std::ofstream(dir_ / "metrics") << Text();
  const std::string out = dir_ / "out";
  EXPECT_EQ(std::system(
                ("promtool check metrics < " + (dir_ / "metrics").string() + " > " + out + " 2>&1")
                    .c_str()),
            0)
      << ReadAll(out) << ReadAll(dir_ / "metrics");
  EXPECT_EQ(ReadAll(out), "");
}

TEST_F(MetricsPgTest, HaveThePresentNumbersOfTheGrid) {
  const std::string text = Text();
  for (const char* line :
       {"cigri_cluster_slots{cluster=\"alpha\",state=\"free\"} 3\n",
        "cigri_cluster_slots{cluster=\"alpha\",state=\"grid\"} 4\n",
        "cigri_cluster_slots{cluster=\"alpha\",state=\"local\"} 2\n",
        "cigri_cluster_up{cluster=\"alpha\"} 1\n", "cigri_cluster_up{cluster=\"beta\"} 0\n",
        "cigri_cluster_jobs{cluster=\"alpha\",state=\"running\"} 0\n",
        "cigri_campaigns{state=\"in_treatment\"} 1\n", "cigri_tasks_waiting 5\n",
        "cigri_tasks_submitted_total 5\n", "cigri_campaigns_submitted_total 1\n",
        "cigri_cycle_duration_seconds 0.0125\n", "cigri_database_up 1\n",
        "cigri_module_passes_total{module=\"nikita\"} 9\n",
        "# TYPE cigri_api_request_duration_seconds histogram\n",
        "cigri_api_requests_total{code=\"2xx\",method=\"POST\"} 1\n"})
    EXPECT_THAT(text, HasSubstr(line));
  EXPECT_THAT(text, testing::ContainsRegex("cigri_tasks_oldest_unsent_age_seconds 36[0-9][0-9]"));
  EXPECT_EQ(text.find("alice"), text.npos) << "no label has a user";
  EXPECT_EQ(Ask("", "GET", "/metrics").status, 403) << "who may see campaigns may see their number";
}

// Also when its row has a term left: the session of one that was killed is gone at once.
TEST_F(MetricsPgTest, SayWhetherARunnerServes) {
  Sql("DELETE FROM runners");
  EXPECT_THAT(Text(), testing::AllOf(HasSubstr("cigri_runners 0\n"),
                                     HasSubstr("cigri_cluster_served{cluster=\"alpha\"} 0\n")));
  auto session = std::make_unique<pqxx::connection>(conninfo());
  Sql("INSERT INTO runners (id, host, home, pid, session, ends_at) VALUES "
      "('a', 'h', 'h:/', 1, " +
      std::to_string(session->backendpid()) +
      ", 'infinity');"
      "INSERT INTO cluster_leases (cluster_id, epoch, runner_id) VALUES (1, 1, 'a') "
      "ON CONFLICT (cluster_id) DO UPDATE SET runner_id = 'a'");
  const auto served = testing::AllOf(HasSubstr("cigri_runners 1\n"),
                                     HasSubstr("cigri_cluster_served{cluster=\"alpha\"} 1\n"),
                                     HasSubstr("cigri_cluster_served{cluster=\"beta\"} 0\n"));
  std::string text;
  EXPECT_TRUE(Await([&] { return testing::Matches(served)(text = Text()); })) << text;
  session.reset();
  EXPECT_TRUE(Await([&] {
    text = Text();
    return text.find("cigri_runners 0\n") != text.npos &&
           text.find("cigri_cluster_served{cluster=\"alpha\"} 0\n") != text.npos;
  })) << text;
}

TEST_F(MetricsPgTest, CountersOfEndsOnlyRiseAndCountNoOldOnes) {
  Ended("now() - interval '3 hours'", 50, 50);
  Text();
  Ended("date_trunc('minute', now())", 3, 1);
  const auto ok = [&] {
    static const std::regex kOk(R"(cigri_jobs_ended_total\{\S*class="ok"\S*\} (\d+))");
    const std::string text = Text();
    std::smatch match;
    return std::regex_search(text, match, kOk) ? std::stoi(match[1]) : 0;
  };
  EXPECT_TRUE(Await([&] { return ok() == 3; })) << ok();
  Ended("date_trunc('minute', now())", 2, 0);
  EXPECT_TRUE(Await([&] { return ok() == 5; })) << ok();
  EXPECT_THAT(Text(), HasSubstr("cigri_slot_seconds_evicted_total{cluster=\"alpha\"} 80"));
}

TEST_F(MetricsPgTest, DebiansPrometheusScrapesThem) {
  const int api = server_->ListenTcp("127.0.0.1:0"), port = FreePort();
  const std::string token =
      Ask("oscar", "POST", "/admin/tokens", {{"user", "prometheus"}}).body["token"];
  std::ofstream(dir_ / "token") << token;
  std::ofstream(dir_ / "prometheus.yml")
      << "global: {scrape_interval: 1s}\nrule_files: [" CIGRI_SOURCE_DIR
         "/monitoring/prometheus-alerts.yml]\nscrape_configs:\n  - job_name: cigri\n"
         "    authorization: {credentials_file: "
      << (dir_ / "token").string()
      << "}\n"
         "    static_configs: [{targets: ['127.0.0.1:"
      << api << "']}]\n";
  const pid_t pid = fork();
  if (pid == 0) {
    if (std::freopen((dir_ / "log").c_str(), "w", stderr) == nullptr) _exit(126);
    const std::string config = "--config.file=" + (dir_ / "prometheus.yml").string(),
                      data = "--storage.tsdb.path=" + (dir_ / "data").string(),
                      listen = "--web.listen-address=127.0.0.1:" + std::to_string(port);
    execlp("prometheus", "prometheus", config.c_str(), data.c_str(), listen.c_str(), nullptr);
    _exit(127);
  }
  http::Client prometheus(http::Endpoint::Parse("http://127.0.0.1:" + std::to_string(port)),
                          http::Options());
  const auto value = [&](const std::string& query) -> std::string {
    const auto answer = prometheus.Get("/api/v1/query?query=" + http::PercentEncode(query));
    const json body = json::parse(answer.body, nullptr, false);
    if (!answer.ok() || !body.is_object() || body["data"]["result"].empty()) return "";
    return body["data"]["result"][0]["value"][1];
  };
  EXPECT_TRUE(Await([&] { return value("up{job=\"cigri\"}") == "1"; })) << ReadAll(dir_ / "log");
  EXPECT_TRUE(Await([&] { return value("cigri_cluster_slots{state=\"free\"}") == "3"; }));
  EXPECT_TRUE(Await([&] {
    return prometheus.Get("/api/v1/rules").body.find("CigriDatabaseDown") != std::string::npos;
  }));
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
}

TEST_F(MetricsPgTest, AlertsAndDashboardNameMetricsThatExist) {
  const std::string known = ReadAll(CIGRI_SOURCE_DIR "/src/api/http/metrics.cc");
  static const std::regex kName("cigri_[a-z_]+");
  for (const std::string file : {"prometheus-alerts.yml", "grafana-dashboard.json"}) {
    const std::string text = ReadAll(CIGRI_SOURCE_DIR "/monitoring/" + file);
    int seen = 0;
    for (std::sregex_iterator it(text.begin(), text.end(), kName), end; it != end; ++it, ++seen) {
      const std::string name = ReplaceAll(it->str(), "_bucket", "");
      EXPECT_THAT(known, HasSubstr("\"" + name + "\"")) << file;
    }
    EXPECT_GT(seen, 8) << file;
  }
  EXPECT_EQ(std::system("promtool check rules " CIGRI_SOURCE_DIR
                        "/monitoring/prometheus-alerts.yml > /dev/null 2>&1"),
            0);
}

TEST_F(MetricsPgTest, ReadyBlamesTheDatabaseTheLeaderOrTheModule) {
  EXPECT_EQ(Ask("", "GET", "/ready").body, (json{{"ready", true}, {"database", "up"}}));
  Sql("UPDATE modules SET last_pass_at = now() - interval '50 seconds' WHERE name = 'updator'");
  const auto stuck = Ask("", "GET", "/ready");
  EXPECT_EQ(stuck.status, 503);
  EXPECT_EQ(stuck.body["problem"], "module_stuck");
  EXPECT_EQ(stuck.body["message"], "updator: no pass for 50 s");
  EXPECT_EQ(stuck.body["database"], "up");
  EXPECT_EQ(Ask("", "GET", "/health").status, 200) << "the API and its database are well";
  Sql("UPDATE modules SET last_pass_at = now()");
  EXPECT_EQ(Ask("", "GET", "/ready").status, 200);
  Sql("UPDATE grid SET leading_since = now() - interval '1 minute'; DELETE FROM runners");
  EXPECT_EQ(Ask("", "GET", "/ready").body["message"], "runner: none runs on any host");
  Sql("INSERT INTO runners (id, host, home, pid, session, ends_at) "
      "VALUES ('a', 'h', 'h:/', 1, 1, now())");
  EXPECT_EQ(Ask("", "GET", "/ready").status, 200);
  const std::string ended =
      "INSERT INTO events (class, code, fingerprint, message, sample) VALUES "
      "('log', 'MODULE_RESTARTED', ";
  Sql(ended + "'notifier', 'notifier ended: a schema; run `x`', '{\"makes_passes\": true}');" +
      ended + "'nikita', 'nikita ended: signal 9', '{\"makes_passes\": true}');" + ended +
      "'api', 'api ended: signal 9', NULL)");
  const auto ready = Ask("", "GET", "/ready");
  EXPECT_EQ(ready.body["problem"], "module_stuck");
  EXPECT_EQ(ready.body["message"],
            "nikita: does not run: signal 9; notifier: does not run: a schema; run `x`")
      << "also one that never made a pass";
  EXPECT_EQ(Ask("", "GET", "/health").body["stuck"],
            (json{"nikita: does not run: signal 9", "notifier: does not run: a schema; run `x`"}));
  Sql("INSERT INTO modules (name, host, pid, epoch, last_pass_at) VALUES ('notifier', 'h', 3, 1, "
      "now()) ON CONFLICT DO NOTHING; UPDATE modules SET last_pass_at = now()");
  EXPECT_EQ(Ask("", "GET", "/ready").status, 200) << "they have made a pass since";
  EXPECT_EQ(Ask("", "GET", "/health").body["stuck"], json::array());
  Sql("UPDATE leader_lease SET ends_at = now() - interval '1 second'");
  EXPECT_EQ(Ask("", "GET", "/ready").body["problem"], "no_leader");
}

TEST_F(MetricsPgTest, WithoutADatabaseTheApiStillSaysSo) {
  Config config;
  config.Set("API_TRUSTED_PROXY", "unix:" + Me());
  api::Context context(config, "host=" + (dir_ / "nowhere").string() + " dbname=x", 2);
  api::ApiServer server(context, api::AllRoutes());
  const int port = server.ListenTcp("127.0.0.1:0");
  http::Client client(http::Endpoint::Parse("http://127.0.0.1:" + std::to_string(port)),
                      http::Options());
  const http::Client::Headers token = {{"Authorization", "Bearer nobody-can-check-it"}};
  for (const auto& [path, key] : {std::pair{"/ready", "ready"}, {"/health", "ok"}}) {
    const auto answer = client.Get(path, token);
    EXPECT_EQ(answer.status, 503);
    const json body = json::parse(answer.body);
    EXPECT_EQ(body["problem"], "database_unavailable") << body;
    EXPECT_EQ(body[key], false);
  }
  const auto metrics = client.Get("/metrics", token);
  EXPECT_THAT(metrics.body, HasSubstr("cigri_database_up 0\n"));
  EXPECT_EQ(client.Get("/campaigns", token).status, 503) << "only what anybody may see";
}

}  // namespace
}  // namespace cigri::test
