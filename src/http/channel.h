// How the bytes of a connection travel: in the clear, or by TLS.
#pragma once
#include <sys/types.h>

#include <memory>
#include <mutex>
#include <string>

struct ssl_ctx_st;

namespace cigri::http {

/// The bytes of one connected socket, which it does not own. Never waits. Not for two threads at
/// once.
class Channel {
 public:
  virtual ~Channel() = default;
  /// As recv(): how many bytes, 0 at the end, -1 with errno; EAGAIN when there is nothing yet.
  virtual ssize_t Receive(char* to, std::size_t n) = 0;
  /// As send(): how many bytes were taken, -1 with errno; EAGAIN when there is no room.
  virtual ssize_t Send(const char* from, std::size_t n) = 0;
  /// Nothing more will be sent; the peer learns it.
  virtual void EndSending() = 0;
  /// Received bytes that are decrypted already: poll() on the socket knows nothing of them.
  virtual bool HasPending() const { return false; }
};

std::unique_ptr<Channel> PlainChannel(int socket);

/// The certificate of a server: TLS 1.2 and 1.3. Thread-safe.
class TlsContext {
 public:
  /// Files in PEM; `cert` may hold intermediate certificates after the server's own. Throws
  /// Fatal(kExitConfig) when they cannot be used.
  TlsContext(std::string cert, std::string key);
  ~TlsContext();
  /// A channel for a socket that a client has connected; the handshake is part of its first use.
  std::unique_ptr<Channel> Accept(int socket) const;
  /// Reads the files again; connections that are open keep what they have. False, and the present
  /// certificate stays, when they cannot be used (reason in `why`): a key that is not yet there.
  bool Reload(std::string* why);
  /// Whether a file has changed since it was read.
  bool Changed() const;

 private:
  const std::string cert_, key_;
  mutable std::mutex mutex_;
  std::shared_ptr<ssl_ctx_st> context_;
  std::string read_;  // what Changed() compares
};

}  // namespace cigri::http
