// "Bad input and errors": what each kind of broken API means, for every driver. The message says
// which cluster, what, and what happened; nothing throws anything else, and nothing is taken for
// an answer that is none.
#include <gtest/gtest.h>
#include <httplib.h>

#include <filesystem>

#include "core/text.h"
#include "recorded_server.h"

namespace cigri::cluster {
namespace {

using test::BatchOf;
using test::ConfigOf;
using test::RawServer;
using test::RefOf;
using Why = CallFailed::Why;

const char* const kKinds[] = {"oar2", "oar3", "slurm"};

// What a poll of one job came to: the reason and the words.
std::pair<std::optional<Why>, std::string> Polled(const ClusterConfig& config) {
  const auto cluster = MakeCluster(config);
  PollRequest request;
  request.jobs = {RefOf("84_0", "cigri.12.g1.abcd")};
  try {
    const auto result = cluster->Poll(request);
    return {std::nullopt, "jobs " + std::to_string(result.jobs.size()) + " missing " +
                              std::to_string(result.missing.size())};
  } catch (const CallFailed& e) {
    return {e.why(), e.what()};
  }
}

// "doubt", "temporary"...: what became of a submission.
std::pair<std::string, std::string> Submitted(const ClusterConfig& config) {
  const auto cluster = MakeCluster(config);
  auto batch = BatchOf({"true"});
  batch.best_effort = false;  // Slurm: nothing is asked before
  try {
    cluster->Submit(batch);
    return {"taken", ""};
  } catch (const SubmitInDoubt& e) {
    return {"doubt", e.what()};
  } catch (const SubmitRefused& e) {
    static const char* const kWhy[] = {"batch", "user", "token", "limit", "bytes", "temporary"};
    return {kWhy[static_cast<int>(e.why())], e.what()};
  }
}

ClusterConfig At(const std::string& kind, int port) {
  auto config = ConfigOf(kind, port);
  config.call_timeout = std::chrono::milliseconds(300);
  return config;
}

std::string Http(const std::string& status, const std::string& body, std::size_t claimed = 0) {
  return "HTTP/1.1 " + status + "\r\nContent-Type: text/html\r\nContent-Length: " +
         std::to_string(claimed == 0 ? body.size() : claimed) + "\r\n\r\n" + body;
}

TEST(ErrorsTest, AnAnswerThatIsNoneIsNeverTakenForOne) {
  const std::string html = "<html><body><h1>Down for <b>maintenance</b></h1></body></html>";
  const struct {
    const char* what;
    std::string bytes;
    Why want;
    const char* words;  // part of the message
  } cases[] = {
      {"HTML", Http("200 OK", html), Why::kGarbage, "Down for maintenance"},
      {"garbage", Http("200 OK", "\x01\x02\xFF{["), Why::kGarbage, "no list"},
      {"an empty body", Http("200 OK", ""), Why::kGarbage, "(empty)"},
      {"JSON of something else", Http("200 OK", "{\"hello\":1}"), Why::kGarbage, "no list"},
      {"half a body", Http("200 OK", "{\"items\":[{\"id\":84", 500), Why::kTimeout,
       "no whole answer from http://127.0.0.1"},
      {"no HTTP", "220 mail.example ESMTP\r\n", Why::kTimeout, "127.0.0.1"},
      {"503", Http("503 Service Unavailable", html), Why::kServer,
       "HTTP 503 from http://127.0.0.1"},
      {"401", Http("401 Unauthorized", "no"), Why::kAuth, "HTTP 401"},
      {"414", Http("414 URI Too Long", html), Why::kServer, "HTTP 414"},
  };
  for (const auto* kind : kKinds)
    for (const auto& c : cases) {
      const RawServer server(c.bytes);
      const auto [why, words] = Polled(At(kind, server.port()));
      EXPECT_EQ(why, c.want) << kind << ", " << c.what << ": " << words;
      EXPECT_NE(words.find(c.words), words.npos) << kind << ", " << c.what << ": " << words;
      EXPECT_NE(words.find("froggy"), words.npos) << words;
    }
}

TEST(ErrorsTest, ASubmissionWithoutAWholeAnswerIsInDoubt) {
  const std::string html = "<html><h1>Internal Server Error</h1></html>";
  const std::string bytes[] = {Http("500 Internal Server Error", html),
                               Http("502 Bad Gateway", html),
                               Http("503 Service Unavailable", html),
                               Http("504 Gateway Timeout", html),
                               Http("201 Created", "{\"id\":", 500),
                               Http("200 OK", html),
                               Http("201 Created", ""),
                               ""};
  for (const auto* kind : kKinds)
    for (const auto& b : bytes) {
      const RawServer server(b);
      const auto [outcome, words] = Submitted(At(kind, server.port()));
      EXPECT_EQ(outcome, "doubt") << kind << ", " << b << ": " << words;
      EXPECT_NE(words.find("froggy"), words.npos) << words;
    }
}

TEST(ErrorsTest, SilenceIsATimeOutAndASubmissionIntoItADoubt) {
  for (const auto* kind : kKinds) {
    test::RecordedServer server;
    server.Hang("GET", "");
    server.Hang("POST", "");
    const auto [why, words] = Polled(At(kind, server.port()));
    EXPECT_EQ(why, Why::kTimeout) << kind << words;
    EXPECT_NE(words.find("limit 0.3 s"), words.npos) << words;
    EXPECT_EQ(Submitted(At(kind, server.port())).first, "doubt") << kind;
  }
}

TEST(ErrorsTest, WhereNobodyListensNothingWasSubmitted) {
  int port = 0;
  {
    const RawServer gone("");
    port = gone.port();
  }
  for (const auto* kind : kKinds) {
    const auto [why, words] = Polled(At(kind, port));
    EXPECT_EQ(why, Why::kUnreachable) << kind;
    EXPECT_NE(words.find("cannot connect to http://127.0.0.1"), words.npos) << words;
    EXPECT_EQ(Submitted(At(kind, port)).first, "temporary") << kind;
  }
}

TEST(ErrorsTest, AWrongPasswordIsReportedAndTheRightOneIsSent) {
  test::RecordedServer server;
  server.On("GET", "", {401, "<h1>Unauthorized</h1>", "text/html"});
  auto config = At("oar2", server.port());
  config.auth_type = "basic";
  config.auth_password = "secret";
  const auto [why, words] = Polled(config);
  EXPECT_EQ(why, Why::kAuth);
  EXPECT_EQ(words.find("secret"), words.npos) << "never printed";
  server.On("POST", "", {401, "<h1>Unauthorized</h1>", "text/html"});
  const auto [outcome, reported] = Submitted(config);
  EXPECT_EQ(outcome, "user");
  EXPECT_NE(
      reported.find(
          "cluster froggy does not accept us as user alice: check auth_type, user and password"),
      reported.npos)
      << reported;
  EXPECT_EQ(server.requests().at(0).Header("Authorization"), "Basic YWxpY2U6c2VjcmV0");
}

// Certificates as an operator makes them: an authority, and what it has signed for `name`.
class TlsTest : public testing::Test {
 protected:
  TlsTest() {
    char folder[] = "/tmp/cigri-tls-XXXXXX";
    folder_ = mkdtemp(folder);
    Make(
        "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=authority -keyout ca.key -out ca.pem");
  }
  ~TlsTest() override {
    if (server_) server_->stop();
    if (thread_.joinable()) thread_.join();
    std::filesystem::remove_all(folder_);
  }
  std::string File(const std::string& name) const { return folder_ + "/" + name; }
  void Make(const std::string& openssl) const {
    ASSERT_EQ(std::system(("cd " + folder_ + " && openssl " + openssl + " 2>/dev/null").c_str()),
              0);
  }
  void Sign(const std::string& name, const std::string& alternative) const {
    Make("req -newkey rsa:2048 -nodes -subj /CN=" + name + " -addext subjectAltName=" +
         alternative + " -keyout " + name + ".key -out " + name + ".csr");
    Make("x509 -req -days 2 -copy_extensions copy -in " + name +
         ".csr -CA ca.pem -CAkey ca.key -CAcreateserial -out " + name + ".pem");
  }
  // A server with the certificate of `name`; `clients`: it wants one of them too.
  int Serve(const std::string& name, bool clients) {
    server_ = std::make_unique<httplib::SSLServer>(File(name + ".pem").c_str(),
                                                   File(name + ".key").c_str(),
                                                   clients ? File("ca.pem").c_str() : nullptr);
    server_->Get(".*", [](const httplib::Request&, httplib::Response& r) {
      r.set_content("{\"items\":[],\"total\":0,\"jobs\":[]}", "application/json");
    });
    const int port = server_->bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_->listen_after_bind(); });
    while (!server_->is_running()) std::this_thread::yield();
    return port;
  }
  ClusterConfig Https(const std::string& kind, int port) const {
    auto config = At(kind, port);
    config.call_timeout = std::chrono::seconds(5);
    config.api_url = ReplaceAll(config.api_url, "http:", "https:");
    config.options["ca_file"] = File("ca.pem");
    return config;
  }
  std::string folder_;
  std::unique_ptr<httplib::SSLServer> server_;
  std::thread thread_;
};

