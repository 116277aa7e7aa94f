// Notifications while almighties die: a real notifier under real almighties, and a webhook.
#include <atomic>
#include <mutex>
#include <thread>

#include "http/server.h"
#include "tests/almighty/fixture.h"

namespace cigri {
namespace {

using test::Await;
using test::Running;

class LeaderNotifierPgTest : public test::PgTest {
 protected:
  void SetUp() override {
    PgTest::SetUp();
    hook_.Post("/hook", [this](const httplib::Request& request, httplib::Response&) {
      {
        const std::lock_guard lock(mutex_);
        bodies_.push_back(request.body);
      }
      // The notifier, which dies with its leader, must not get the answer.
      if (const pid_t leader = victim_.exchange(0); leader != 0) {
        kill(leader, SIGKILL);
        EXPECT_TRUE(Await([&] { return !test::Alive(leader); }));
      }
    });
    std::string why;
    ASSERT_TRUE(hook_.BindTcp("127.0.0.1", 0, &why)) << why;
    serving_ = std::thread([this] { hook_.Serve(); });
    hook_.AwaitServing();
    std::ofstream(bin_.dir() + "/cigri.conf")
        << "SAFETY_TICK = 0.5\nNOTIFICATIONS_WINDOW = 0\nNOTIFICATIONS_WEBHOOK = \"http://127.0.0.1:" << hook_.port()
        << "/hook\"\n";
    setenv("CIGRI_DB", conninfo().c_str(), 1);
    setenv("CIGRI_HOME", bin_.dir().c_str(), 1);
    setenv("CIGRICONFFILE", (bin_.dir() + "/cigri.conf").c_str(), 1);
    Sql("INSERT INTO campaigns (id, grid_user, name, nb_params, first_task_id, jdl) OVERRIDING "
        "SYSTEM VALUE VALUES (1, 'alice', 'c', 1, 1, '{}'); INSERT INTO user_notifications "
        "(grid_user, type, identity, severity) VALUES ('alice', 'jabber', 'alice@site', 'low')");
  }
  void TearDown() override {
    hook_.Stop();
    serving_.join();
    PgTest::TearDown();
    for (const char* name : {"CIGRI_DB", "CIGRI_HOME", "CIGRICONFFILE"}) unsetenv(name);
  }
  std::unique_ptr<Running> Almighty() {
    return std::make_unique<Running>(
        Running({bin_.dir() + "/almighty", "--bin-dir", bin_.dir()}));
  }
  std::string One(const std::string& sql) { return Sql(sql)[0][0].c_str(); }
  void Event(const std::string& message) {
    Sql("INSERT INTO events (class, code, campaign_id, message, fingerprint) VALUES ('notify', "
        "'FINISHED_CAMPAIGN', 1, '" + message + "', '" + message + "'); NOTIFY cigri_wake");
  }
  int Messages(const std::string& about) {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(std::count_if(bodies_.begin(), bodies_.end(), [&](const auto& body) {
      return body.find(about) != body.npos;
    }));
  }
  std::string StateOf(const std::string& message) {
    return One("SELECT coalesce(max(state), '') FROM notifications WHERE message = '" + message +
               "'");
  }

  test::BinFolder bin_{{"almighty", "notifier"}};
  http::GuardServer hook_;
  std::thread serving_;
  std::mutex mutex_;
  std::vector<std::string> bodies_;
  std::unique_ptr<Running> first_;
  std::atomic<pid_t> victim_{0};
};

TEST_F(LeaderNotifierPgTest, OneMessageForEachSubjectWhoeverOfTheLeadersDiesWhileItIsSent) {
  first_ = Almighty();
  ASSERT_TRUE(Await([&] { return One("SELECT epoch FROM grid") == "1"; }));
  Event("before the end");
  ASSERT_TRUE(Await([&] { return StateOf("before the end") == "sent"; }));
  for (int round = 1; round <= 3; ++round) {
    auto second = Almighty();
    const std::string n = std::to_string(round);
    victim_ = first_->pid();
    Event("taken in term " + n);
    // The leader is gone between the message and the note that it was sent.
    ASSERT_TRUE(Await([&] { return One("SELECT epoch FROM grid") == std::to_string(round + 1); }));
    first_ = std::move(second);
    EXPECT_TRUE(Await([&] { return StateOf("taken in term " + n) == "unknown"; }));
    Event("after term " + n);
    EXPECT_TRUE(Await([&] { return StateOf("after term " + n) == "sent"; }));
    EXPECT_EQ(Messages("taken in term " + n), 1) << "it had arrived, and comes no second time";
    EXPECT_EQ(Messages("after term " + n), 1);
  }
  // A leader that dies before its notifier took the message: the next one sends it.
  kill(first_->pid(), SIGSTOP);  // it starts no pass any more
  Event("taken by nobody");
  auto last = Almighty();
  first_->Kill(SIGKILL);
  EXPECT_TRUE(Await([&] { return StateOf("taken by nobody") == "sent"; }));
  EXPECT_EQ(Messages("taken by nobody"), 1);
  EXPECT_EQ(Messages("before the end"), 1);
}

}  // namespace
}  // namespace cigri
