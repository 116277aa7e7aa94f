#include "http/answer_stream.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

namespace cigri::http {
namespace {

constexpr std::size_t kMostBetweenPieces = 1 << 20;
constexpr double kLeastBytesPerSecond = 10'000;

int Short(std::size_t n) { return static_cast<int>(std::min<std::size_t>(n, INT_MAX)); }

}  // namespace

void AnswerMeter::Begin(std::size_t most_bytes, std::chrono::milliseconds silence) {
  *this = {};
  most_bytes_ = most_bytes;
  silence_ = silence;
}

bool AnswerMeter::Came(std::size_t n) {
  came_ += n;
  open_ += n;
  const auto now = Clock::now();
  const std::chrono::duration<double> took = now - *(began_ = began_.value_or(now));
  if (open_ > kMostBetweenPieces)
    why_ = "has more than " + std::to_string(kMostBetweenPieces >> 20) + " MB of headers";
  else if (took > 10 * silence_ && static_cast<double>(came_) < kLeastBytesPerSecond * took.count())
    why_ = "comes too slowly";
  return why_.empty();
}

bool AnswerMeter::Keeps(std::size_t bytes) {
  open_ = 0;
  if (bytes > most_bytes_) why_ = "has more than " + std::to_string(most_bytes_ >> 20) + " MB";
  return why_.empty();
}

void AnswerMeter::PassedOn() {
  began_.reset();
  came_ = open_ = 0;
}

bool AnswerStream::is_readable() const {
  return at_ < end_ || (ssl_ != nullptr && SSL_pending(ssl_) > 0) || Await(POLLIN, read_timeout_);
}

bool AnswerStream::is_writable() const { return Await(POLLOUT, write_timeout_); }

ssize_t AnswerStream::read(char* to, std::size_t n) {
  if (at_ == end_) {
    const ssize_t k = Receive(ready_.data(), ready_.size());
    if (k <= 0) return k;
    at_ = 0;
    end_ = static_cast<std::size_t>(k);
    if (!meter_.Came(end_)) return -1;
  }
  const std::size_t k = std::min(n, end_ - at_);
  std::memcpy(to, ready_.data() + at_, k);
  at_ += k;
  return static_cast<ssize_t>(k);
}

ssize_t AnswerStream::write(const char* from, std::size_t n) {
  for (std::size_t done = 0; done < n;) {
    const ssize_t k = Send(from + done, n - done);
    if (k <= 0) return -1;
    done += static_cast<std::size_t>(k);
  }
  return static_cast<ssize_t>(n);
}

ssize_t AnswerStream::Receive(char* to, std::size_t n) {
  while (is_readable()) {
    if (ssl_ == nullptr) {
      const ssize_t k = ::recv(socket_, to, n, 0);
      if (k >= 0 || (errno != EINTR && errno != EAGAIN)) return k;
    } else {
      ERR_clear_error();
      const int k = SSL_read(ssl_, to, Short(n));
      if (k > 0 || !Again(k)) return k;
    }
  }
  return -1;
}

ssize_t AnswerStream::Send(const char* from, std::size_t n) {
  while (is_writable()) {
    if (ssl_ == nullptr) {
      const ssize_t k = ::send(socket_, from, n, MSG_NOSIGNAL);
      if (k >= 0 || (errno != EINTR && errno != EAGAIN)) return k;
    } else {
      ERR_clear_error();
      const int k = SSL_write(ssl_, from, Short(n));
      if (k > 0 || !Again(k)) return k;
    }
  }
  return -1;
}

bool AnswerStream::Again(int result) const {
  const int error = SSL_get_error(ssl_, result);
  return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
}

bool AnswerStream::Await(short events, std::chrono::microseconds longest) const {
  const auto end = std::chrono::steady_clock::now() + longest;
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd f{socket_, events, 0};
    const int n = ::poll(&f, 1, static_cast<int>(std::clamp<long>(left.count(), 0, INT_MAX)));
    if (n >= 0 || errno != EINTR) return n > 0;
  }
}

}  // namespace cigri::http
