// Notifications as they really leave: to an OpenSMTPD on the loopback, and to a command; once each,
// whoever dies.
#include <netinet/in.h>
#include <signal.h>
#include <sql/notifications.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/text.h"
#include "http/server.h"
#include "notifier/notifier.h"
#include "notifier/store.h"
#include "tests/support/await.h"
#include "tests/support/certificate.h"
#include "tests/support/rows.h"
#include "tests/support/wakers.h"

namespace cigri::notifier {
namespace {

class NotifierPgTest : public test::RowsTest {
 protected:
  void SetUp() override {
    RowsTest::SetUp();
    dir_ = "/tmp/cigri-notifier-" + RandomHex(6);
    std::filesystem::create_directories(dir_);
    ::chmod(dir_.c_str(), 0777);  // the mail server delivers as nobody
    config_.Set("NOTIFICATIONS_WINDOW", "0");
    config_.Set("NOTIFICATIONS_COMMAND", "cat >> " + File("sent"));
    GivenClusters(1);
    GivenCampaign({});
  }
  void TearDown() override {
    std::filesystem::remove_all(dir_);
    RowsTest::TearDown();
  }
  std::string File(const std::string& name) const { return dir_ + "/" + name; }
  std::string Read(const std::string& name) const {
    std::ifstream in(File(name));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static int Times(const std::string& text, const std::string& part) {
    int n = 0;
    for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
    return n;
  }
  void Subscribe(const std::string& type, const std::string& identity,
                 const std::string& severity = "low", const std::string& user = "alice") {
    Sql("INSERT INTO user_notifications (grid_user, type, identity, severity) VALUES ('" + user +
        "', '" + type + "', '" + identity + "', '" + severity + "')");
  }
  void Event(const std::string& code, const std::string& cls = "notify", bool of_campaign = true) {
    Sql("INSERT INTO events (class, code, campaign_id, cluster_id, message, fingerprint) VALUES "
        "('" +
        cls + "', '" + code + "', " + (of_campaign ? "1, NULL" : "NULL, 1") +
        ", 'it is over', md5(random()::text))");
  }
  void Pass(Notifier& notifier, bool fresh = true, std::int64_t epoch = 0) {
    auto db = Connect("cigri notifier");
    module::Step step{*db, config_, epoch, 1, fresh, waker_, conninfo()};
    notifier.Pass(step);
  }
  std::string States() {
    return Sql("SELECT coalesce(string_agg(state, ' ' ORDER BY id), '') FROM notifications")[0][0]
        .c_str();
  }

  std::string dir_;
  Config config_;
  test::TestWaker waker_;
};

// OpenSMTPD has one control socket for each host: tests start it one after the other.
class MailServer {
 public:
  explicit MailServer(const std::string& dir) : port_(FreePort()) {
    // Its spool is one for each host, too: what an earlier test left there names another action.
    const std::string action = "in" + RandomHex(8);
    std::ofstream(dir + "/smtpd.conf")
        << "table users { \"@site.org\" = \"nobody\" }\nlisten on 127.0.0.1 port " << port_
        << "\nlisten on socket\naction " << action << " mda \"cat >> " << dir
        << "/mbox\" virtual <users>\nmatch from any for domain \"site.org\" action " << action
        << "\n";
    pid_ = fork();
    if (pid_ == 0) {
      setpgid(0, 0);
      if (std::freopen((dir + "/smtpd.log").c_str(), "w", stderr) == nullptr) _exit(126);
      execl("/usr/sbin/smtpd", "smtpd", "-d", "-f", (dir + "/smtpd.conf").c_str(), nullptr);
      _exit(127);
    }
  }
  ~MailServer() {
    kill(-pid_, SIGTERM);
    waitpid(pid_, nullptr, 0);
  }
  int port() const { return port_; }
  bool Listens() const {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    const sockaddr_in address = Loopback(port_);
    const bool open =
        ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    ::close(fd);
    return open;
  }

