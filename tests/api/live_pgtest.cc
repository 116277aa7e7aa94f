// Answers that a client waits for: they come when they have changed, and cost little until then.
#include <atomic>
#include <future>

#include "api/http/change_notifier.h"
#include "api/http/live.h"
#include "api/http/router.h"
#include "core/limit_uses.h"
#include "tests/api/api_fixture.h"
#include "tests/support/await.h"

namespace cigri::test {
namespace {

using nlohmann::json;

// As operators see it, nothing of this grid moves by itself.
const std::vector<std::string> kLive = {"/me",
                                        "/campaigns?all=1",
                                        "/campaigns/{id}",
                                        "/campaigns/{id}/why",
                                        "/campaigns/{id}/tasks/0",
                                        "/campaigns/{id}/tasks/0/why",
                                        "/grid",
                                        "/incidents?limit=100",
                                        "/admin/rules",
                                        "/admin/audit?limit=100",
                                        "/admin/policy/shares?days=14"};

class LiveTest : public ApiTest {
 protected:
  static std::string TagOf(const Answer& answer) {
    const auto at = answer.headers.find("etag");
    return at == answer.headers.end() ? "" : at->second;
  }
  Answer Wait(const std::string& user, const std::string& path, const std::string& tag,
              int ms = 30'000) {
    const std::string more = path.find('?') == path.npos ? "?" : "&";
    return Ask(user, "GET", path + more + "wait=" + std::to_string(ms), nullptr,
               {{"If-None-Match", tag}});
  }
  std::future<Answer> Waiting(const std::string& user, const std::string& path,
                              const std::string& tag) {
    return std::async(std::launch::async, [=, this] { return Wait(user, path, tag); });
  }
  // Listens, so that what follows is news and no beginning.
  void AwaitListening() {
    ASSERT_TRUE(Await([&] {
      return One("SELECT count(*) FROM pg_stat_activity WHERE application_name = "
                 "'cigri api changes'") != "0";
    }));
  }
};

TEST_F(LiveTest, WhatHasNotChangedIsNotSentAgain) {
  const std::string id = std::to_string(Submit());
  for (const auto& pattern : kLive) {
    const std::string path = ReplaceAll(pattern, "{id}", id);
    const auto first = Ask("oscar", "GET", path);
    ASSERT_EQ(first.status, 200) << path << first.body;
    ASSERT_NE(TagOf(first), "") << path;
    const auto again = Wait("oscar", path, TagOf(first), 1500);
    EXPECT_EQ(again.status, 304) << path << " moves by itself: " << first.body << again.body;
    EXPECT_EQ(TagOf(again), TagOf(first)) << path;
    EXPECT_EQ(Ask("oscar", "GET", path, nullptr, {{"If-None-Match", "W/\"0\""}}).status, 200);
  }
}

TEST_F(LiveTest, TheDocumentSaysWhichRoutesCanBeWaitedFor) {
  const auto paths = Ask("oscar", "GET", "/openapi.json").body["paths"];
  std::size_t live = 0;
  for (const auto& [path, methods] : paths.items())
    if (methods.contains("get") && methods["get"]["responses"].contains("304")) ++live;
  EXPECT_EQ(live, kLive.size());
}

TEST_F(LiveTest, AWaitingRequestIsAnsweredByWhatChanges) {
  const std::string path = "/campaigns/" + std::to_string(Submit());
  const struct {
    std::string user, path, change;
  } cases[] = {
      {"alice", path, "UPDATE campaigns SET name = 'renamed'"},
      {"bob", "/campaigns?all=1", "UPDATE campaigns SET name = 'again'"},
      {"oscar", "/grid",
       "UPDATE clusters SET drain_reason = 'new switch', drained_by = 'oscar', drained_at = now()"},
      {"oscar", "/incidents",
       "INSERT INTO events (class, code, cluster_id, message) VALUES ('cluster', 'X_NEWS', 1, 'news')"},
  };
  for (const auto& c : cases) {
    const auto tag = TagOf(Ask(c.user, "GET", c.path));
    auto poll = Waiting(c.user, c.path, tag);
    AwaitListening();
    Sql(c.change + "; NOTIFY cigri_progress");
    const auto then = poll.get();
    EXPECT_EQ(then.status, 200) << c.path << ": no answer at the change";
    EXPECT_NE(TagOf(then), tag) << c.path;
  }
}

TEST_F(LiveTest, SixtyWhoWaitForOneAnswerWorkItOutOnceASecond) {
  std::atomic<int> asked = 0, value = 1;
  auto router = api::AllRoutes();
  router.GetLive("/counted", [&](api::Context&, const api::Request&) {
    ++asked;
    return api::Reply::Json({{"value", value.load()}});
  });
  server_.reset();
  context_ = std::make_unique<api::Context>(Config(context_->config), conninfo(), 4);
  server_ = std::make_unique<api::ApiServer>(*context_, std::move(router));
  server_->ListenUnix(Socket());
  const auto tag = TagOf(Ask("alice", "GET", "/counted"));
  std::vector<std::future<Answer>> polls;
  for (int i = 0; i < 60; ++i) polls.push_back(Waiting("alice", "/counted", tag));
  ASSERT_TRUE(Await([&] {
    limits::Uses uses;
    context_->add_uses(uses);
    const auto at = uses.all().find(limits::kLongPolls.name);
    return at != uses.all().end() && at->second.most == 60;
  }));
  AwaitListening();
  const int before = asked;
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 200; ++i) Sql("NOTIFY cigri_progress");
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  EXPECT_LE(asked - before, 2 + took.count());
  const int at_change = asked;
  value = 2;
  for (auto& poll : polls) EXPECT_EQ(poll.get().body["value"], 2);
  EXPECT_LE(asked - at_change, 20) << "who is woken by a change gets what another has worked out";
}

// Readers who never waited had copies of whole pages made, 64 of which were freed at once while all
// others waited: the slowest reads of a crowd.
TEST_F(LiveTest, WhatNobodyWaitsForIsNoNews) {
  std::atomic<int> told = 0;
  const std::string path = "/campaigns/" + std::to_string(Submit());
  const auto tag = TagOf(Ask("alice", "GET", path));
  context_->notifier->OnNews([&] { ++told; });
  Sql("UPDATE campaigns SET name = 'renamed'");
  EXPECT_NE(TagOf(Ask("alice", "GET", path)), tag);
  EXPECT_EQ(told, 0);
  context_->notifier->OnNews({});
}

TEST(RecentAnswersTest, TheOldestMakesRoom) {
  api::RecentAnswers recent;
  const auto found = [&](int i) { return recent.Find(std::to_string(i)) != nullptr; };
  for (int i = 0; i < 100; ++i) recent.Keep(std::to_string(i), api::Reply::Json({{"value", i}}));
  EXPECT_FALSE(found(0));
  for (int i = 50; i < 100; ++i) EXPECT_TRUE(found(i)) << i;
}

TEST_F(LiveTest, AnAnswerIsItsCallersAlone) {
  const std::string path = "/campaigns/" + std::to_string(Submit());
  const auto alices = Ask("alice", "GET", path);
  EXPECT_EQ(Wait("bob", path, TagOf(alices), 0).status, 200) << "bob does not see the notes";
  EXPECT_EQ(Wait("bob", path + "/why", TagOf(Ask("alice", "GET", path + "/why"))).status, 403);
  EXPECT_EQ(Ask("", "GET", path).status, 403);
  const auto nobody = Ask("", "GET", "/me");
  EXPECT_EQ(Wait("", "/me", TagOf(nobody)).status, 304) << "nobody waits unnamed";
}

}  // namespace
}  // namespace cigri::test
