// What one user may hold or send without end, and what an honest user feels of it: the 99th
// percentile of his requests stays below three times its idle value, both measured in one run, in
// turns.
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "tests/api/api_fixture.h"

namespace cigri::test {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kRounds = 3, kRequests = 500;
constexpr double kMostRatio = 3;
constexpr uid_t kNobody = 65534;

// What an attacker holds: sockets, closed with it, and threads, stopped with it.
class Attack {
 public:
  explicit Attack(std::string socket) : socket_(std::move(socket)) {}
  ~Attack() {
    threads_.clear();
    for (const int s : sockets_) ::close(s);
  }
  int Dial() const {
    sockaddr_un a{};
    a.sun_family = AF_UNIX;
    std::strcpy(a.sun_path, socket_.c_str());
    const int s = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    timeval limit{2, 0};
    ::setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    ::connect(s, reinterpret_cast<sockaddr*>(&a), sizeof a);
    return s;
  }
  // `n` connections that stay open after `text`.
  void Hold(int n, const std::string& text) {
    for (int i = 0; i < n; ++i) {
      sockets_.push_back(Dial());
      ::send(sockets_.back(), text.data(), text.size(), MSG_NOSIGNAL);
    }
  }
  // `n` threads that send `text` on new connections, as fast as they are answered; `as`: they have
  // this effective user (the call changes one thread).
  void Repeat(int n, const std::string& text, uid_t as = geteuid()) {
    for (int i = 0; i < n; ++i)
      threads_.emplace_back([this, text, as](const std::stop_token& stop) {
        ASSERT_EQ(::syscall(SYS_setresuid, -1, as, -1), 0);
        char answer[4096];
        while (!stop.stop_requested()) {
          const int s = Dial();
          ::send(s, text.data(), text.size(), MSG_NOSIGNAL);
          while (::recv(s, answer, sizeof answer, 0) > 0) {
          }
          ::close(s);
        }
      });
  }

 private:
  std::string socket_;
  std::vector<int> sockets_;
  std::vector<std::jthread> threads_;
};

std::string Request(const std::string& line, const std::string& more = "",
                    const std::string& body = "") {
  return line + " HTTP/1.1\r\nHost: x\r\nX-Cigri-User: bob\r\nConnection: close\r\n" + more +
         "\r\n" + body;
}

class UnderAttackTest : public ApiTest {
 protected:
  void SetUp() override {
    ApiTest::SetUp();
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    campaign_ = Submit();
  }
  void Sample(std::vector<double>& ms) {
    for (int i = 0; i < kRequests; ++i) {
      const auto begin = Clock::now();
      ASSERT_EQ(Ask("alice", "GET", "/campaigns/" + std::to_string(campaign_)).status, 200);
      ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
    }
  }
  static double P99(std::vector<double> ms) {
    std::sort(ms.begin(), ms.end());
    return ms.at(ms.size() * 99 / 100);
  }
  // Other work on this machine only adds to either side: one of three measurements must be good.
  void ExpectHonestFeelsLittle(const char* what, const std::function<void(Attack&)>& start) {
    double ratio = 0;
    for (int attempt = 0; attempt < 3; ++attempt) {
      std::vector<double> idle, attacked;
      for (int round = 0; round < kRounds; ++round) {
        Sample(idle);
        Attack attack(Socket());
        start(attack);
        Sample(attacked);
      }
      ratio = P99(attacked) / P99(idle);
      std::printf("%-40s p99 %6.2f ms idle, %6.2f ms attacked: %.2f times\n", what, P99(idle),
                  P99(attacked), ratio);
      if (ratio < kMostRatio) return;
    }
    EXPECT_LT(ratio, kMostRatio) << what;
  }
  std::int64_t campaign_ = 0;
};

TEST_F(UnderAttackTest, HalfSentRequests) {
  ExpectHonestFeelsLittle("300 half-sent requests", [](Attack& attack) {
    attack.Hold(300, "GET /campaigns HTTP/1.1\r\nX-Cigri-User: bob\r\nX-A: ");
  });
}

TEST_F(UnderAttackTest, HalfSentBodies) {
  ExpectHonestFeelsLittle("300 half-sent bodies", [](Attack& attack) {
    attack.Hold(300,
                "POST /campaigns HTTP/1.1\r\nHost: x\r\nX-Cigri-User: bob\r\n"
                "Content-Length: 1000000\r\n\r\n");
  });
}

TEST_F(UnderAttackTest, LongPolls) {
  const std::string path = "/campaigns/" + std::to_string(campaign_) + "/progress";
  const std::string token = Ask("bob", "GET", path).body["token"];
  ExpectHonestFeelsLittle("600 long polls", [&](Attack& attack) {
    attack.Hold(600, "GET " + path + "?wait=60000&seen=" + token +
                         " HTTP/1.1\r\nHost: x\r\nX-Cigri-User: bob\r\n\r\n");
  });
}

TEST_F(UnderAttackTest, KeptConnections) {
  ExpectHonestFeelsLittle("300 kept connections", [](Attack& attack) {
    attack.Hold(300, "GET /health HTTP/1.1\r\nHost: x\r\nX-Cigri-User: bob\r\n\r\n");
  });
}

TEST_F(UnderAttackTest, RequestsWithoutPause) {
  ExpectHonestFeelsLittle("requests from 4 threads",
                          [](Attack& attack) { attack.Repeat(4, Request("GET /campaigns")); });
}

TEST_F(UnderAttackTest, RefusedHeads) {
  std::string many;
  for (int i = 0; i < 2000; ++i) many += "X-" + std::to_string(i) + ": 0123456789\r\n";
  ExpectHonestFeelsLittle("heads of 2,000 lines from 4 threads", [&](Attack& attack) {
    // What the proxy hands on is the proxy's own.
    attack.Repeat(4, Request("GET /campaigns", many), geteuid() == 0 ? kNobody : geteuid());
  });
}

TEST_F(UnderAttackTest, LargeJdlsFullOfFaults) {
  std::string jdl = R"({"name":"n","clusters":{"alpha":{}},"exec_file":"x","params":[)";
  for (int i = 0; i < 20'000; ++i) jdl += R"("\u0000",)";
  jdl += "1]}";
  ExpectHonestFeelsLittle("JDLs of 180 kB from 2 threads", [&](Attack& attack) {
    attack.Repeat(2, Request("POST /campaigns",
                             "Content-Type: application/json\r\nContent-Length: " +
                                 std::to_string(jdl.size()) + "\r\n",
                             jdl));
  });
}

}  // namespace
}  // namespace cigri::test