TEST_F(TlsTest, ACertificateOfAnotherHostIsNotTrusted) {
  Sign("other", "DNS:other.example");
  const int port = Serve("other", false);
  for (const auto* kind : kKinds) {
    auto config = Https(kind, port);
    const auto [why, words] = Polled(config);
    EXPECT_EQ(why, Why::kUnreachable) << words;
    EXPECT_NE(words.find("certificate"), words.npos) << words;
    EXPECT_EQ(Submitted(config).first, "temporary") << kind;
    config.options["verify_tls"] = false;
    EXPECT_EQ(Polled(config).first, std::nullopt) << "only when the operator says so";
  }
}

TEST_F(TlsTest, ACertificateOfAnUnknownAuthorityIsNotTrusted) {
  Sign("here", "IP:127.0.0.1");
  const int port = Serve("here", false);
  for (const auto* kind : kKinds) {
    auto config = Https(kind, port);
    EXPECT_EQ(Polled(config).first, std::nullopt) << Polled(config).second;
    config.options.erase("ca_file");  // the host's own list does not have it
    EXPECT_EQ(Polled(config).first, Why::kUnreachable) << kind;
  }
}

TEST_F(TlsTest, AServerThatWantsOurCertificateGetsIt) {
  Sign("here", "IP:127.0.0.1");
  Sign("grid", "DNS:grid.example");
  const int port = Serve("here", true);
  for (const auto* kind : kKinds) {
    auto config = Https(kind, port);
    config.auth_type = "cert";
    EXPECT_NE(Polled(config).first, std::nullopt) << kind << ": without ours there is no call";
    EXPECT_NE(Submitted(config).first, "taken");
    config.options["client_cert_file"] = File("grid.pem");
    config.options["client_key_file"] = File("grid.key");
    EXPECT_EQ(Polled(config).first, std::nullopt) << Polled(config).second;
    config.options["client_key_file"] = File("nowhere.key");
    const auto [why, words] = Polled(config);
    EXPECT_NE(why, std::nullopt);
    EXPECT_NE(words.find("froggy"), words.npos) << words;
  }
}

