// The API of another host on a unix socket of our own, through the user's ssh.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

namespace cigri::tools {

/// `ssh -N -L <own socket>:<remote socket> host`, for as long as the object lives; it dies with
/// us. The kernel of the other host says there who we are: the user that ssh logged in as.
class SshTunnel {
 public:
  /// `url`: ssh://[user@]host[:port][/path/of/socket]; without a path /run/cigri/api.sock,
  /// else, when nothing answers there, /var/lib/cigri/run/api.sock.
  /// Throws Fatal(kExitUnavailable) when ssh ends, Fatal(kExitConfig) for a bad address.
  explicit SshTunnel(const std::string& url);
  ~SshTunnel();
  SshTunnel(const SshTunnel&) = delete;
  SshTunnel& operator=(const SshTunnel&) = delete;
  const std::string& socket() const { return socket_; }
  /// Ends the tunnels of this process. For callers that are about to _exit.
  static void EndAll();

 private:
  void Start(const std::string& destination, const std::vector<std::string>& forwards);
  void AwaitSocket(const std::string& url);
  void End();
  std::string folder_, socket_;
  pid_t pid_ = -1;
};

}  // namespace cigri::tools
