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
  std::string address;  ///< of a TCP client, "10.0.0.3" or "2001:db8::3"
};

/// A numeric address as Peer has it, whatever the way in which it is written: "10.0.0.3" for
/// "::ffff:10.0.0.3", which an IPv4 client is to a socket of both kinds. Other texts as they are.
std::string PlainAddress(const std::string& text);

/// What one host may have for itself: an IPv4 address, or the /64 that an IPv6 address is in.
std::string NetworkOf(const std::string& address);

/// What the kernel knows of the peer of a connected socket, without the name of its user.
Peer KernelPeer(int socket);

/// The name of a user; "" without one. May ask a directory service, and take its time.
std::string UserName(int uid);

}  // namespace cigri::http
