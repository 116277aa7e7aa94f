#include "fault_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "core/text.h"
#include "http/client.h"

namespace cigri::conformance {
namespace {

constexpr int kTickMs = 20;

int BoundTo(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    throw std::runtime_error("the proxy cannot bind its port");
  return fd;
}

int PortOf(int fd) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

struct Request {
  std::string line, method, target, body;
  http::Client::Headers headers;  // without those that the next hop makes itself
};

Request Parse(const std::string& head, const std::string& body) {
  Request request;
  request.body = body;
  const auto lines = Split(head, '\n');
  request.line = std::string(Trim(lines.at(0)));
  const auto words = Split(request.line, ' ');
  request.method = words.at(0);
  request.target = words.at(1);
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const auto colon = lines[i].find(':');
    if (colon == std::string::npos) continue;
    const auto name = Lower(lines[i].substr(0, colon));
    if (name == "host" || name == "connection" || name == "content-length") continue;
    if (name == "content-type") continue;
    request.headers[name] = std::string(Trim(lines[i].substr(colon + 1)));
  }
  return request;
}

std::size_t BodyLength(const std::string& head) {
  const auto lower = Lower(head);
  const auto at = lower.find("content-length:");
  return at == lower.npos ? 0 : std::stoul(lower.substr(at + 15));
}

std::string AnswerBytes(int status, const std::string& more_headers, const std::string& body) {
  return "HTTP/1.1 " + std::to_string(status) + " -\r\n" + more_headers +
         "Connection: close\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace

struct FaultProxy::Impl {
  http::Endpoint server;
  std::string submission, garbage;
  // Keeps the port while nobody listens: who connects meanwhile is refused.
  int place = -1, port = 0;
  std::mutex mutex;
  Fault fault = Fault::kNone;
  Which which = Which::kAll;
  std::atomic<bool> stopping{false};
  std::thread thread;
  std::vector<std::thread> connections;

  void Start() {
    stopping = false;
    const int listener = BoundTo(port);
    if (listen(listener, 64) != 0) throw std::runtime_error("the proxy cannot listen");
    thread = std::thread([this, listener] { Serve(listener); });
  }
  void Stop() {
    stopping = true;
    if (thread.joinable()) thread.join();
    for (auto& connection : connections) connection.join();
    connections.clear();
  }
  void Serve(int listener) {
    while (!stopping) {
      pollfd ready{listener, POLLIN, 0};
      if (poll(&ready, 1, kTickMs) != 1) continue;
      const int client = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
      if (client >= 0) connections.emplace_back([this, client] { Talk(client); });
    }
    close(listener);
  }
  // Bytes of `client` until there are `n`, or until they hold the end of a head (n = 0).
  bool Receive(int client, std::string* bytes, std::size_t n) {
    char buffer[65536];
    while (n > 0 ? bytes->size() < n : bytes->find("\r\n\r\n") == bytes->npos) {
      pollfd ready{client, POLLIN, 0};
      if (stopping) return false;
      if (poll(&ready, 1, kTickMs) != 1) continue;
      const auto got = recv(client, buffer, sizeof buffer, 0);
      if (got <= 0) return false;
      bytes->append(buffer, static_cast<std::size_t>(got));
    }
    return true;
  }
  void Talk(int client) {
    std::string bytes;
    if (Receive(client, &bytes, 0)) {
      const auto head = bytes.substr(0, bytes.find("\r\n\r\n"));
      const auto size = head.size() + 4 + BodyLength(head);
      if (Receive(client, &bytes, size)) Answer(client, Parse(head, bytes.substr(head.size() + 4)));
    }
    close(client);
  }
  http::Response Ask(const Request& q) const {
    http::Client to(server, {});
    if (q.method == "GET") return to.Get(q.target, q.headers);
    if (q.method == "DELETE") return to.Delete(q.target, q.headers);
    return to.Post(q.target, q.body, "application/json", q.headers);
  }
  Fault FaultOf(const Request& q, std::string* text) {
    const std::lock_guard lock(mutex);
    *text = garbage;
    return which == Which::kAll || StartsWith(q.line, submission) ? fault : Fault::kNone;
  }
  void Answer(int client, const Request& q) {
    std::string text;
    const Fault now = FaultOf(q, &text);
    const auto r = Ask(q);
    if (now == Fault::kAnswerLost || r.outcome != http::Outcome::kAnswered) return;
    if (now == Fault::kSilence) return AwaitEnd(client);
    std::string headers;
    for (const auto& [name, value] : r.headers)
      if (name != "connection" && name != "content-length" && name != "transfer-encoding" &&
          name != "keep-alive")
        headers.append(name).append(": ").append(value).append("\r\n");
    auto bytes = AnswerBytes(r.status, headers, r.body);
    if (now == Fault::kServerError) bytes = AnswerBytes(500, "", "the server has no reason");
    if (now == Fault::kGarbage) bytes = AnswerBytes(200, "", text);
    if (now == Fault::kAnswerCut) bytes.resize(bytes.size() - r.body.size() / 2 - 1);
    send(client, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  // Until the client gives up.
  void AwaitEnd(int client) {
    std::string more;
    Receive(client, &more, 1);
  }
};

FaultProxy::FaultProxy(const std::string& server, const std::string& submission)
    : impl_(std::make_unique<Impl>()) {
  impl_->server = http::Endpoint::Parse(server);
  impl_->submission = submission;
  impl_->place = BoundTo(0);
  impl_->port = PortOf(impl_->place);
  impl_->Start();
}

FaultProxy::~FaultProxy() {
  impl_->Stop();
  close(impl_->place);
}

void FaultProxy::Break(Fault fault, Which which, const std::string& garbage) {
  const bool listened = impl_->thread.joinable();
  if (fault == Fault::kNoConnection) impl_->Stop();
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->fault = fault;
    impl_->which = which;
    impl_->garbage = garbage;
  }
  if (fault != Fault::kNoConnection && !listened) impl_->Start();
}

int FaultProxy::port() const { return impl_->port; }

}  // namespace cigri::conformance