// A limiter that lets nothing through.
class ClosedLimiter : public CallLimiter {
 public:
  void Before(Clock::time_point) override { throw CallFailed(Why::kBusy, "not now", 9); }
  void After(bool, const std::string&) override {}
  double WaitFor(int) override { return 9; }
  int ceiling() override { return 1; }
};

TEST(ErrorsTest, WhatTheLimiterDoesNotLetThroughIsNeverSentAndNeverInDoubt) {
  for (const auto* kind : kKinds) {
    test::RecordedServer server;
    auto config = At(kind, server.port());
    config.limiter = std::make_shared<ClosedLimiter>();
    EXPECT_EQ(Submitted(config).first, "temporary") << kind;
    EXPECT_EQ(Polled(config).first, Why::kBusy) << kind;
    EXPECT_TRUE(server.requests().empty()) << kind;
  }
}

class ForgetfulLimiter : public ClosedLimiter {
 public:
  void Before(Clock::time_point) override {}
  void After(bool, const std::string&) override { throw CallFailed(Why::kBusy, "no database", 1); }
};

// It was taken for a refusal, and the same tasks were sent again.
TEST(ErrorsTest, AfterAPostNothingIsARefusalButTheAnswer) {
  for (const auto* kind : kKinds) {
    test::RecordedServer server;
    auto config = At(kind, server.port());
    config.limiter = std::make_shared<ForgetfulLimiter>();
    EXPECT_EQ(Submitted(config).first, "doubt") << kind;
  }
}

TEST(ErrorsTest, NoPostStartsAfterItsTime) {
  for (const auto* kind : kKinds) {
    test::RecordedServer server;
    const auto cluster = MakeCluster(At(kind, server.port()));
    auto batch = BatchOf({"true"});
    batch.best_effort = false;
    batch.send_by = std::chrono::steady_clock::now();
    try {
      cluster->Submit(batch);
      ADD_FAILURE() << kind << " sent it";
    } catch (const SubmitRefused& e) {
      EXPECT_EQ(e.why(), SubmitRefused::Why::kTemporary) << e.what();
    }
    EXPECT_TRUE(server.Asked("POST", "").empty()) << kind;
  }
}

// The fuzzer of feeds found it: the poller would have asked without end.
TEST(ErrorsTest, AListOfALocalClusterThatDoesNotEndIsGarbage) {
  for (const bool new_token : {false, true}) {
    int pages = 0;
    test::RecordedServer server;
    server.OnEach("GET", "/changes", [&](const auto&) {
      pages += new_token || pages == 0;
      return test::Says({{"full", true},
                         {"more", true},
                         {"token", "7." + std::to_string(pages)},
                         {"time", 1},
                         {"jobs", nlohmann::json::array()}});
    });
    auto config = ConfigOf("local", server.port());
    config.api_url = "http://127.0.0.1:" + std::to_string(server.port());
    const auto [why, message] = Polled(config);
    EXPECT_EQ(why, Why::kGarbage) << message;
    EXPECT_NE(message.find("its list of jobs does not end"), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace cigri::cluster
