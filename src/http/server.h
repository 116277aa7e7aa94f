// An HTTP server that strangers may speak to: a strict reader of heads and one poller thread stand
// before cpp-httplib 0.11.4, which parses and answers a request that has arrived whole.
//
// Why httplib is kept: its routes, ranges, chunked answers and HEAD are used everywhere and work.
// Why it neither accepts nor waits: it gives a thread to each connection, for as long as the client
// likes; it keeps headers without bound, percent-decodes them, and takes a body that it does not
// expect for the next request.
#pragma once
#include <httplib.h>

#include <functional>
#include <string>

#include "http/channel.h"
#include "http/limits.h"
#include "http/peer.h"
#include "http/poller.h"

namespace cigri::http {

/// httplib::Server with the guards of docs/design.md section 10. Use Get/Post/... of httplib;
/// throw anything in a handler: it becomes a 500 without its text.
/// A request gets a thread when its head has arrived, and its body up to kGatheredBytes. Requests
/// with Transfer-Encoding get 411, with Content-Encoding 415, with a head that could be read in two
/// ways or a body where the method has none 400, with too many headers 431; beyond the byte limit
/// 413, beyond the deadline the connection is closed; beyond the limits of a caller they wait or
/// get 429 (core/limits.h). Header values reach handlers as they came: nothing is decoded, but of
/// Accept-Encoding only gzip is left.
class GuardServer : public httplib::Server {
 public:
  explicit GuardServer(Limits limits = {});
  ~GuardServer() override;
  /// Listens on a unix socket; removes a stale file first; the socket gets `mode`. False when
  /// another server is alive behind it or it cannot be made (reason in `why`).
  bool BindUnix(const std::string& path, int mode, std::string* why);
  /// Binds host:port (port 0: any, returned by port()). No SO_REUSEPORT: a taken port is an error.
  bool BindTcp(const std::string& host, int port, std::string* why);
  int port() const { return port_; }
  /// Serves until Stop(). REQUIRES: a successful Bind.
  bool Serve();
  /// Returns once Serve(), called in another thread, can be stopped by Stop().
  void AwaitServing();
  /// Accepts and reads nothing more; requests that have arrived still get their answers. Serve()
  /// then returns.
  void Stop();
  /// Calls the handlers of all requests that wait (AnswerLater) once more. Thread-safe.
  void WakeWaiting() { poller_.WakeWaiting(); }
  /// What its callers have now, of what core/limits.h limits. Thread-safe.
  void AddUses(limits::Uses& uses) { poller_.AddUses(uses); }

  // Set these before Serve().
  /// The server speaks TLS with this certificate; without one it speaks plain HTTP.
  std::shared_ptr<const TlsContext> tls;
  /// A pre-routing check of the user's, after the guards: return true when it answered.
  std::function<bool(const httplib::Request&, httplib::Response&)> before;
  /// Callers without limits; by default root and the server's own user on a unix socket. Must not
  /// wait: the thread that reads all connections calls it. Peer::user is not known to it.
  std::function<bool(const Peer&)> trusted;
  /// Whom a request is charged to ("user alice") when the connection does not say: by a token, by a
  /// proxy; "" = whoever has the connection. Must not wait, as above.
  std::function<std::string(const Peer&, const Head&)> charge;

 private:
  bool process_and_close_socket(socket_t sock) override;
  Served ServeOne(Connection& connection);
  void CloseListener();
  const Limits limits_;
  int port_ = 0, listener_ = -1;
  Poller poller_;
};

/// The caller of `request`, as GuardServer recorded it (never from what the client said).
Peer PeerOf(const httplib::Request& request);

/// Whether the client takes an answer that is compressed already, with brotli.
bool AcceptsBrotli(const httplib::Request& request);

/// In a handler, for long polls: the request waits without a thread, and the handler is called
/// again at WakeWaiting() unless `nothing_new`, or after `at_most`; what it answers now is thrown
/// away. REQUIRES: the body is empty or short, and the handler keeps count of WaitedFor();
/// `nothing_new` does not wait.
void AnswerLater(std::chrono::milliseconds at_most, std::function<bool()> nothing_new = {});
/// How long ago the request arrived; 0 while it has not waited.
std::chrono::milliseconds WaitedFor();

}  // namespace cigri::http
