#include "tests/support/cutting_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "tests/support/await.h"

namespace cigri::test {
namespace {

struct Address {
  explicit Address(const std::string& text) {
    if (text[0] == '/') {
      auto& local = reinterpret_cast<sockaddr_un&>(storage);
      local.sun_family = AF_UNIX;
      std::strncpy(local.sun_path, text.c_str(), sizeof local.sun_path - 1);
      size = sizeof local;
    } else {
      auto& inet = reinterpret_cast<sockaddr_in&>(storage);
      const auto colon = text.find(':');
      const auto port = colon == text.npos ? text : text.substr(colon + 1);
      const auto host = colon == text.npos ? "127.0.0.1" : text.substr(0, colon);
      inet.sin_family = AF_INET;
      inet.sin_port = htons(static_cast<std::uint16_t>(std::stoi(port)));
      inet_pton(AF_INET, host.c_str(), &inet.sin_addr);
      size = sizeof inet;
    }
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  sockaddr_storage storage{};
  socklen_t size = 0;
};

int Connect(const std::string& server) {
  const Address address(server);
  const int fd = socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(fd, address.get(), address.size) == 0) return fd;
  close(fd);
  return -1;
}

bool SendAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto n = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

// Whether all of a request is in `bytes`; those of the grid say how long they are.
bool Whole(const std::string& bytes) {
  const auto head = bytes.find("\r\n\r\n");
  if (head == bytes.npos) return false;
  std::string lower = bytes.substr(0, head);
  std::transform(lower.begin(), lower.end(), lower.begin(), ::tolower);
  const auto at = lower.find("content-length:");
  const std::size_t length = at == lower.npos ? 0 : std::stoul(lower.substr(at + 15));
  return bytes.size() >= head + 4 + length;
}

enum class Cut { kNo, kAnswer, kRequest };

}  // namespace

struct CuttingProxy::Impl {
  std::string listen, server, start;
  int socket = -1, port = 0;
  std::atomic<bool> stopping{false}, all{false};
  std::atomic<int> matched{0}, cuts{0}, relays{0};
  std::atomic<std::FILE*> printed{nullptr};
  std::mutex mutex;
  std::thread thread;

  Cut CutOf(const std::string& request) {
    if (all) return Cut::kAnswer;
    std::lock_guard lock(mutex);
    if (start.empty() || request.rfind(start, 0) != 0) return Cut::kNo;
    const int n = ++matched;
    return n % 2 != 0 ? Cut::kNo : n % 4 == 0 ? Cut::kRequest : Cut::kAnswer;
  }
  void Print(const std::string& request) {
    const auto line = request.substr(0, request.find(" HTTP/")) + "\n";
    std::fputs(line.c_str(), printed);
    std::fflush(printed);
  }
  void Serve() {
    while (!stopping) {
      pollfd ready{socket, POLLIN, 0};
      if (poll(&ready, 1, 100) != 1) continue;
      const int client = accept4(socket, nullptr, nullptr, SOCK_CLOEXEC);
      if (client < 0) continue;
      ++relays;
      std::thread([this, client] {  // one that nobody joins keeps its stack
        Relay(client);
        --relays;
      }).detach();
    }
  }
  void Relay(int client) {
    const int to = Connect(server);
    Cut cut = Cut::kNo;
    bool answered = true;
    std::string request;
    char buffer[65536];
    pollfd ends[2] = {{client, POLLIN, 0}, {to, POLLIN, 0}};
    while (to >= 0 && !stopping) {
      if (poll(ends, 2, 100) < 1) continue;
      const bool asked = ends[0].revents != 0;
      const auto n = recv(asked ? client : to, buffer, sizeof buffer, 0);
      if (n <= 0) break;
      const std::string_view bytes(buffer, static_cast<std::size_t>(n));
      if (asked) {
        if (answered) request.clear();
        request.append(bytes);
        if (answered) cut = CutOf(request);
        if (answered && printed) Print(request);
      } else if (cut == Cut::kAnswer || all) {  // the server has done it: nobody will be notified
        ++cuts;
        break;
      }
      answered = !asked;
      if (!SendAll(asked ? to : client, bytes)) break;
      if (asked && cut == Cut::kRequest && Whole(request)) {
        ++cuts;
        break;
      }
    }
    close(client);
    if (to >= 0) close(to);
  }
};

CuttingProxy::CuttingProxy(const std::string& listen_at, const std::string& server)
    : impl_(std::make_unique<Impl>()) {
  impl_->listen = listen_at;
  impl_->server = server;
  Address address(listen_at);
  if (listen_at[0] == '/') unlink(listen_at.c_str());
  impl_->socket = socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (bind(impl_->socket, address.get(), address.size) != 0 || listen(impl_->socket, 64) != 0)
    throw std::runtime_error("the proxy cannot listen on " + listen_at);
  if (address.storage.ss_family == AF_INET) {
    getsockname(impl_->socket, address.get(), &address.size);
    impl_->port = ntohs(reinterpret_cast<sockaddr_in&>(address.storage).sin_port);
  }
  impl_->thread = std::thread([impl = impl_.get()] { impl->Serve(); });
}

CuttingProxy::~CuttingProxy() {
  impl_->stopping = true;
  impl_->thread.join();
  Await([&] { return impl_->relays == 0; });
  close(impl_->socket);
  if (impl_->port == 0) unlink(impl_->listen.c_str());
}

int CuttingProxy::port() const { return impl_->port; }
void CuttingProxy::CutAll(bool on) { impl_->all = on; }
void CuttingProxy::CutEachSecond(const std::string& start) {
  std::lock_guard lock(impl_->mutex);
  impl_->start = start;
}
void CuttingProxy::Print(std::FILE* to) { impl_->printed = to; }
int CuttingProxy::cuts() const { return impl_->cuts; }

}  // namespace cigri::test
