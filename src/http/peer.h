// Who is at the other end of a connection.
#pragma once
#include <string>

namespace cigri::http {

/// Who calls, as the kernel (unix socket) or nobody (TCP) says. Set for each request by
/// GuardServer; handlers read it with PeerOf().
struct Peer {
  bool unix_socket = false;
  int uid = -1;
  int pid = -1;
  std::string user;     ///< "" when unknown, and before the first request is served
  std::string address;  ///< of a TCP client, "10.0.0.3"
};

/// What the kernel knows of the peer of a connected socket, without the name of its user.
Peer KernelPeer(int socket);

/// The name of a user; "" without one. May ask a directory service, and take its time.
std::string UserName(int uid);

}  // namespace cigri::http
