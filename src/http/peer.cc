#include "http/peer.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

namespace cigri::http {

namespace {

std::string Text(int family, const void* address) {
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(family, address, text, sizeof text);
  return text;
}

}  // namespace

std::string PlainAddress(const std::string& text) {
  in6_addr address{};
  if (inet_pton(AF_INET6, text.c_str(), &address) != 1) return text;
  if (IN6_IS_ADDR_V4MAPPED(&address)) return Text(AF_INET, address.s6_addr + 12);
  return Text(AF_INET6, &address);
}

std::string NetworkOf(const std::string& address) {
  in6_addr network{};
  // One of this link has the name of an interface after it.
  if (inet_pton(AF_INET6, address.substr(0, address.find('%')).c_str(), &network) != 1)
    return address;
  std::fill(network.s6_addr + 8, network.s6_addr + 16, 0);
  return Text(AF_INET6, &network) + "/64";
}

Peer KernelPeer(int socket) {
  Peer peer;
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0) return peer;
  if (address.ss_family != AF_UNIX) {
    char host[NI_MAXHOST] = "";
    if (getnameinfo(reinterpret_cast<sockaddr*>(&address), length, host, sizeof host, nullptr, 0,
                    NI_NUMERICHOST) == 0)
      peer.address = PlainAddress(host);
    return peer;
  }
  ucred cred{};
  length = sizeof cred;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &cred, &length) != 0) return peer;
  peer.unix_socket = true;
  peer.uid = static_cast<int>(cred.uid);
  peer.pid = cred.pid;
  return peer;
}

std::string UserName(int uid) {
  char buffer[4096];
  passwd pw{}, *found = nullptr;
  if (getpwuid_r(static_cast<uid_t>(uid), &pw, buffer, sizeof buffer, &found) == 0 &&
      found != nullptr)
    return pw.pw_name;
  return "";
}

}  // namespace cigri::http
