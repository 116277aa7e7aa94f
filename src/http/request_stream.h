// One request as httplib reads it, and the way of its answer.
#pragma once
#include <httplib.h>

#include <chrono>
#include <string>

#include "http/limits.h"
#include "http/poller.h"

namespace cigri::http {

/// Gives the head and what has arrived of the body from memory, and the rest of a long body from
/// the socket, within its deadline. It ends where the request ends.
class RequestStream final : public httplib::Stream {
 public:
  RequestStream(const Connection& connection, const Limits& limits);
  bool is_readable() const override;
  bool is_writable() const override;
  ssize_t read(char* to, std::size_t n) override;
  ssize_t write(const char* from, std::size_t n) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return connection_.socket; }
  /// From now on nothing is sent: the answer is not this one.
  void Mute() { mute_ = true; }
  /// Reading goes on at the socket, at the pace of the client.
  bool awaits_client() const { return rest_ > 0; }
  /// The bytes of the body that were not read.
  std::size_t rest() const { return rest_ + (ready_.size() - at_); }

 private:
  using Clock = std::chrono::steady_clock;
  bool Await(short events, Clock::time_point end) const;
  Clock::time_point Deadline() const;
  const Connection& connection_;
  const Limits& limits_;
  std::string ready_;     // the head, and the gathered part of the body
  std::size_t at_ = 0;    // how far it is read
  std::size_t rest_ = 0;  // of the body, still to come from the socket
  std::size_t received_ = 0;
  bool mute_ = false;
  const Clock::time_point begin_ = Clock::now();
};

}  // namespace cigri::http
