// The guarded server with a certificate (API_TLS_CERT).
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/error.h"
#include "core/text.h"
#include "http/client.h"
#include "http/server.h"
#include "tests/support/certificate.h"

namespace cigri::http {
namespace {

class TlsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    authority_.Issue("server");
    tls_ = std::make_shared<TlsContext>(authority_.Certificate("server"), authority_.Key("server"));
    Limits limits;
    limits.max_request_bytes = 8 << 20;
    limits.stranger_deadline = Patience();
    limits.connections_per_caller = 200;
    server_ = std::make_unique<GuardServer>(limits);
    server_->tls = tls_;
    server_->Post("/echo", [](const httplib::Request& q, httplib::Response& r) {
      r.set_content(q.body, "text/plain");
    });
    server_->Get("/who", [](const httplib::Request& q, httplib::Response& r) {
      r.set_content(PeerOf(q).address, "text/plain");
    });
    std::string why;
    ASSERT_TRUE(server_->BindTcp("127.0.0.1", 0, &why)) << why;
    thread_ = std::thread([this] { server_->Serve(); });
    server_->AwaitServing();
  }
  void TearDown() override {
    server_->Stop();
    thread_.join();
    std::filesystem::remove_all(dir_);
  }

  // With strangers. A handshake takes long on a machine that is busy.
  virtual std::chrono::milliseconds Patience() const { return std::chrono::seconds(10); }
  Client NewClient(const std::string& ca, const std::string& scheme = "https") const {
    Options options;
    options.ca_file = ca;
    return Client(Endpoint::Parse(scheme + "://localhost:" + std::to_string(server_->port())),
                  options);
  }
  int Dial() const {
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_port = htons(static_cast<std::uint16_t>(server_->port()));
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int s = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    timeval limit{20, 0};
    ::setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    EXPECT_EQ(::connect(s, reinterpret_cast<sockaddr*>(&a), sizeof a), 0);
    return s;
  }
  // The serial number of the certificate that a new connection gets.
  std::string Served() const {
    const std::string file = dir_ + "/served";
    const std::string command = "openssl s_client -connect 127.0.0.1:" +
                                std::to_string(server_->port()) +
                                " </dev/null 2>/dev/null | openssl x509 -noout -serial > " + file;
    EXPECT_EQ(std::system(command.c_str()), 0);
    std::string serial;
    std::ifstream(file) >> serial;
    return serial;
  }

  const std::string dir_ = std::filesystem::temp_directory_path() / ("cigri-tls-" + RandomHex(6));
  const test::Authority authority_{dir_};
  std::shared_ptr<TlsContext> tls_;
  std::unique_ptr<GuardServer> server_;
  std::thread thread_;
};

TEST_F(TlsTest, AClientThatTrustsTheAuthorityIsServed) {
  auto client = NewClient(authority_.ca());
  // Below and above a record of TLS, and above what the poller gathers.
  for (const std::size_t size : {0, 1, 20'000, 5'000'000}) {
    const std::string body(size, 'x');
    const auto answer = client.Post("/echo", body, "text/plain");
    EXPECT_TRUE(answer.ok()) << size << ": " << answer.error << answer.status;
    EXPECT_TRUE(answer.body == body) << size;
  }
  EXPECT_EQ(client.Get("/who").body, "127.0.0.1");
}

TEST_F(TlsTest, AClientThatDoesNotTrustItSendsNothing) {
  const test::Authority other(dir_ + "/other");
  for (const std::string& ca : {other.ca(), std::string()}) {
    const auto answer = NewClient(ca).Post("/echo", "secret", "text/plain");
    EXPECT_EQ(answer.outcome, Outcome::kNotSent) << ca;
    EXPECT_NE(answer.error.find("is not to be trusted"), std::string::npos) << answer.error;
  }
}

TEST_F(TlsTest, ANewCertificateIsTakenAndNoRequestIsDropped) {
  const std::string before = Served();
  std::atomic<bool> over{false};
  std::atomic<int> served{0}, dropped{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < 4; ++i)
    clients.emplace_back([&, i] {
      auto kept = NewClient(authority_.ca());
      while (!over) {
        auto fresh = NewClient(authority_.ca());
        const auto answer = (i % 2 == 0 ? kept : fresh).Post("/echo", "x", "text/plain");
        ++(answer.ok() ? served : dropped);
      }
    });
  const auto await = [&](int more) {
    for (const int until = served + more; served < until && dropped == 0;) std::this_thread::yield();
  };
  await(20);
  EXPECT_FALSE(tls_->Changed());
  std::ofstream(authority_.Key("server")) << "half written";
  std::string why;
  EXPECT_TRUE(tls_->Changed());
  EXPECT_FALSE(tls_->Reload(&why));
  EXPECT_NE(why.find("server.key"), std::string::npos) << why;
  await(20);
  EXPECT_EQ(Served(), before) << "the present certificate stays";
  authority_.Issue("server");
  why.clear();
  EXPECT_TRUE(tls_->Reload(&why)) << why;
  await(20);
  over = true;
  for (auto& client : clients) client.join();
  EXPECT_EQ(dropped, 0);
  EXPECT_NE(Served(), before);
}

class ImpatientTlsTest : public TlsTest {
 protected:
  std::chrono::milliseconds Patience() const override { return std::chrono::milliseconds(500); }
};

TEST_F(ImpatientTlsTest, SilentAndPlainClientsHoldNobodyUp) {
  std::vector<int> silent;
  for (int i = 0; i < 50; ++i) silent.push_back(Dial());
  EXPECT_TRUE(NewClient(authority_.ca()).Get("/who").ok());
  EXPECT_FALSE(NewClient("", "http").Get("/who").ok());
  char byte;
  for (const int s : silent) {
    EXPECT_LE(::recv(s, &byte, 1, 0), 0) << "closed after its time";
    ::close(s);
  }
}

TEST(TlsContextTest, FilesThatDoNotBelongTogetherAreRefusedByName) {
  const std::string dir = std::filesystem::temp_directory_path() / ("cigri-tls-" + RandomHex(6));
  const test::Authority authority(dir);
  authority.Issue("a");
  authority.Issue("b");
  try {
    TlsContext(authority.Certificate("a"), authority.Key("b"));
    FAIL() << "taken";
  } catch (const Fatal& e) {
    EXPECT_NE(std::string(e.what()).find("b.key"), std::string::npos) << e.what();
    EXPECT_EQ(e.code(), kExitConfig);
  }
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace cigri::http
