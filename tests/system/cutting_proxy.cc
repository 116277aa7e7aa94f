#include "tests/system/cutting_proxy.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <string_view>

namespace cigri::test {
namespace {

sockaddr_un Address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  return address;
}

int Connect(const std::string& path) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto address = Address(path);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
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

}  // namespace

CuttingProxy::CuttingProxy(const std::string& listen_path, const std::string& server)
    : listen_(listen_path),
      server_(server),
      socket_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const auto address = Address(listen_path);
  unlink(listen_path.c_str());
  if (bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(socket_, 64) != 0)
    std::abort();
  server_thread_ = std::thread([this] { Serve(); });
}

CuttingProxy::~CuttingProxy() {
  stopping_ = true;
  server_thread_.join();
  for (auto& relay : relays_) relay.join();
  close(socket_);
  unlink(listen_.c_str());
}

void CuttingProxy::Serve() {
  while (!stopping_) {
    pollfd ready{socket_, POLLIN, 0};
    if (poll(&ready, 1, 100) != 1) continue;
    const int client = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client >= 0) relays_.emplace_back([this, client] { Relay(client); });
  }
}

void CuttingProxy::Relay(int client) {
  const int server = Connect(server_);
  bool cut = false;
  char buffer[65536];
  pollfd ends[2] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
  while (server >= 0 && !stopping_) {
    if (poll(ends, 2, 100) < 1) continue;
    const bool asked = ends[0].revents != 0;
    const auto n = recv(asked ? client : server, buffer, sizeof buffer, 0);
    if (n <= 0) break;
    const std::string_view bytes(buffer, static_cast<std::size_t>(n));
    if (asked && bytes.rfind("POST /batches", 0) == 0) cut = ++submissions_ % 2 == 0;
    if (!asked && cut) {  // the cluster has answered: it has the jobs, and nobody will be told
      ++cuts_;
      break;
    }
    if (!SendAll(asked ? server : client, bytes)) break;
  }
  close(client);
  if (server >= 0) close(server);
}

}  // namespace cigri::test