 private:
  static sockaddr_in Loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }
  static int FreePort() {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = Loopback(0);
    socklen_t size = sizeof address;
    const bool bound = ::bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                       ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
    ::close(fd);
    return bound ? ntohs(address.sin_port) : 0;
  }
  int port_;
  pid_t pid_ = 0;
};

const char* WhyNoMailServer() {
  if (geteuid() != 0) return "smtpd starts as root";
  return access("/usr/sbin/smtpd", X_OK) == 0
             ? nullptr
             : "opensmtpd is not installed: this machine has another mail server";
}

// On an idle grid nothing else wakes it for half a minute.
TEST_F(NotifierPgTest, NewsWithinASecondOfTheLastPassAreLookedForWhenItIsOver) {
  Notifier notifier;
  Pass(notifier);
  EXPECT_EQ(waker_.delayed, 0);
  Pass(notifier, false);
  EXPECT_EQ(waker_.delayed, 1);
}

TEST_F(NotifierPgTest, MailGoesThroughARealServerOnce) {
  if (const char* why = WhyNoMailServer()) GTEST_SKIP() << why;
  const MailServer server(dir_);
  ASSERT_TRUE(test::Await([&] { return server.Listens(); })) << Read("smtpd.log");
  config_.Set("NOTIFICATIONS_SMTP_SERVER", "127.0.0.1");
  config_.Set("NOTIFICATIONS_SMTP_PORT", std::to_string(server.port()));
  config_.Set("NOTIFICATIONS_SMTP_FROM", "grid@site.org");
  Subscribe("mail", "alice@site.org");
  Subscribe("mail", "alice@nowhere.example");
  Event("FINISHED_CAMPAIGN");
  Notifier notifier;
  Pass(notifier);
  EXPECT_TRUE(test::Await([&] { return Times(Read("mbox"), "it is over") == 1; }))
      << Read("smtpd.log");
  const std::string mail = Read("mbox");
  EXPECT_EQ(Times(mail, "Subject: [CIGRI] (high): campaign 1 (test): FINISHED_CAMPAIGN\n"), 1)
      << mail;
  EXPECT_EQ(Times(mail, "\nTo: alice@site.org"), 1) << mail;
  EXPECT_EQ(Times(mail, "Auto-Submitted: auto-generated"), 1) << mail;
  EXPECT_EQ(States(), "sent failed") << "an address that the server refuses is not tried again";
  Notifier next;  // of the next leader
  Pass(next);
  EXPECT_EQ(States(), "sent failed");
  EXPECT_EQ(Times(Read("mbox"), "it is over"), 1) << Read("mbox") << Read("smtpd.log");
}

// tests/notifier/submission_server.py, until the end of the test.
class SubmissionServer {
 public:
  SubmissionServer(const std::string& dir, const test::Authority& authority) {
    pid_ = fork();
    if (pid_ != 0) return;
    execl("/usr/bin/python3", "python3", CIGRI_SOURCE_DIR "/tests/notifier/submission_server.py",
          dir.c_str(), authority.Certificate("server").c_str(), authority.Key("server").c_str(),
          nullptr);
    _exit(127);
  }
  ~SubmissionServer() {
    kill(pid_, SIGTERM);
    waitpid(pid_, nullptr, 0);
  }

