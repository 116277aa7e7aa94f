// What a server answers, measured while httplib's client reads it.
#pragma once
#include <httplib.h>

#include <array>
#include <chrono>
#include <optional>
#include <string>

namespace cigri::http {

/// httplib's client takes a head, a length of a chunk and a body of any size, however slowly they
/// come: what has no end would fill the memory, or keep the caller for good.
class AnswerMeter {
 public:
  /// `most_bytes` of a body that is kept; `silence` is what the caller waits for the next byte.
  void Begin(std::size_t most_bytes, std::chrono::milliseconds silence);
  /// So many bytes came. False: not to go on.
  bool Came(std::size_t n);
  /// The body that is kept has this length now. False: not to go on.
  bool Keeps(std::size_t bytes);
  /// What came was passed on to somebody who reads as it comes, and may wait for the next for long.
  void PassedOn();
  /// "has more than 1 MB"; empty: nothing is wrong with the answer.
  const std::string& why() const { return why_; }

 private:
  using Clock = std::chrono::steady_clock;
  std::size_t most_bytes_ = 0;
  std::chrono::milliseconds silence_{};
  std::optional<Clock::time_point> began_;
  std::size_t came_ = 0;  // since then
  std::size_t open_ = 0;  // since a piece of the body was last taken
  std::string why_;
};

/// One call over a socket that httplib has connected, `ssl` when it is TLS.
class AnswerStream final : public httplib::Stream {
 public:
  AnswerStream(int socket, ssl_st* ssl, std::chrono::microseconds read_timeout,
               std::chrono::microseconds write_timeout, AnswerMeter& meter)
      : socket_(socket),
        ssl_(ssl),
        read_timeout_(read_timeout),
        write_timeout_(write_timeout),
        meter_(meter) {}
  bool is_readable() const override;
  bool is_writable() const override;
  ssize_t read(char* to, std::size_t n) override;
  ssize_t write(const char* from, std::size_t n) override;
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return socket_; }

 private:
  bool Await(short events, std::chrono::microseconds longest) const;
  // As recv() and send(), after waiting as long as one may.
  ssize_t Receive(char* to, std::size_t n);
  ssize_t Send(const char* from, std::size_t n);
  // Whether OpenSSL is to be asked again after `result`.
  bool Again(int result) const;

  const int socket_;
  ssl_st* const ssl_;
  const std::chrono::microseconds read_timeout_, write_timeout_;
  AnswerMeter& meter_;
  std::array<char, 4096> ready_{};  // httplib reads a head byte by byte
  std::size_t at_ = 0, end_ = 0;
};

}  // namespace cigri::http
