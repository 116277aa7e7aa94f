// An HTTP server that strangers may speak to: cpp-httplib 0.11.4 with limits on bytes, time and
// headers, the caller's identity from the kernel, and no request bodies of unknown length.
#pragma once
#include <httplib.h>

#include <chrono>
#include <functional>
#include <mutex>
#include <set>
#include <string>

namespace cigri::http {

struct Limits {
  std::size_t max_request_bytes = (1u << 20) + (64u << 10);  ///< headers and body of one request
  std::size_t max_head_bytes = 32u << 10;             ///< request line and headers; beyond it 431
  std::size_t max_head_lines = 102;                   ///< 100 headers
  std::chrono::milliseconds request_deadline{10000};  ///< for the bytes of one request to arrive,
  std::size_t least_bytes_per_s = 256 << 10;          ///< and more for bodies that come this fast
  std::chrono::seconds write_timeout{10};
  int threads = 64;  ///< most; they come and go with the requests
  int keep_alive_max = 1000;
  int keep_alive_s = 5;
};

/// Who calls, as the kernel (unix socket) or nobody (TCP) says. Set for each request by
/// GuardServer; handlers read it with PeerOf().
struct Peer {
  bool unix_socket = false;
  int uid = -1;
  int pid = -1;
  std::string user;  ///< "" when unknown
};

/// httplib::Server with the guards of docs/design.md section 10. Use Get/Post/... of httplib;
/// throw anything in a handler: it becomes a 500 without its text.
/// Requests with Transfer-Encoding get 411, with Content-Encoding 415, with control characters in a
/// header, an uncertain Content-Length, or a body where the method has none 400, with too many
/// headers 431; over the byte limit or deadline the connection is closed.
class GuardServer : public httplib::Server {
 public:
  explicit GuardServer(Limits limits = {});
  /// Listens on a unix socket; removes a stale file first; the socket gets `mode`. False when
  /// another server is alive behind it or it cannot be made (reason in `why`).
  bool BindUnix(const std::string& path, int mode, std::string* why);
  /// Binds host:port (port 0: any, returned by port()). No SO_REUSEPORT: a taken port is an error.
  bool BindTcp(const std::string& host, int port, std::string* why);
  int port() const { return port_; }
  /// Serves until Stop(). REQUIRES: a successful Bind.
  bool Serve() { return listen_after_bind(); }
  /// Returns once Serve(), called in another thread, can be stopped by Stop().
  void AwaitServing();
  /// Accepts and reads nothing more; requests that have arrived still get their answers. Serve()
  /// then returns.
  void Stop();
  /// A pre-routing check of the user's, after the guards: return true when it answered.
  std::function<bool(const httplib::Request&, httplib::Response&)> before;

 private:
  bool process_and_close_socket(socket_t sock) override;
  bool ServeOne(httplib::Stream& stream, bool last, bool* closed, const Peer& peer);
  Limits limits_;
  int port_ = 0;
  std::mutex mutex_;
  bool stopping_ = false;
  std::set<socket_t> open_;
};

/// The caller of `request`, as GuardServer recorded it (never from what the client said).
Peer PeerOf(const httplib::Request& request);

}  // namespace cigri::http