 private:
  pid_t pid_ = 0;
};

TEST_F(NotifierPgTest, APasswordIsSentOverTlsToTheServerOfTheCertificateAndNowhereElse) {
  const test::Authority authority(File("ca"));
  authority.Issue("server");
  const SubmissionServer server(dir_, authority);
  ASSERT_TRUE(test::Await([&] { return Read("port").ends_with('\n'); }));
  config_.Set("NOTIFICATIONS_SMTP_SERVER", "127.0.0.1");
  config_.Set("NOTIFICATIONS_SMTP_PORT", std::string(Trim(Read("port"))));
  Subscribe("mail", "alice@site.org");
  Event("FINISHED_CAMPAIGN");
  const auto state_after_try = [&] {
    Sql("UPDATE notifications SET not_before = now()");
    Notifier notifier;
    Pass(notifier);
    return States() + ": " + Sql("SELECT coalesce(error, '') FROM notifications")[0][0].c_str();
  };
  EXPECT_EQ(state_after_try().rfind("waiting", 0), 0u) << "nobody has logged in";
  config_.Set("NOTIFICATIONS_SMTP_USER", "grid");
  config_.Set("NOTIFICATIONS_SMTP_PASSWORD", "secret");
  EXPECT_EQ(state_after_try().rfind("waiting", 0), 0u) << "its authority is not known";
  EXPECT_EQ(Read("said"), "") << "a stranger was told the password";
  config_.Set("NOTIFICATIONS_SMTP_CA", authority.ca());
  config_.Set("NOTIFICATIONS_SMTP_PASSWORD", "wrong");
  const std::string refused = state_after_try();
  EXPECT_EQ(refused.rfind("waiting", 0), 0u) << "an operator mends it: " << refused;
  config_.Set("NOTIFICATIONS_SMTP_PASSWORD", "secret");
  EXPECT_EQ(state_after_try(), "sent: ");
  EXPECT_EQ(Times(Read("mbox"), "it is over"), 1);
  EXPECT_EQ(Read("said"), "login grid wrong\nlogin grid secret\n");

  config_.Set("NOTIFICATIONS_SMTP_TLS", "tls");  // from the first byte on
  config_.Set("NOTIFICATIONS_SMTP_PORT", std::string(Trim(Read("tls_port"))));
  Event("FINISHED_CAMPAIGN");
  EXPECT_EQ(state_after_try(), "sent sent: ");
  EXPECT_EQ(Times(Read("mbox"), "it is over"), 2);
  EXPECT_EQ(Read("said"), "login grid wrong\nlogin grid secret\nlogin grid secret\n");
}

// It refuses lines of more than 998 bytes, as servers do.
TEST_F(NotifierPgTest, AServerTakesALongEventAndANameThatIsNotAscii) {
  const test::Authority authority(File("ca"));
  authority.Issue("server");
  const SubmissionServer server(dir_, authority);
  ASSERT_TRUE(test::Await([&] { return Read("port").ends_with('\n'); }));
  config_.Set("NOTIFICATIONS_SMTP_SERVER", "127.0.0.1");
  config_.Set("NOTIFICATIONS_SMTP_PORT", std::string(Trim(Read("port"))));
  config_.Set("NOTIFICATIONS_SMTP_USER", "grid");
  config_.Set("NOTIFICATIONS_SMTP_PASSWORD", "secret");
  config_.Set("NOTIFICATIONS_SMTP_CA", authority.ca());
  Subscribe("mail", "alice@site.org");
  Sql("UPDATE campaigns SET name = repeat('é', 90)");
  Sql("INSERT INTO events (class, code, campaign_id, message, fingerprint) VALUES "
      "('job', 'EXIT_ERROR', 1, repeat('é', 1200), 'x')");
  Notifier notifier;
  Pass(notifier);
  ASSERT_EQ(States(), "sent") << Sql("SELECT error FROM notifications")[0][0].c_str();
  const std::string mail = Read("mbox");
  EXPECT_TRUE(IsValidUtf8(mail)) << "each line is cut between characters";
  EXPECT_EQ(Times(mail, "\xC3\xA9"), 1000 + 90);
  EXPECT_GT(Times(mail, "=?UTF-8?Q?"), 5);
  for (const auto& line : Split(mail, '\n'))
    if (line.find("=?UTF-8") != line.npos) {
      EXPECT_LE(Trim(line).size(), 76u) << line;
      EXPECT_EQ(Times(line, "=C3"), Times(line, "=A9")) << line;
    }
}

TEST_F(NotifierPgTest, AServerWithoutTlsGetsNoPassword) {
  if (const char* why = WhyNoMailServer()) GTEST_SKIP() << why;
  const MailServer server(dir_);
  ASSERT_TRUE(test::Await([&] { return server.Listens(); })) << Read("smtpd.log");
  config_.Set("NOTIFICATIONS_SMTP_SERVER", "127.0.0.1");
  config_.Set("NOTIFICATIONS_SMTP_PORT", std::to_string(server.port()));
  config_.Set("NOTIFICATIONS_SMTP_USER", "grid");
  config_.Set("NOTIFICATIONS_SMTP_PASSWORD", "secret");
  Subscribe("mail", "alice@site.org");
  Event("FINISHED_CAMPAIGN");
  Notifier notifier;
  Pass(notifier);
  EXPECT_EQ(States(), "waiting");
  EXPECT_EQ(Count("notifications WHERE error LIKE '%STARTTLS%' OR error LIKE '%SSL%'"), 1)
      << Sql("SELECT error FROM notifications")[0][0].c_str();
}

TEST_F(NotifierPgTest, SendmailOfTheHostTakesMailToo) {
  if (const char* why = WhyNoMailServer()) GTEST_SKIP() << why;
  const MailServer server(dir_);
  ASSERT_TRUE(test::Await([&] { return server.Listens(); })) << Read("smtpd.log");
  config_.Set("NOTIFICATIONS_SENDMAIL", "/usr/sbin/sendmail");
  config_.Set("NOTIFICATIONS_SMTP_FROM", "grid@site.org");
  Subscribe("mail", "alice@site.org");
  Subscribe("mail", "-bp@site.org");  // would be an option
  Event("FINISHED_CAMPAIGN");
  Notifier notifier;
  Pass(notifier);
  EXPECT_EQ(States(), "sent failed") << Read("smtpd.log");
  EXPECT_TRUE(test::Await([&] { return Times(Read("mbox"), "it is over") == 1; }))
      << Read("smtpd.log");
  EXPECT_EQ(Times(Read("mbox"), "\r"), 0);
}

TEST_F(NotifierPgTest, AWebhookOfTheOperatorGetsJson) {
  http::GuardServer server;
  std::mutex mutex;
  std::vector<std::string> bodies;
  int status = 503;
  server.Post("/hook", [&](const httplib::Request& request, httplib::Response& response) {
    const std::lock_guard lock(mutex);
    bodies.push_back(request.get_header_value("Content-Type") + " " + request.body);
    response.status = status;
    if (status == 302) response.set_header("Location", "https://login.site.org/");
  });
  std::string why;
  ASSERT_TRUE(server.BindTcp("127.0.0.1", 0, &why)) << why;
  std::thread serving([&] { server.Serve(); });
  server.AwaitServing();
  config_.Set("NOTIFICATIONS_COMMAND", "");
  config_.Set("NOTIFICATIONS_WEBHOOK",
              "http://127.0.0.1:" + std::to_string(server.port()) + "/hook");
  Subscribe("jabber", "alice@site");
  Event("FINISHED_CAMPAIGN");
  for (const int answer : {503, 200, 302}) {
    if (answer == 302) Event("FINISHED_CAMPAIGN");
    {
      const std::lock_guard lock(mutex);
      status = answer;
    }
    Sql("UPDATE notifications SET not_before = now()");
    Notifier notifier;
    Pass(notifier);
    EXPECT_EQ(States(), answer == 503 ? "waiting" : answer == 200 ? "sent" : "sent failed");
  }
  EXPECT_EQ(Count("notifications WHERE error LIKE '%answers 302, to https://login.site.org/: %'"),
            1)
      << "what points elsewhere has taken nothing";
  server.Stop();
  serving.join();
  ASSERT_EQ(bodies.size(), 3u);
  EXPECT_EQ(bodies[1].rfind("application/json {\"campaign\":1,\"codes\":[\"FINISHED_", 0), 0u)
      << bodies[1];
}

TEST_F(NotifierPgTest, ASubscriptionToOneCampaignIsNoSecondMessageAndMissesNothing) {
  GivenCampaign({});
  Event("CANARY_FAILED", "campaign");
  Sql("UPDATE events SET date_open = now() - interval '1 minute'");
  Sql("INSERT INTO user_notifications (grid_user, type, identity, severity, campaign_id) VALUES "
      "('alice', 'jabber', 'one@site', 'high', 1), ('alice', 'jabber', 'two@site', 'high', 2), "
      "('alice', 'jabber', 'all@site', 'high', 1)");
  Subscribe("jabber", "all@site", "high");
  Event("FINISHED_CAMPAIGN");
  Notifier notifier;
  Pass(notifier);
  const std::string sent = Read("sent");
  EXPECT_EQ(Times(sent, "one@site"), 2) << "once in \"to\", once in how to end it: " << sent;
  EXPECT_EQ(Times(sent, "two@site"), 0) << "the other campaign";
  EXPECT_EQ(Count("notifications AS q JOIN user_notifications AS n ON n.id = subscription_id "
                  "WHERE identity = 'all@site' AND code = 'FINISHED_CAMPAIGN'"),
            1)
      << "an address hears of an event once";
  EXPECT_EQ(Count("notifications AS q JOIN user_notifications AS n ON n.id = subscription_id "
                  "WHERE identity = 'one@site'"),
            2)
      << "what came between the submission and --notify counts too";
  Sql("DELETE FROM campaigns WHERE id = 2");
  EXPECT_EQ(Count("user_notifications WHERE identity = 'two@site'"), 0);
}

TEST_F(NotifierPgTest, WhoSleepsHoldsNobodyUp) {
  Sql("INSERT INTO user_notifications (grid_user, type, identity, severity, quiet_hours) VALUES "
      "('alice', 'jabber', 'asleep@site', 'low', '0-24')");
  Sql("INSERT INTO events (class, code, campaign_id, fingerprint) SELECT 'notify', 'OVERDUE', 1, "
      "i::text FROM generate_series(1, 1500) AS i");
  Notifier notifier;
  Pass(notifier);
  Pass(notifier, true);
  Subscribe("jabber", "awake@site");
  Event("FINISHED_CAMPAIGN");
  Pass(notifier, true);
  Pass(notifier, true);
  EXPECT_EQ(Times(Read("sent"), "\"to\":\"awake@site\""), 1);
  EXPECT_EQ(Times(Read("sent"), "asleep@site"), 0);
  Sql("UPDATE user_notifications SET quiet_hours = ''");
  Pass(notifier, true);
  Pass(notifier, true);
  EXPECT_EQ(Times(Read("sent"), "\"to\":\"asleep@site\""), 2) << "in pieces of 1,000 events";
}

TEST_F(NotifierPgTest, ACommandThatHangsHoldsNoMailUp) {
  std::ofstream(File("sendmail")) << "#!/bin/sh\ncat >> " << File("mbox") << "\n";
  ASSERT_EQ(::chmod(File("sendmail").c_str(), 0755), 0);
  config_.Set("NOTIFICATIONS_SENDMAIL", File("sendmail"));
  config_.Set("NOTIFICATIONS_COMMAND", "echo >> " + File("tried") + "; exec sleep 100");
  Sql("INSERT INTO campaigns (id, grid_user, name, nb_params, first_task_id, jdl) OVERRIDING "
      "SYSTEM VALUE SELECT i, 'alice', 'c', 1, 1, '{}' FROM generate_series(100, 113) AS i");
  Subscribe("jabber", "alice@site");
  Sql("INSERT INTO events (class, code, campaign_id, fingerprint) SELECT 'notify', "
      "'FINISHED_CAMPAIGN', i, i::text FROM generate_series(100, 113) AS i");
  Subscribe("mail", "alice@site.org");
  Event("FINISHED_CAMPAIGN");
  Sql("UPDATE user_notifications SET created_at = now() - interval '1 minute'");
  Notifier notifier(std::chrono::seconds(1));
  Pass(notifier);
  EXPECT_EQ(Times(Read("tried"), "\n"), 1);
  EXPECT_EQ(Times(Read("mbox"), "Subject: "), 15);
  Pass(notifier);
  EXPECT_EQ(Times(Read("tried"), "\n"), 1) << "it is left alone for a minute";
  EXPECT_EQ(Count("notifications WHERE state = 'waiting' AND attempts = 0"), 14)
      << "what was not tried loses no attempt";
}

// Each row once, whatever number of subscriptions an address has: blocks, as times say nothing.
TEST_F(NotifierPgTest, WhatWaitsIsFoundInOnePieceOfWorkForEachRow) {
  const auto blocks = [&](int campaigns) {
    Sql("DELETE FROM user_notifications");
    Sql("DELETE FROM campaigns WHERE id >= 100");
    const std::string last = std::to_string(99 + campaigns);
    Sql("INSERT INTO campaigns (id, grid_user, name, nb_params, first_task_id, jdl) OVERRIDING "
        "SYSTEM VALUE SELECT i, 'alice', 'c', 1, 1, '{}' FROM generate_series(100, " +
        last + ") AS i");
    Sql("INSERT INTO user_notifications (grid_user, type, identity, severity, campaign_id) SELECT "
        "'alice', 'jabber', 'a@site', 'low', i FROM generate_series(100, " +
        last + ") AS i");
    Sql("INSERT INTO notifications (subscription_id, event_id, severity, code, message) SELECT "
        "id, id, 'high', 'X', '' FROM user_notifications");
    Sql("ANALYZE notifications, user_notifications, campaigns");
    const auto plan = nlohmann::json::parse(
        Sql("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " +
            ReplaceAll(std::string(sql::kWaitingNotifications.sql), "$1", "1000"))[0][0]
            .c_str());
    return plan[0]["Plan"]["Shared Hit Blocks"].get<int>();
  };
  const int some = blocks(200);
  EXPECT_LT(blocks(800), 8 * some) << "four times as many: 16 times the work when it is squared";
}

TEST_F(NotifierPgTest, ANewEventHasItsOwnAttemptsInAMessageWithAnOldOne) {
  config_.Set("NOTIFICATIONS_COMMAND", "false");
  Subscribe("jabber", "alice@site");
  Event("EXIT_ERROR", "job");
  Notifier notifier;
  Pass(notifier);
  Sql("UPDATE notifications SET attempts = 9, not_before = now()");
  Event("FINISHED_CAMPAIGN");
  Pass(notifier);
  EXPECT_EQ(States(), "failed waiting");
  EXPECT_EQ(Count("notifications WHERE state = 'waiting' AND attempts = 1 AND not_before < now() + "
                  "interval '3 minutes' AND error <> ''"),
            1);
}

TEST_F(NotifierPgTest, AServerThatIsAwayIsTriedAgain) {
  config_.Set("NOTIFICATIONS_SMTP_SERVER", "127.0.0.1");
  config_.Set("NOTIFICATIONS_SMTP_PORT", "1");
  Subscribe("mail", "alice@site.org");
  Event("FINISHED_CAMPAIGN");
  Notifier notifier;
  Pass(notifier);
  EXPECT_EQ(States(), "waiting");
  EXPECT_EQ(Count("notifications WHERE attempts = 1 AND not_before > now() + interval '1 minute' "
                  "AND error <> ''"),
            1);
}

TEST_F(NotifierPgTest, ACommandGetsJson) {
  Subscribe("jabber", "alice@jabber.site", "high");
  Event("EXIT_ERROR", "job");
  Event("PREEMPTED");       // medium
  Event("RESUMED", "log");  // for the record
  Event("CANARY_FAILED", "campaign");
  Notifier notifier;
  Pass(notifier);
  const std::string sent = Read("sent");
  EXPECT_EQ(Times(sent, "\"to\":\"alice@jabber.site\""), 1) << "one message: " << sent;
  EXPECT_EQ(Times(sent, "\"codes\":[\"EXIT_ERROR\",\"CANARY_FAILED\"]"), 1) << sent;
  EXPECT_EQ(Times(sent, "\"campaign\":1"), 1) << sent;
}

// The command delivers the message and then kills the notifier that waits for it.
TEST_F(NotifierPgTest, ANotifierKilledAfterTheMessageHadLeftSendsItNoSecondTime) {
  Subscribe("jabber", "alice@jabber.site");
  Event("FINISHED_CAMPAIGN");
  config_.Set("NOTIFICATIONS_COMMAND", "cat >> " + File("sent") + "; kill -9 $PPID");
  const pid_t pid = fork();
  if (pid == 0) {
    Notifier notifier;
    Pass(notifier);
    _exit(0);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status)) << status;
  EXPECT_EQ(States(), "sending");
  config_.Set("NOTIFICATIONS_COMMAND", "cat >> " + File("sent"));
  for (int i = 0; i < 2; ++i) {
    Notifier next;
    Pass(next);
  }
  EXPECT_EQ(Times(Read("sent"), "it is over"), 1) << Read("sent");
  EXPECT_EQ(States(), "unknown");
  Event("FINISHED_CAMPAIGN");
  Notifier next;
  Pass(next);
  EXPECT_EQ(Times(Read("sent"), "it is over"), 2) << "another event is another message";
}

TEST_F(NotifierPgTest, TheNotifierOfAFormerLeaderSendsNothing) {
  Subscribe("jabber", "alice@jabber.site");
  Event("FINISHED_CAMPAIGN");
  Sql("UPDATE grid SET epoch = 5");
  Notifier notifier;
  EXPECT_THROW(Pass(notifier, true, 4), module::StaleEpoch);
  EXPECT_EQ(Read("sent"), "");
  Pass(notifier, true, 5);
  EXPECT_EQ(Times(Read("sent"), "it is over"), 1);
}

// A thousand events that a subscription does not want came before the one that it wants.
TEST_F(NotifierPgTest, WhatNobodyWantsHoldsNothingBack) {
  Subscribe("jabber", "alice@site", "high");
  Sql("INSERT INTO events (class, code, campaign_id, fingerprint) SELECT 'notify', 'OVERDUE', 1, "
      "i::text FROM generate_series(1, 1500) AS i");
  Event("FINISHED_CAMPAIGN");
  Notifier notifier;
  Pass(notifier);
  EXPECT_EQ(Count("notifications"), 1);
  EXPECT_EQ(Times(Read("sent"), "it is over"), 1);
}

TEST_F(NotifierPgTest, OnlyOwnersAndAdministratorsHearAndOnlyOfWhatComesAfterwards) {
  Event("CANARY_FAILED", "campaign");
  Sql("UPDATE events SET date_open = now() - interval '1 minute'");
  Subscribe("jabber", "bob@site", "low", "bob");
  Subscribe("jabber", "alice@site");
  Subscribe("jabber", "root@site", "low", "%%admin%%");
  Event("FINISHED_CAMPAIGN");
  Event("CLUSTER_UNREACHABLE", "cluster", false);
  Notifier notifier;
  Pass(notifier);
  const std::string sent = Read("sent");
  EXPECT_EQ(Times(sent, "bob@site"), 0) << sent;
  EXPECT_EQ(Times(sent, "CANARY_FAILED"), 0) << "it came before";
  EXPECT_EQ(Times(sent, "\"to\":\"alice@site\""), 1) << sent;
  EXPECT_EQ(Times(sent, "\"to\":\"root@site\""), 1) << sent;
  Sql("DELETE FROM user_notifications WHERE grid_user = 'alice'");
  EXPECT_EQ(Count("notifications"), 1) << "who has unsubscribed gets nothing that waits";
}

}  // namespace
}  // namespace cigri::notifier
