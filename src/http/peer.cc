#include "http/peer.h"

#include <netdb.h>
#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace cigri::http {

Peer KernelPeer(int socket) {
  Peer peer;
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0) return peer;
  if (address.ss_family != AF_UNIX) {
    char host[NI_MAXHOST] = "";
    if (getnameinfo(reinterpret_cast<sockaddr*>(&address), length, host, sizeof host, nullptr, 0,
                    NI_NUMERICHOST) == 0)
      peer.address = host;
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
