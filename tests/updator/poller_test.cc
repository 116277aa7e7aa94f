// One cluster that is polled again and again: what an answer says, what a full listing adds, and
// how many cycles of the grid a poll costs.
#include "updator/poller.h"

#include <gtest/gtest.h>

#include "clusterdb/clusterdb.h"
#include "tests/cluster/recorded_server.h"
#include "tests/support/await.h"
#include "tests/support/wakers.h"
#include "tests/updator/fake_cluster.h"

namespace cigri::updator {
namespace {

using nlohmann::json;
using test::Fixture;
using test::Says;

JobList ListOf(const std::vector<cluster::RemoteRef>& refs) {
  return std::make_shared<const std::vector<cluster::RemoteRef>>(refs);
}

class PollerTest : public testing::Test {
 protected:
  PollerTest() : mailbox_(std::make_shared<Mailbox>()) {
    server_.On("GET", "/resources/full", Fixture("oar/resources_full"));
    server_.On("GET", "/resources/", Says({{"items", json::array()}}));
    server_.On("GET", "/stress_factor", Fixture("oar/stress_factor"));
    row_.config = test::ConfigOf("oar2", server_.port());
  }
  void Start(double full_s = 3600) {
    PollerSettings settings{.cluster_id = 1, .name = "froggy", .grid_mark = ".grid1."};
    settings.pace = {.poll_s = 0.01, .full_s = full_s};
    poller_ = std::make_unique<Poller>(settings, clusterdb::MakeDriver(row_), mailbox_, waker_);
    poller_->SetBusy(true);
  }
  // The next answer to a poll that asks about the jobs of `refs`.
  Answer Next(const std::vector<cluster::RemoteRef>& refs = {}) {
    poller_->Publish(ListOf(refs));
    std::vector<Answer> answers;
    EXPECT_TRUE(test::Await([&] { return !(answers = mailbox_->TakeAll()).empty(); }));
    if (answers.empty()) return {};
    poller_->Taken();
    return answers.front();
  }
  static json Item(int id, const std::string& name, const std::string& state = "Running") {
    return {{"id", id}, {"name", name}, {"owner", "alice"}, {"state", state}};
  }
  static json Job(int id, const std::string& name, int index) {
    return {{"id", id},
            {"name", name},
            {"state", "Running"},
            {"command", "exec /bin/sh -c 'eval \"$(echo QQ==|base64 -d)\"' cigri " +
                            std::to_string(index) + " 100 0 1 b QQ=="}};
  }
  test::RecordedServer server_;
  clusterdb::ClusterRow row_;
  test::TestWaker waker_;
  std::shared_ptr<Mailbox> mailbox_;
  std::unique_ptr<Poller> poller_;
};

TEST_F(PollerTest, AFullListingShowsOnlyOurJobsThatNoPollAsksAbout) {
  const std::string ours = "cigri.1.grid1.aaaa";
  const json items = {Item(84, ours),       Item(90, ours),         Item(91, "cigri.1.other.bbbb"),
                      Item(92, "cigri.12"), Item(93, "cigri.12.x"), Item(94, "bob's job")};
  server_.On("GET", "/jobs.json?limit=0", Says({{"items", items}, {"total", 6}, {"offset", 0}}));
  server_.On("GET", "/jobs/90.json", Says(Job(90, ours, 0)));
  Start(0.001);
  Answer answer;
  for (int i = 0; i < 20 && !answer.unasked; ++i) answer = Next({test::RefOf("84", ours)});
  ASSERT_TRUE(answer.unasked);
  ASSERT_EQ(answer.unasked->size(), 1u);
  EXPECT_EQ(answer.unasked->at(0).ref.remote_id, "90");
  EXPECT_EQ(answer.unasked->at(0).ref.tag, ours);
  EXPECT_EQ(answer.unasked->at(0).ref.index, 0);
  for (const char* foreign : {"/jobs/84", "/jobs/91", "/jobs/92", "/jobs/93", "/jobs/94"})
    EXPECT_TRUE(server_.Asked("GET", foreign).empty()) << foreign << " was looked at";
}

TEST_F(PollerTest, AnAnswerIsGoodWhenTheFullListingFails) {
  server_.On("GET", "/jobs.json", {500, "<h1>Internal Server Error</h1>", "text/html"});
  Start(0.001);
  for (int i = 0; i < 5; ++i) {
    const auto answer = Next();
    EXPECT_TRUE(answer.ok) << answer.error;
    EXPECT_FALSE(answer.unasked);
  }
}

TEST_F(PollerTest, FailuresAreCountedAndSilenceIsTellableFromErrors) {
  server_.On("GET", "/resources/", {500, "<h1>Oops</h1>", "text/html"});
  server_.On("GET", "/resources/full", {500, "<h1>Oops</h1>", "text/html"});
  Start();
  auto answer = Next();
  EXPECT_FALSE(answer.ok);
  EXPECT_FALSE(answer.unreachable);
  EXPECT_EQ(answer.failures, 1);
  EXPECT_NE(answer.error.find("froggy"), answer.error.npos) << answer.error;
  row_.config.api_url = "http://127.0.0.1:1";
  Start();
  EXPECT_TRUE(Next().unreachable);
}

// A cycle of the grid is a turn of each of five modules. Before the pass published its lists, a
// poller asked for one cycle to get the list and for another to hand in the answer: 2 per poll.
TEST(PollerCycleTest, APollCostsOneCycle) {
  constexpr int kPolls = 5;
  const auto script = std::make_shared<FakeScript>();
  const auto mailbox = std::make_shared<Mailbox>();
  test::TestWaker waker;
  Poller poller({.cluster_id = 1, .name = "c1", .pace = {.poll_s = 0.001}},
                std::make_unique<FakeCluster>(script, false), mailbox, waker);
  poller.SetBusy(true);
  for (int poll = 1; poll <= kPolls; ++poll) {
    poller.Publish(ListOf({test::RefOf(std::to_string(poll), "cigri.1.g.a")}));
    script->Answer({});
    ASSERT_TRUE(test::Await([&] { return waker.wakes == poll; })) << waker.wakes;
    ASSERT_EQ(mailbox->TakeAll().size(), 1u);
    ASSERT_EQ(script->requests().back().jobs.at(0).remote_id, std::to_string(poll));
    if (poll < kPolls) {
      poller.Publish(ListOf({test::RefOf(std::to_string(poll + 1), "cigri.1.g.a")}));
      poller.Taken();
      // The next poll has begun, and it has asked for nothing.
      ASSERT_TRUE(test::Await([&] { return static_cast<int>(script->requests().size()) > poll; }));
    }
  }
  EXPECT_EQ(waker.wakes, kPolls);
  script->Close();
}

TEST(PollerCycleTest, AClusterIsAskedNoMoreOftenThanItsMinCycle) {  // FBS-15: min_cycle_s
  constexpr int kPolls = 4;
  constexpr auto kMinCycle = std::chrono::milliseconds(200);
  const auto script = std::make_shared<FakeScript>();
  const auto mailbox = std::make_shared<Mailbox>();
  test::TestWaker waker;
  const auto start = std::chrono::steady_clock::now();
  Poller poller({.cluster_id = 1, .name = "c1", .pace = {.poll_s = 0.2}},
                std::make_unique<FakeCluster>(script, false), mailbox, waker);
  poller.SetBusy(true);
  for (int poll = 1; poll <= kPolls; ++poll) {
    script->Answer({});
    for (int i = 0; i < 100; ++i) poller.Publish(ListOf({}));  // whatever happens meanwhile
    ASSERT_TRUE(test::Await([&] { return waker.wakes == poll; })) << waker.wakes;
    poller.Taken();
  }
  EXPECT_GE(std::chrono::steady_clock::now() - start, (kPolls - 1) * kMinCycle);
  script->Close();
}

TEST(PollerCycleTest, AClusterIsNotAskedAgainBeforeThePassHasTakenItsAnswer) {
  const auto script = std::make_shared<FakeScript>();
  const auto mailbox = std::make_shared<Mailbox>();
  test::TestWaker waker;
  Poller poller({.cluster_id = 1, .name = "c1", .pace = {.poll_s = 0.001}},
                std::make_unique<FakeCluster>(script, false), mailbox, waker);
  poller.SetBusy(true);
  script->Answer({});
  script->Answer({});
  poller.Publish(ListOf({}));
  ASSERT_TRUE(test::Await([&] { return waker.wakes == 1; }));
  EXPECT_FALSE(
      test::Await([&] { return script->requests().size() > 1; }, std::chrono::milliseconds(50)));
  poller.Taken();
  EXPECT_TRUE(test::Await([&] { return waker.wakes == 2; }));
  script->Close();
}

TEST(PollerCycleTest, AllJobsAreAskedForAlsoAfterTheFirstTryToDoSoHasFailed) {
  const auto script = std::make_shared<FakeScript>();
  const auto mailbox = std::make_shared<Mailbox>();
  test::TestWaker waker;
  Poller poller({.cluster_id = 1, .name = "c1", .pace = {.poll_s = 0.001}},
                std::make_unique<FakeCluster>(script, true), mailbox, waker);
  poller.SetBusy(true);
  cluster::PollResult answer;
  answer.token = "t1";
  const auto asked = [&](std::size_t n) {
    return test::Await([&] {
      for ([[maybe_unused]] const auto& taken : mailbox->TakeAll()) poller.Taken();
      return script->requests().size() == n;
    });
  };
  ASSERT_TRUE(asked(1));
  poller.AskForAll();
  script->Fail();
  ASSERT_TRUE(asked(2));
  script->Answer(answer);
  ASSERT_TRUE(asked(3));
  poller.AskForAll();
  script->Answer(answer);
  ASSERT_TRUE(asked(4));
  script->Fail();
  ASSERT_TRUE(asked(5));
  script->Answer(answer);
  ASSERT_TRUE(asked(6));
  std::vector<std::string> tokens;
  for (const auto& request : script->requests()) tokens.push_back(request.token);
  EXPECT_EQ(tokens, (std::vector<std::string>{"", "", "t1", "", "", "t1"}));
  script->Close();
}

TEST(PollerClockTest, HowFarTheClustersClockIsAheadIsMeasured) {
  const test::RawServer late(
      "HTTP/1.1 200 OK\r\nDate: Fri, 20 Nov 2020 10:00:00 GMT\r\nContent-Type: application/json\r\n"
      "Content-Length: 24\r\n\r\n{\"items\":[],\"total\":0}  ");
  clusterdb::ClusterRow row;
  row.config = test::ConfigOf("oar2", late.port());
  test::TestWaker waker;
  const auto mailbox = std::make_shared<Mailbox>();
  Poller poller({.cluster_id = 1, .name = "c1"}, clusterdb::MakeDriver(row), mailbox, waker);
  poller.Publish(ListOf({}));
  std::vector<Answer> answers;
  test::Await([&] { return !(answers = mailbox->TakeAll()).empty(); });
  ASSERT_FALSE(answers.empty());
  ASSERT_TRUE(answers[0].ok) << answers[0].error;
  ASSERT_TRUE(answers[0].skew_s);
  EXPECT_LT(*answers[0].skew_s, -100e6) << "years behind";
}

}  // namespace
}  // namespace cigri::updator
