#include "http/server.h"

#include <poll.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "http/task_queue.h"

namespace cigri::http {
namespace {

using Clock = std::chrono::steady_clock;

// The headers that carry the peer from the socket to the handler; erased from every request first.
constexpr char kPeerUid[] = "X-Guard-Peer-Uid";
constexpr char kPeerPid[] = "X-Guard-Peer-Pid";
constexpr char kPeerUser[] = "X-Guard-Peer-User";

// httplib listens with 5: a burst of clients on a unix socket would be refused.
constexpr int kBacklog = 1024;

// Set while a request is answered whose rest must not be read as the next one: httplib 0.11 takes
// no notice of a "Connection: close" of ours.
thread_local bool close_after_answer = false;

// One connection: every byte read counts against the request's budget and deadline.
class GuardStream final : public httplib::Stream {
 public:
  GuardStream(socket_t s, const Limits& limits) : s_(s), limits_(limits) { Arm(); }
  void Arm() {
    used_ = head_bytes_ = head_lines_ = line_bytes_ = 0;
    in_head_ = true;
    end_ = Clock::now() + limits_.request_deadline;
  }
  bool is_readable() const override { return pos_ < len_ || Await(POLLIN, Deadline()); }
  bool is_writable() const override { return Await(POLLOUT, Clock::now() + limits_.write_timeout); }
  ssize_t read(char* p, std::size_t n) override {
    if (pos_ == len_) {
      if (used_ >= limits_.max_request_bytes || !Await(POLLIN, Deadline())) return -1;
      ssize_t k;
      do {
        k = ::recv(s_, buffer_, sizeof buffer_, 0);
      } while (k < 0 && errno == EINTR);
      if (k <= 0) return k;
      pos_ = 0;
      len_ = static_cast<std::size_t>(k);
      used_ += len_;
    }
    const std::size_t k = std::min(n, len_ - pos_);
    std::memcpy(p, buffer_ + pos_, k);
    pos_ += k;
    if (in_head_ && !HeadWithinLimits(p, k)) return -1;
    return static_cast<ssize_t>(k);
  }
  ssize_t write(const char* p, std::size_t n) override {
    for (std::size_t done = 0; done < n;) {
      if (!is_writable()) return -1;
      const ssize_t k = ::send(s_, p + done, n - done, MSG_NOSIGNAL);
      if (k < 0 && errno == EINTR) continue;
      if (k < 0) return -1;
      done += static_cast<std::size_t>(k);
    }
    return static_cast<ssize_t>(n);
  }
  void get_remote_ip_and_port(std::string& ip, int& port) const override {
    sockaddr_storage a{};
    socklen_t n = sizeof a;
    char host[NI_MAXHOST] = "", service[NI_MAXSERV] = "";
    if (getpeername(s_, reinterpret_cast<sockaddr*>(&a), &n) == 0 && a.ss_family != AF_UNIX &&
        getnameinfo(reinterpret_cast<sockaddr*>(&a), n, host, sizeof host, service, sizeof service,
                    NI_NUMERICHOST | NI_NUMERICSERV) == 0) {
      ip = host;
      port = std::atoi(service);
    }
  }
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return s_; }
  bool buffered() const { return pos_ < len_; }

