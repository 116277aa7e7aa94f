// One cluster asked again and again: what an answer tells, what a slow sweep adds.
#include "updator/poller.h"

#include <gtest/gtest.h>

#include "tests/cluster/recorded_server.h"

namespace cigri::updator {
namespace {

using nlohmann::json;
using test::Fixture;
using test::Says;

class QuietWaker : public module::Waker {
 public:
  void Wake() override {}
  void WakeIn(std::chrono::milliseconds) override {}
};

class PollerTest : public testing::Test {
 protected:
  PollerTest() : mailbox_(std::make_shared<Mailbox>()) {
    server_.On("GET", "/resources/full", Fixture("oar/resources_full"));
    server_.On("GET", "/resources/", Says({{"items", json::array()}}));
    server_.On("GET", "/stress_factor", Fixture("oar/stress_factor"));
    row_.config = test::ConfigOf("oar2", server_.port());
    row_.min_round_s = 0.01;
  }
  void Start(double slow_s = 3600) {
    poller_ = std::make_unique<Poller>(row_, "", mailbox_, waker_, "", ".grid1.", slow_s);
    poller_->SetBusy(true);
  }
  // The next answer; asked about the jobs of `refs`.
  Answer Next(const std::vector<cluster::RemoteRef>& refs = {}) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (std::chrono::steady_clock::now() < end) {
      if (poller_->Due()) poller_->Give(refs);
      auto answers = mailbox_->TakeAll();
      if (!answers.empty()) {
        poller_->Taken();
        return answers.front();
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    ADD_FAILURE() << "no answer";
    return {};
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
  QuietWaker waker_;
  std::shared_ptr<Mailbox> mailbox_;
  std::unique_ptr<Poller> poller_;
};

TEST_F(PollerTest, ASlowSweepTellsOnlyOfOurJobsThatNobodyAsksAbout) {
  const std::string ours = "cigri.1.grid1.aaaa";
  const json items = {Item(84, ours),       Item(90, ours),         Item(91, "cigri.1.other.bbbb"),
                      Item(92, "cigri.12"), Item(93, "cigri.12.x"), Item(94, "bob's job")};
  server_.On("GET", "/jobs.json?limit=0", Says({{"items", items}, {"total", 6}, {"offset", 0}}));
  server_.On("GET", "/jobs/90.json", Says(Job(90, ours, 0)));
  Start(0.001);
  Answer answer;
  for (int i = 0; i < 20 && !answer.strays; ++i) answer = Next({test::RefOf("84", ours)});
  ASSERT_TRUE(answer.strays);
  ASSERT_EQ(answer.strays->size(), 1u);
  EXPECT_EQ(answer.strays->at(0).ref.remote_id, "90");
  EXPECT_EQ(answer.strays->at(0).ref.tag, ours);
  EXPECT_EQ(answer.strays->at(0).ref.index, 0);
  for (const char* foreign : {"/jobs/84", "/jobs/91", "/jobs/92", "/jobs/93", "/jobs/94"})
    EXPECT_TRUE(server_.Asked("GET", foreign).empty()) << foreign << " was looked at";
}

TEST_F(PollerTest, ASlowSweepThatFailsSpoilsNoAnswer) {
  server_.On("GET", "/jobs.json", {500, "<h1>Internal Server Error</h1>", "text/html"});
  Start(0.001);
  for (int i = 0; i < 5; ++i) {
    const auto answer = Next();
    EXPECT_TRUE(answer.ok) << answer.error;
    EXPECT_FALSE(answer.strays);
  }
}

TEST_F(PollerTest, FailuresAreSilenceOrErrorsAndAreCounted) {
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

TEST(PollerClockTest, HowFarTheClustersClockIsAheadIsMeasured) {
  const test::RawServer late(
      "HTTP/1.1 200 OK\r\nDate: Fri, 20 Nov 2020 10:00:00 GMT\r\nContent-Type: application/json\r\n"
      "Content-Length: 24\r\n\r\n{\"items\":[],\"total\":0}  ");
  clusterdb::ClusterRow row;
  row.config = test::ConfigOf("oar2", late.port());
  QuietWaker waker;
  const auto mailbox = std::make_shared<Mailbox>();
  Poller poller(row, "", mailbox, waker, "", ".grid1.", 3600);
  std::vector<Answer> answers;
  for (int i = 0; i < 6000 && answers.empty(); ++i) {
    if (poller.Due()) poller.Give({});
    answers = mailbox->TakeAll();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ASSERT_FALSE(answers.empty());
  ASSERT_TRUE(answers[0].ok) << answers[0].error;
  ASSERT_TRUE(answers[0].skew_s);
  EXPECT_LT(*answers[0].skew_s, -100e6) << "years behind";
}

}  // namespace
}  // namespace cigri::updator
