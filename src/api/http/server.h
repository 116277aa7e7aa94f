// The API daemon's listeners: a unix socket and, when configured, a TCP address.
#pragma once
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "api/http/context.h"
#include "api/http/identity.h"
#include "api/http/router.h"
#include "http/server_fwd.h"

namespace cigri::api {

/// Every route of the grid.
Router AllRoutes();

/// Serves `router` until Stop() or its end.
class ApiServer {
 public:
  ApiServer(Context& context, Router router);
  ~ApiServer();
  ApiServer(const ApiServer&) = delete;

  /// Listens on a unix socket, which everybody may open: the kernel says who they are.
  /// Throws Fatal(kExitUnavailable) when it cannot.
  void ListenUnix(const std::string& path, int mode = 0666);
  /// `address` = "127.0.0.1:8080" (port 0: any). Returns the port.
  int ListenTcp(const std::string& address);
  /// Reads the certificate again when it has changed, or `always`; requests go on. A pair that cannot
  /// be used is logged, and the present one stays.
  void RefreshCertificate(bool always);
  /// Finishes what runs and ends the listeners. May be called twice.
  void Stop();

 private:
  void Serve(std::unique_ptr<http::GuardServer> server);
  std::unique_ptr<http::GuardServer> MakeServer();
  bool Before(const httplib::Request& request, httplib::Response& response);
  void Handle(const httplib::Request& request, httplib::Response& response);
  Caller Identify(const httplib::Request& request, const Request& translated);
  Request Translate(const httplib::Request& request, const std::string& id) const;

  Context& context_;
  const Router router_;
  Identity identity_;
  std::shared_ptr<http::TlsContext> tls_;  ///< of API_TLS_CERT
  std::string base_;  ///< API_BASE, stripped where it is present
  const std::set<std::string> hosts_;  ///< API_HOSTS
  std::mutex mutex_;                   ///< of servers_: news come in another thread
  std::vector<std::unique_ptr<http::GuardServer>> servers_;
  std::vector<std::thread> threads_;
  std::vector<std::string> sockets_;
};

}  // namespace cigri::api