 private:
  // Counts the request line and the headers, up to the empty line. Over a limit the answer is sent
  // from here: httplib keeps all headers in memory before it asks anybody (CVE-2025-52887).
  bool HeadWithinLimits(const char* p, std::size_t n) {
    for (std::size_t i = 0; i < n && in_head_; ++i) {
      ++head_bytes_;
      if (p[i] == '\n') {
        in_head_ = line_bytes_ > 0;
        ++head_lines_;
        line_bytes_ = 0;
      } else if (p[i] != '\r') {
        ++line_bytes_;
      }
    }
    if (head_bytes_ <= limits_.max_head_bytes && head_lines_ <= limits_.max_head_lines) return true;
    static constexpr char kAnswer[] =
        "HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\n"
        "Content-Length: 0\r\n\r\n";
    close_after_answer = true;
    write(kAnswer, sizeof kAnswer - 1);
    return false;
  }
  Clock::time_point Deadline() const {
    return end_ + std::chrono::milliseconds(used_ * 1000 / limits_.least_bytes_per_s);
  }
  bool Await(short events, Clock::time_point end) const {
    for (;;) {
      const auto ms =
          std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
      if (ms <= 0) return false;
      pollfd f{s_, events, 0};
      const int n = ::poll(&f, 1, static_cast<int>(std::min<long>(ms, 60000)));
      if (n > 0) return true;
      if (n < 0 && errno != EINTR) return false;
    }
  }
  socket_t s_;
  const Limits& limits_;
  std::size_t used_ = 0;
  std::size_t head_bytes_ = 0, head_lines_ = 0, line_bytes_ = 0;
  bool in_head_ = true;
  Clock::time_point end_;
  char buffer_[16384];
  std::size_t pos_ = 0, len_ = 0;
};

std::string UserName(uid_t uid) {
  char buffer[4096];
  passwd pw{}, *found = nullptr;
  if (getpwuid_r(uid, &pw, buffer, sizeof buffer, &found) == 0 && found != nullptr)
    return pw.pw_name;
  return "";
}

void Explain(httplib::Response& r, const std::string& text) {
  r.set_header("Connection", "close");
  r.set_content("{\"status\":" + std::to_string(r.status) +
                    ",\"title\":\"Refused\",\"message\":\"" + text + "\"}\n",
                "application/json");
}

// Closing a TCP socket with bytes unread would reset it, and the answer might be lost: some more
// are read and forgotten, for a moment.
void LetAnswerArrive(socket_t sock) {
  ::shutdown(sock, SHUT_WR);
  char buffer[16384];
  pollfd f{sock, POLLIN, 0};
  for (int i = 0; i < 64 && ::poll(&f, 1, 100) > 0; ++i)
    if (::recv(sock, buffer, sizeof buffer, 0) <= 0) return;
}

Peer KernelPeer(socket_t sock) {
  Peer peer;
  int family = 0;
  socklen_t length = sizeof family;
  getsockopt(sock, SOL_SOCKET, SO_DOMAIN, &family, &length);
  ucred cred{};
  length = sizeof cred;
  if (family != AF_UNIX || getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &length) != 0)
    return peer;
  peer.unix_socket = true;
  peer.uid = static_cast<int>(cred.uid);
  peer.pid = cred.pid;
  peer.user = UserName(cred.uid);
  return peer;
}

// What makes the length of a body uncertain: then the next request would be read out of this one
// (request smuggling). "" when nothing does.
std::string LengthFault(const httplib::Request& q) {
  const auto n = q.get_header_value_count("Content-Length");
  if (n > 1) return "more than one Content-Length";
  const std::string length = q.get_header_value("Content-Length");
  if (length.empty() || length.find_first_not_of("0123456789") != std::string::npos)
    return "Content-Length is no number";
  // httplib 0.11 does not read a body of these methods: it would be the next request.
  const bool bodiless =
      q.method != "POST" && q.method != "PUT" && q.method != "PATCH" && q.method != "DELETE";
  if (bodiless && length.find_first_not_of('0') != std::string::npos)
    return "a " + q.method + " request has no body";
  return "";
}

bool HasControl(const std::string& s) {
  for (unsigned char c : s)
    if ((c < 0x20 && c != '\t') || c == 0x7f) return true;
  return false;
}

}  // namespace

GuardServer::GuardServer(Limits limits) : limits_(limits) {
  const int threads = limits_.threads;
  new_task_queue = [threads] { return new GrowingPool(threads); };
  set_tcp_nodelay(true);  // off by default: 44 ms a request
  set_payload_max_length(limits_.max_request_bytes);
  set_keep_alive_max_count(static_cast<std::size_t>(limits_.keep_alive_max));
  set_keep_alive_timeout(limits_.keep_alive_s);
  // Only SO_REUSEADDR: with httplib's SO_REUSEPORT a second daemon would share the port.
  set_socket_options([](socket_t s) {
    const int on = 1;
    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  });
  set_pre_routing_handler([this](const httplib::Request& q, httplib::Response& r) {
    const auto refuse = [&](int status, const char* text) {
      r.status = status;
      close_after_answer = true;
      Explain(r, text);
      return HandlerResponse::Handled;
    };
    if (q.has_header("Transfer-Encoding"))
      return refuse(411, "send a Content-Length instead of Transfer-Encoding");
    if (const std::string fault = LengthFault(q); !fault.empty()) return refuse(400, fault.c_str());
    if (q.has_header("Content-Encoding")) return refuse(415, "send the body uncompressed");
    for (const auto& [key, value] : q.headers)
      if (HasControl(value)) return refuse(400, "control character in a header");
    if (!before || !before(q, r)) return HandlerResponse::Unhandled;
    close_after_answer = true;  // its body has not been read
    return HandlerResponse::Handled;
  });
  // What httplib itself refuses: it says nothing, and would take the rest for another request.
  set_error_handler([](const httplib::Request&, httplib::Response& r) {
    if (!r.body.empty()) return;
    close_after_answer = true;
    Explain(r, r.status == 413 ? "the request is too long" : "this is no request");
  });
  // The signature of httplib.
  // NOLINTNEXTLINE(performance-unnecessary-value-param)
  set_exception_handler([](const httplib::Request&, httplib::Response& r, std::exception_ptr) {
    r.status = 500;
    r.set_content(
        "{\"status\":500,\"title\":\"Error\",\"message\":\"internal error, see the log\"}\n",
        "application/json");
  });
}

