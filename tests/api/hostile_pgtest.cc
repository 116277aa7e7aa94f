// Users, browsers and proxies that mean no good, through the API on its socket
// (measured/security.md 6, 9, 16, 17).
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "db/native.h"
#include "tests/api/api_fixture.h"
#include "tests/support/await.h"

namespace cigri::test {
namespace {

using nlohmann::json;
using Headers = http::Client::Headers;

class HostilePgTest : public ApiTest {
 protected:
  void TearDown() override {
    for (const int s : sockets_) ::close(s);
    ApiTest::TearDown();
  }
  int Send(const std::string& text) {
    sockaddr_un a{};
    a.sun_family = AF_UNIX;
    std::strcpy(a.sun_path, Socket().c_str());
    const int s = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    timeval limit{20, 0};  // a hang is a failure, not a hang
    ::setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    EXPECT_EQ(::connect(s, reinterpret_cast<sockaddr*>(&a), sizeof a), 0);
    ::send(s, text.data(), text.size(), MSG_NOSIGNAL);
    sockets_.push_back(s);
    return s;
  }
  static std::string Received(int s) {
    char buffer[4096];
    const auto n = ::recv(s, buffer, sizeof buffer, 0);
    return {buffer, static_cast<std::size_t>(std::max<ssize_t>(n, 0))};
  }
  // Whether `n` long polls of one user wait, at the latest after `patience`.
  bool PollsWait(std::int64_t n, std::chrono::milliseconds patience) {
    const auto wait = [&] {
      limits::Uses uses;
      context_->add_uses(uses);
      return uses.all().at(limits::kLongPolls.name).most >= n;
    };
    return test::Await(wait, patience);
  }
  std::vector<int> sockets_;
};

TEST_F(HostilePgTest, SixHundredLongPollsOfOneUserLeaveTheApiToOthers) {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  const std::string path = "/campaigns/" + std::to_string(Submit()) + "/progress";
  const std::string token = Ask("bob", "GET", path).body["token"];
  const std::string poll = "GET " + path + "?wait=60000&seen=" + token +
                           " HTTP/1.1\r\nHost: x\r\nX-Cigri-User: bob\r\n\r\n";
  for (int i = 0; i < 600; ++i) Send(poll);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Ask("alice", "GET", "/campaigns").status, 200);
  // Some of his are refused as soon as enough of the others wait.
  std::vector<pollfd> answers;
  for (const int socket : sockets_) answers.push_back({socket, POLLIN, 0});
  ASSERT_GT(::poll(answers.data(), answers.size(), 20000), 0);
  const auto answered = std::find_if(answers.begin(), answers.end(),
                                     [](const pollfd& fd) { return fd.revents != 0; });
  const std::string refused = Received(answered->fd);
  EXPECT_EQ(refused.substr(0, 12), "HTTP/1.1 429");
  EXPECT_NE(refused.find("the limit long-polls is reached"), std::string::npos) << refused;
}

// Seen by a lock on what a look at the campaign reads.
TEST_F(HostilePgTest, WhoWaitsForWhatSomebodyHasJustReadReadsNothing) {
  const std::string path = "/campaigns/" + std::to_string(Submit()) + "/progress";
  const std::string token = Ask("bob", "GET", path).body["token"];
  const std::string poll = "GET " + path + "?wait=60000&seen=" + token +
                           " HTTP/1.1\r\nHost: x\r\nX-Cigri-User: bob\r\n\r\n";
  Send(poll);
  ASSERT_TRUE(PollsWait(1, std::chrono::seconds(20)));
  auto other = Connect();
  // There is a notice every 2 s, and it may be news: the first poll after it reads.
  bool waits = false;
  for (std::int64_t sent = 2; sent < 12 && !waits; ++sent) {
    {
      db::Tx tx(*other);
      db::Native(tx).exec("LOCK TABLE campaigns IN ACCESS EXCLUSIVE MODE");
      Send(poll);
      waits = PollsWait(sent, std::chrono::seconds(1));
    }
    ASSERT_TRUE(PollsWait(sent, std::chrono::seconds(20)));
  }
  EXPECT_TRUE(waits);
}

TEST_F(HostilePgTest, OneUserLeavesThreadsToOthersBehindAProxy) {
  for (int i = 0; i < 100; ++i)
    Send(
        "POST /campaigns HTTP/1.1\r\nHost: x\r\nX-Cigri-User: bob\r\nContent-Length: "
        "1000000\r\n\r\n");
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Ask("alice", "GET", "/campaigns").status, 200);
}

