#include "http/request_stream.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace cigri::http {

RequestStream::RequestStream(const Connection& connection, const Limits& limits)
    : connection_(connection), limits_(limits) {
  const Head& head = *connection.head;
  const bool gathered = head.body_bytes <= kGatheredBytes;
  const std::string_view body =
      std::string_view(connection.bytes).substr(head.bytes, head.body_bytes);
  // The poller has asked for a gathered body itself.
  ready_ = ForHttplib(head, gathered ? "Expect" : "");
  ready_ += body;
  rest_ = head.body_bytes - body.size();
}

bool RequestStream::is_readable() const {
  return at_ < ready_.size() || rest_ == 0 || connection_.channel->HasPending() || Await(POLLIN, Deadline());
}

bool RequestStream::is_writable() const {
  return mute_ || Await(POLLOUT, Clock::now() + limits_.write_timeout);
}

ssize_t RequestStream::read(char* to, std::size_t n) {
  if (at_ < ready_.size()) {
    const std::size_t k = std::min(n, ready_.size() - at_);
    std::memcpy(to, ready_.data() + at_, k);
    at_ += k;
    return static_cast<ssize_t>(k);
  }
  if (rest_ == 0) return 0;
  ssize_t k;
  do {
    if (!connection_.channel->HasPending() && !Await(POLLIN, Deadline())) return -1;
    k = connection_.channel->Receive(to, std::min(n, rest_));
  } while (k < 0 && (errno == EINTR || errno == EAGAIN));
  if (k > 0) {
    rest_ -= static_cast<std::size_t>(k);
    received_ += static_cast<std::size_t>(k);
  }
  return k;
}

ssize_t RequestStream::write(const char* from, std::size_t n) {
  for (std::size_t done = 0; done < n && !mute_;) {
    if (!is_writable()) return -1;
    const ssize_t k = connection_.channel->Send(from + done, n - done);
    if (k < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (k < 0) return -1;
    done += static_cast<std::size_t>(k);
  }
  return static_cast<ssize_t>(n);
}

void RequestStream::get_remote_ip_and_port(std::string& ip, int& port) const {
  ip = connection_.peer.address;
  port = -1;  // nobody asks for it
}

RequestStream::Clock::time_point RequestStream::Deadline() const {
  return begin_ + limits_.request_deadline +
         std::chrono::milliseconds(received_ * 1000 / limits_.least_bytes_per_s);
}

bool RequestStream::Await(short events, Clock::time_point end) const {
  for (;;) {
    const auto ms =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    if (ms <= 0) return false;
    pollfd f{connection_.socket, events, 0};
    const int n = ::poll(&f, 1, static_cast<int>(std::min<long>(ms, 60000)));
    if (n > 0) return true;
    if (n < 0 && errno != EINTR) return false;
  }
}

}  // namespace cigri::http
