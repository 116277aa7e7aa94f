// The strict reader of heads: what two readers could read in two ways is refused.
#include "http/head.h"

#include <gtest/gtest.h>

namespace cigri::http {
namespace {

int StatusOf(const std::string& text) {
  const auto head = ReadHead(text, {});
  return head ? head->status : -1;
}

TEST(ReadHeadTest, GivesWhatCameUndecoded) {
  const std::string text =
      "POST /a?b=%41 HTTP/1.1\r\nHost: x\r\nX-Name: \t%72oot \r\nrange: bytes=-,-\r\n"
      "Content-Length: 12\r\n\r\nbody";
  const auto head = ReadHead(text, {});
  ASSERT_TRUE(head);
  EXPECT_EQ(head->status, 0) << head->fault;
  EXPECT_EQ(head->method, "POST");
  EXPECT_EQ(head->target, "/a?b=%41");
  EXPECT_EQ(head->Value("x-name"), "%72oot");
  EXPECT_EQ(head->body_bytes, 12u);
  EXPECT_EQ(head->bytes, text.size() - 4);
  EXPECT_EQ(ForHttplib(*head, "host"),
            "POST /a?b=%41 HTTP/1.1\r\nX-Name: %2572oot\r\nContent-Length: 12\r\n\r\n")
      << "httplib makes thousands of parts of an answer in memory when Range names them";
}

TEST(ReadHeadTest, WaitsForTheEmptyLine) {
  const std::string text = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  for (std::size_t n = 0; n < text.size(); ++n) EXPECT_EQ(StatusOf(text.substr(0, n)), -1) << n;
  EXPECT_EQ(StatusOf(text), 0);
}

TEST(ReadHeadTest, RefusesWhatCouldBeReadInTwoWays) {
  const struct {
    int status;
    std::string head;
  } cases[] = {
      {0, "GET / HTTP/1.0\r\n"},
      {0, "OPTIONS * HTTP/1.1\r\n"},
      {0, "GET / HTTP/1.1\r\nContent-Length: 0\r\n"},
      {0, "GET / HTTP/1.1\r\nX-Empty:\r\n"},
      {400, "\r\nGET / HTTP/1.1\r\n"},
      {400, "GET /\r\n"},
      {400, "GET  / HTTP/1.1\r\n"},
      {400, "GET / a HTTP/1.1\r\n"},
      {400, "GET / HTTP/2.0\r\n"},
      {400, "GET http://x/ HTTP/1.1\r\n"},
      {400, std::string("GET /\0 HTTP/1.1\r\n", 17)},
      {501, "BREW / HTTP/1.1\r\n"},
      {501, "get / HTTP/1.1\r\n"},
      {414, "GET /" + std::string(9000, 'a') + " HTTP/1.1\r\n"},
      {400, "GET / HTTP/1.1\r\nName : x\r\n"},
      {400, "GET / HTTP/1.1\r\nName\r\n"},
      {400, "GET / HTTP/1.1\r\nA: b\r\n continued\r\n"},
      {400, "GET / HTTP/1.1\r\nA: b\nB: c\r\n"},
      {400, "GET / HTTP/1.1\r\nA: b\rc\r\n"},
      {400, "GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n"},
      {400, "GET / HTTP/1.1\r\nContent-Length: 1\r\n"},
      {400, "HEAD / HTTP/1.1\r\nContent-Length: 1\r\n"},
      {400, "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n"},
      {400, "POST / HTTP/1.1\r\nContent-Length: 1, 1\r\n"},
      {400, "POST / HTTP/1.1\r\nContent-Length: %31\r\n"},
      {400, "POST / HTTP/1.1\r\nContent-Length:\r\n"},
      {413, "POST / HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n"},
      {411, "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n"},
      {411, "POST / HTTP/1.1\r\nTransfer-Encoding: xchunked\r\nContent-Length: 1\r\n"},
      {415, "POST / HTTP/1.1\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n"},
      {431, "GET / HTTP/1.1\r\nA: " + std::string(9000, 'b') + "\r\n"},
      {431, "GET / HTTP/1.1\r\nA: " + std::string(40'000, 'b') + "\r\n"},
  };
  for (const auto& c : cases) EXPECT_EQ(StatusOf(c.head + "\r\n"), c.status) << c.head;
}

}  // namespace
}  // namespace cigri::http