TEST_F(HostilePgTest, AProxyNamesUsersInPlainLettersOnly) {
  for (const char* name : {"%72oot", "o%73car", "a b", "a/b", "a;b", "\xc3\xa9va", "a\"b"}) {
    const auto a = Ask(name, "GET", "/admin/operators");
    EXPECT_EQ(a.status, 400) << name << a.body;
    EXPECT_EQ(Ask(name, "POST", "/campaigns", std::string(20'000, ' ')).status, 400) << name;
  }
  for (const char* name : {"alice", "al.ice-2_x@example.org"})
    EXPECT_EQ(Ask(name, "GET", "/campaigns").status, 200) << name;
}

TEST_F(HostilePgTest, PagesOfOtherSitesChangeNothing) {
  const std::string path = "/campaigns/" + std::to_string(Submit());
  const struct {
    int status;
    const char *method, *type;
    Headers headers;
  } cases[] = {
      {403, "POST", "application/json", {{"Origin", "http://evil.example"}}},
      {403, "POST", "application/x-www-form-urlencoded", {{"Origin", "http://evil.example"}}},
      {403, "POST", "application/json", {{"Origin", "null"}}},
      {403, "POST", "application/json", {{"Sec-Fetch-Site", "cross-site"}}},
      {403, "DELETE", "", {{"Origin", "https://evil.example"}, {"Host", "grid.example"}}},
      {403, "DELETE", "", {{"Origin", "https://grid.example.evil"}, {"Host", "grid.example"}}},
      {403, "PUT", "application/json", {{"Origin", "http://evil.example"}}},
      {403, "PATCH", "application/json", {{"Origin", "http://evil.example"}}},
      {415, "POST", "text/plain", {}},
      {200, "GET", "", {{"Origin", "http://evil.example"}, {"Sec-Fetch-Site", "cross-site"}}},
      // A page of ours, a proxy that sends another Host, and clients that are no browsers.
      {202,
       "PUT",
       "application/json",
       {{"Origin", "https://grid.example"},
        {"Host", "grid.example"},
        {"Sec-Fetch-Site", "same-origin"}}},
      {202,
       "PUT",
       "application/json",
       {{"Origin", "https://grid.example"}, {"X-Forwarded-Host", "grid.example"}}},
      {202, "PUT", "application/json", {}},
  };
  for (const auto& c : cases) {
    const bool post = std::string(c.method) == "POST";
    const auto a = Ask("alice", c.method, post ? "/campaigns" : path, json{{"name", "csrf"}},
                       c.headers, c.type);
    EXPECT_EQ(a.status, c.status) << c.method << " " << c.type << " " << a.body;
  }
  EXPECT_EQ(One("SELECT count(*) FROM campaigns"), "1");
  EXPECT_EQ(Ask("alice", "GET", path).body["wanted"], "in_treatment")
      << "no DELETE was carried out";
  const auto form = Ask("alice", "POST", path + "?_method=DELETE", "a=b",
                        {{"Origin", "http://evil.example"}}, "application/x-www-form-urlencoded");
  EXPECT_EQ(form.status, 403) << form.body;
}

class OneHostPgTest : public HostilePgTest {
 protected:
  void Configure(Config& config) override { config.Set("API_HOSTS", "grid.example, grid"); }
};

TEST_F(OneHostPgTest, AForeignNameOfThisServerHelpsNobody) {
  EXPECT_EQ(Ask("alice", "GET", "/campaigns", nullptr, {{"Host", "rebound.evil"}}).status, 403);
  EXPECT_EQ(Ask("alice", "GET", "/campaigns", nullptr, {{"Host", "grid.example:443"}}).status, 200);
}

TEST_F(HostilePgTest, MethodOverridesAreKnownMethods) {
  const std::string path = "/campaigns/" + std::to_string(Submit());
  EXPECT_EQ(Ask("alice", "POST", path + "?_method=DELETE%0a2026-01-01T00:00:00%20I%20api:").status,
            400);
  EXPECT_EQ(Ask("alice", "POST", path + "?_method=BREW").status, 400);
  EXPECT_EQ(Ask("alice", "POST", path + "?_method=delete").status, 202);
}

// Found by the fuzzer: the library refuses it otherwise than what is no JSON at all.
TEST_F(HostilePgTest, NumbersBeyondAllRangesAreNoJson) {
  const auto sent = Ask("alice", "POST", "/campaigns", "{\"nb_jobs\": 1e999}");
  EXPECT_EQ(sent.status, 400) << sent.body;
  const auto options = Ask("oscar", "POST", "/admin/clusters",
                           {{"name", "x"}, {"kind", "local"}, {"options", "[1e999]"}});
  EXPECT_EQ(options.status, 400) << options.body;
  EXPECT_NE(options.body["message"].dump().find("options: "), std::string::npos) << options.body;
}

// What takes long was done under the lock that the runner and the updator of all users wait for.
TEST_F(HostilePgTest, TasksAreReadBeforeAnythingIsLocked) {
  const std::string path = "/campaigns/" + std::to_string(Submit()) + "/jobs";
  auto held = Connect();
  db::Tx lock(*held);
  db::Native(lock).exec("SELECT FROM campaign_cursor FOR UPDATE");
  EXPECT_EQ(Ask("alice", "POST", path, json::array({json::object()})).status, 400);
  EXPECT_EQ(Ask("bob", "POST", path, {"a"}).status, 403);
}

TEST_F(HostilePgTest, AThousandFaultsOfTasksAreAnsweredWithSome) {
  const std::string path = "/campaigns/" + std::to_string(Submit()) + "/jobs";
  json tasks = json::array();
  for (int i = 0; i < 1000; ++i) tasks.push_back(json::object());
  const auto a = Ask("alice", "POST", path, tasks);
  EXPECT_EQ(a.status, 400);
  EXPECT_LT(a.body.dump().size(), 20000u) << "they took 160 bytes of memory for each of a request";
}

TEST_F(HostilePgTest, NamesOfKeysCountAsOftenAsTheyAreKept) {
  std::string text;
  for (int i = 0; i < 29; ++i) text += "{\"" + std::string(240, 'k') + "\":";
  text += "[1";
  for (int i = 0; i < 10000; ++i) text += ",1";
  text += "]" + std::string(29, '}');
  const auto a = Ask("alice", "POST", "/campaigns", text);
  EXPECT_EQ(a.status, 400);
  EXPECT_NE(a.body.dump().find("the names of keys are too long"), std::string::npos) << a.body;
}

TEST_F(HostilePgTest, OnlyParametersMayBeLong) {
  const std::string name(2 << 20, 'x');
  EXPECT_EQ(Ask("alice", "POST", "/tokens", {{"name", name}}).status, 413);
}

TEST_F(HostilePgTest, WhatAClientSaysThatItHasSeenIsNoFurtherThanWhatThereIs) {
  const std::string path = "/campaigns/" + std::to_string(Submit()) + "/progress";
  const auto honest = Ask("alice", "GET", path).body["token"];
  EXPECT_EQ(Ask("bob", "GET", path + "?seen=9999999..1").body["token"], honest)
      << "two who differ woke each other for ever";
}

// Its command and the standard error of its jobs were in it.
TEST_F(HostilePgTest, WhyACampaignIsHeldIsItsOwnersAlone) {
  const auto id = std::to_string(Submit());
  Sql("UPDATE campaigns SET state = 'paused', state_reason = 'held everywhere: alpha: the first 10 "
      "jobs all failed: PASSWORD=secret ./sim: exit code 3: secret'");
  Sql("INSERT INTO placements (campaign_id, cluster_id, held_since, held_why) SELECT " + id +
      ", id, now(), 'the first 10 jobs all failed: secret' FROM clusters "
      "ON CONFLICT (campaign_id, cluster_id) DO UPDATE SET held_since = excluded.held_since, "
      "held_why = excluded.held_why");
  const std::string campaign = "/campaigns/" + id;
  for (const auto& path : {std::string("/campaigns?all=1"), campaign, campaign + "/progress"}) {
    const auto own = Ask("alice", "GET", path).body.dump(),
               other = Ask("bob", "GET", path).body.dump();
    EXPECT_NE(own.find("secret"), std::string::npos) << path;
    EXPECT_EQ(other.find("secret"), std::string::npos) << path << ": " << other;
    EXPECT_NE(other.find("held everywhere"), std::string::npos) << path << ": " << other;
  }
}

TEST_F(HostilePgTest, TheLimitsAreForOperatorsToSee) {
  EXPECT_EQ(Ask("alice", "GET", "/admin/limits").status, 403);
  const auto a = Ask("oscar", "GET", "/admin/limits");
  EXPECT_EQ(a.status, 200);
  EXPECT_EQ(a.body["items"][0]["name"], "connections") << a.body;
}

}  // namespace
}  // namespace cigri::test
