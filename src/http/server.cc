#include "http/server.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <thread>
#include <utility>

#include "core/text.h"
#include "http/request_stream.h"

namespace cigri::http {
namespace {

// The headers that carry the peer from the socket to the handler; erased from every request first.
constexpr char kPeerUid[] = "X-Guard-Peer-Uid";
constexpr char kPeerPid[] = "X-Guard-Peer-Pid";
constexpr char kPeerUser[] = "X-Guard-Peer-User";
// The same way goes what the client said of encodings.
constexpr char kBrotli[] = "X-Guard-Brotli";

// httplib listens with 5: a burst of clients on a unix socket would be refused.
constexpr int kBacklog = 1024;

// The request that this thread answers.
struct AtWork {
  Connection* connection = nullptr;
  RequestStream* stream = nullptr;
  bool close = false;  // its rest must not be read as the next one: httplib 0.11 takes no notice of
                       // a "Connection: close" of ours
  std::chrono::milliseconds later{0};
  std::function<bool()> nothing_new{};
};
thread_local AtWork at_work;

void Explain(httplib::Response& r, const std::string& text) {
  r.set_header("Connection", "close");
  r.set_content("{\"status\":" + std::to_string(r.status) +
                    ",\"title\":\"Refused\",\"message\":\"" + text + "\"}\n",
                "application/json");
}

bool Accepts(const std::string& encodings, const std::string& name) {
  for (const std::string& part : Split(encodings, ',')) {
    const auto words = Split(part, ';');
    const std::string rate = words.size() > 1 ? std::string(Trim(words[1])) : "";
    if (Trim(words[0]) == name) return rate.find_first_not_of("q=0.") != rate.npos || rate.empty();
  }
  return false;
}

// httplib compresses whatever it can, and brotli at its highest level: 3 s of CPU for 1.7 MB that
// any browser asks for.
void LeaveGzip(httplib::Request& q) {
  const std::string encodings = Lower(q.get_header_value("Accept-Encoding"));
  q.headers.erase("Accept-Encoding");
  q.headers.erase(kBrotli);
  if (Accepts(encodings, "gzip")) q.headers.emplace("Accept-Encoding", "gzip");
  if (Accepts(encodings, "br")) q.headers.emplace(kBrotli, "1");
}

}  // namespace

GuardServer::GuardServer(Limits limits)
    : trusted([own = static_cast<int>(geteuid())](const Peer& peer) {
        return peer.unix_socket && (peer.uid == 0 || peer.uid == own);
      }),
      limits_(limits),
      poller_(limits_,
              {[this](int socket) { return tls ? tls->Accept(socket) : PlainChannel(socket); },
               [this](Connection& c) { return ServeOne(c); },
               [this](const Peer& peer) { return trusted && trusted(peer); },
               [this](const Peer& peer, const Head& head) {
                 return charge ? charge(peer, head) : std::string();
               }}) {
  set_tcp_nodelay(true);  // off by default: 44 ms a request
  set_payload_max_length(limits_.max_request_bytes);
  // Only SO_REUSEADDR: with httplib's SO_REUSEPORT a second daemon would share the port.
  set_socket_options([](socket_t s) {
    const int on = 1;
    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  });
  set_pre_routing_handler([this](const httplib::Request& q, httplib::Response& r) {
    if (before && before(q, r)) {
      at_work.close = true;  // its body has not been read
      return HandlerResponse::Handled;
    }
    // A long body keeps this thread busy: by now it may be known whose it is.
    if (!at_work.stream->awaits_client() || poller_.ChargeAgain(*at_work.connection))
      return HandlerResponse::Unhandled;
    r.status = 429;
    at_work.close = true;
    Explain(r, std::string("the limit ") + limits::kThreads.name + " is reached: " +
                   std::to_string(limits_.threads_per_caller) + " " + limits::kThreads.unit);
    return HandlerResponse::Handled;
  });
  // What httplib itself refuses: it says nothing, and would take the rest for another request.
  set_error_handler([](const httplib::Request&, httplib::Response& r) {
    if (!r.body.empty()) return;
    at_work.close = true;
    Explain(r, r.status == 413 ? "the request is longer than the limit body-bytes" : "this is no request");
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

GuardServer::~GuardServer() { CloseListener(); }

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
  if (bound) ::listen(listener_ = svr_sock_, kBacklog);
  if (!bound) *why = "cannot make the socket " + path + ": " + std::strerror(errno);
  return bound;
}

bool GuardServer::BindTcp(const std::string& host, int port, std::string* why) {
  port_ = -1;
  addrinfo* found = nullptr;
  if (const int failed = getaddrinfo(host.c_str(), nullptr, nullptr, &found); failed != 0) {
    *why = "cannot listen on " + host + ": " + gai_strerror(failed);
    return false;
  }
  freeaddrinfo(found);
  port_ = port;
  if (port == 0) {
    port_ = bind_to_any_port(host);
  } else if (!bind_to_port(host, port)) {
    port_ = -1;
  }
  if (port_ > 0) {
    ::listen(listener_ = svr_sock_, kBacklog);
    return true;
  }
  *why = "cannot listen on " + host + ":" + std::to_string(port) + ": " + std::strerror(errno);
  return false;
}

bool GuardServer::Serve() {
  poller_.Run(listener_);
  CloseListener();
  return true;
}

void GuardServer::CloseListener() {
  if (listener_ >= 0) ::close(listener_);
  svr_sock_ = listener_ = -1;
}

void GuardServer::AwaitServing() {
  while (!poller_.running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

void GuardServer::Stop() {
  svr_sock_ = INVALID_SOCKET;  // for httplib the sign to end streamed answers
  poller_.Stop();
}

// Only httplib's own listener would call it.
bool GuardServer::process_and_close_socket(socket_t sock) {
  ::close(sock);
  return false;
}

Served GuardServer::ServeOne(Connection& c) {
  if (c.peer.unix_socket && c.peer.user.empty()) c.peer.user = UserName(c.peer.uid);
  RequestStream stream(c, limits_);
  at_work = {&c, &stream};
  const bool last = c.answered + 1 >= limits_.keep_alive_max;
  bool closed = false;
  const bool served = process_request(stream, last, closed, [&](httplib::Request& q) {
    for (const char* name : {kPeerUid, kPeerPid, kPeerUser, "REMOTE_ADDR", "REMOTE_PORT"})
      q.headers.erase(name);
    LeaveGzip(q);
    // RFC 9112: neither length nor encoding means no body; httplib would read until the deadline.
    if (!q.has_header("Content-Length")) q.headers.emplace("Content-Length", "0");
    if (!c.peer.unix_socket) return;
    q.headers.emplace(kPeerUid, std::to_string(c.peer.uid));
    q.headers.emplace(kPeerPid, std::to_string(c.peer.pid));
    q.headers.emplace(kPeerUser, c.peer.user);
  });
  const AtWork done = std::exchange(at_work, {});
  if (done.later.count() > 0) return {.later = done.later, .nothing_new = done.nothing_new};
  return {.keep = served && !closed && !last && !done.close && stream.rest() == 0,
          .drain = done.close};
}

bool AcceptsBrotli(const httplib::Request& request) { return request.has_header(kBrotli); }

void AnswerLater(std::chrono::milliseconds at_most, std::function<bool()> nothing_new) {
  at_work.nothing_new = std::move(nothing_new);
  at_work.later = std::max(at_most, std::chrono::milliseconds(1));
  at_work.stream->Mute();
}

std::chrono::milliseconds WaitedFor() {
  if (!at_work.connection->parked) return std::chrono::milliseconds(0);
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                               at_work.connection->arrived);
}

Peer PeerOf(const httplib::Request& request) {
  Peer peer;
  peer.address = request.remote_addr;
  if (!request.has_header(kPeerUid)) return peer;
  peer.unix_socket = true;
  peer.uid = std::atoi(request.get_header_value(kPeerUid).c_str());
  peer.pid = std::atoi(request.get_header_value(kPeerPid).c_str());
  peer.user = request.get_header_value(kPeerUser);
  return peer;
}

}  // namespace cigri::http