bool GuardServer::BindUnix(const std::string& path, int mode, std::string* why) {
  sockaddr_un address{};
  if (path.size() >= sizeof address.sun_path) {
    *why = "the socket path " + path + " is longer than 107 bytes";
    return false;
  }
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const int probe = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool alive = ::connect(probe, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  ::close(probe);
  if (alive) {
    *why = "another server is alive on " + path;
    return false;
  }
  ::unlink(path.c_str());
  set_address_family(AF_UNIX);
  const mode_t old = ::umask(0777 & ~static_cast<mode_t>(mode));
  const bool bound = bind_to_port(path, 1);
  ::umask(old);
  if (bound) ::listen(svr_sock_, kBacklog);
  if (!bound) *why = "cannot make the socket " + path + ": " + std::strerror(errno);
  return bound;
}

bool GuardServer::BindTcp(const std::string& host, int port, std::string* why) {
  port_ = port;
  if (port == 0) {
    port_ = bind_to_any_port(host);
  } else if (!bind_to_port(host, port)) {
    port_ = -1;
  }
  if (port_ > 0) {
    ::listen(svr_sock_, kBacklog);
    return true;
  }
  *why = "cannot listen on " + host + ":" + std::to_string(port) + ": " + std::strerror(errno);
  return false;
}

void GuardServer::AwaitServing() {
  while (!is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void GuardServer::Stop() {
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return;
    stopping_ = true;
    for (socket_t sock : open_) ::shutdown(sock, SHUT_RD);
  }
  stop();
}

bool GuardServer::ServeOne(httplib::Stream& stream, bool last, bool* closed, const Peer& peer) {
  return process_request(stream, last, *closed, [&](httplib::Request& q) {
    for (const char* name : {kPeerUid, kPeerPid, kPeerUser, "REMOTE_ADDR", "REMOTE_PORT"})
      q.headers.erase(name);
    // RFC 9112: neither length nor encoding means no body; httplib would read until the deadline.
    if (!q.has_header("Content-Length") && !q.has_header("Transfer-Encoding"))
      q.headers.emplace("Content-Length", "0");
    if (!peer.unix_socket) return;
    q.headers.emplace(kPeerUid, std::to_string(peer.uid));
    q.headers.emplace(kPeerPid, std::to_string(peer.pid));
    q.headers.emplace(kPeerUser, peer.user);
  });
}

bool GuardServer::process_and_close_socket(socket_t sock) {
  {
    std::lock_guard lock(mutex_);
    open_.insert(sock);
    if (stopping_) ::shutdown(sock, SHUT_RD);
  }
  const Peer peer = KernelPeer(sock);
  GuardStream stream(sock, limits_);
  bool closed = false;
  for (std::size_t left = keep_alive_max_count_; left > 0 && !closed; --left) {
    if (left != keep_alive_max_count_) {
      pollfd f{sock, POLLIN, 0};
      const int wait_ms = static_cast<int>(keep_alive_timeout_sec_) * 1000;
      if (!stream.buffered() && ::poll(&f, 1, wait_ms) <= 0) break;
      stream.Arm();
    }
    close_after_answer = false;
    const bool served = ServeOne(stream, left == 1, &closed, peer);
    if (close_after_answer) LetAnswerArrive(sock);
    if (!served || close_after_answer) break;
  }
  std::lock_guard lock(mutex_);  // Stop() must not meet a number that is somebody else's by then
  open_.erase(sock);
  ::shutdown(sock, SHUT_RDWR);
  ::close(sock);
  return true;
}

Peer PeerOf(const httplib::Request& request) {
  Peer peer;
  if (!request.has_header(kPeerUid)) return peer;
  peer.unix_socket = true;
  peer.uid = std::atoi(request.get_header_value(kPeerUid).c_str());
  peer.pid = std::atoi(request.get_header_value(kPeerPid).c_str());
  peer.user = request.get_header_value(kPeerUser);
  return peer;
}

}  // namespace cigri::http
