// How tools ask an API that dies while it answers, or that is not there.
#include "tools/common/api.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>

#include "core/error.h"
#include "core/text.h"

namespace cigri::tools {
namespace {

// All of a request: what is left unread when its connection is closed costs the client the answer.
bool ReadRequest(int fd) {
  std::string text;
  for (;;) {
    char bytes[4096];
    const auto n = read(fd, bytes, sizeof bytes);
    if (n <= 0) return false;
    text.append(bytes, static_cast<std::size_t>(n));
    const auto end = text.find("\r\n\r\n"), length = text.find("Content-Length: ");
    const int body = length < end ? std::atoi(text.c_str() + length + 16) : 0;
    if (end != text.npos && text.size() >= end + 4 + static_cast<std::size_t>(body)) return true;
  }
}

// Ends the first connection after the request has come, and answers on the second.
class DyingApi {
 public:
  DyingApi() {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    path_.copy(name.sun_path, sizeof name.sun_path - 1);
    EXPECT_EQ(bind(socket_, reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
    EXPECT_EQ(listen(socket_, 8), 0);
    thread_ = std::thread([this] {
      for (int fd; (fd = accept(socket_, nullptr, nullptr)) >= 0; close(fd)) {
        if (!ReadRequest(fd) || ++asked_ == 1) continue;
        const std::string answer =
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n"
            "{\"n\": 12345";
        if (write(fd, answer.data(), answer.size()) < 0 || write(fd, "}", 1) < 0) continue;
      }
    });
  }
  ~DyingApi() {
    shutdown(socket_, SHUT_RDWR);
    thread_.join();
    close(socket_);
    unlink(path_.c_str());
  }
  std::string address() const { return "unix:" + path_; }
  int asked() const { return asked_; }

 private:
  const std::string path_ = "/tmp/cigri-api-" + RandomHex(6);
  const int socket_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::atomic<int> asked_{0};
  std::thread thread_;
};

TEST(ApiTest, AReadThatWasCutIsAskedAgainAndAChangeIsNot) {
  DyingApi read;
  EXPECT_EQ(Api(read.address()).Get("/campaigns").status, 200);
  EXPECT_EQ(read.asked(), 2);

  DyingApi changed;
  try {
    Api(changed.address()).Delete("/campaigns/1");
    ADD_FAILURE() << "it was answered";
  } catch (const Fatal& e) {
    EXPECT_NE(std::string(e.what()).find("has ended the connection"), std::string::npos) << e.what();
  }
  EXPECT_EQ(changed.asked(), 1) << "it may have been carried out";
}

TEST(ApiTest, WhatIsTakenOnceIsSentAgainWhenItsAnswerWasCut) {
  DyingApi cut;
  EXPECT_EQ(Api(cut.address()).PostOnce("/campaigns", "{}").status, 200);
  EXPECT_EQ(cut.asked(), 2);
}

TEST(ApiTest, WhereNoneIsTheHintFitsTheAddress) {
  const auto hint = [](const std::string& address) {
    try {
      Api(address).Get("/campaigns");
      return std::string("it was answered");
    } catch (const Fatal& e) {
      return e.hint();
    }
  };
  EXPECT_NE(hint("unix:/nowhere/api.sock").find("`cigri up`"), std::string::npos);
  EXPECT_NE(hint("http://127.0.0.1:1").find("is this the address"), std::string::npos);
}

}  // namespace
}  // namespace cigri::tools
