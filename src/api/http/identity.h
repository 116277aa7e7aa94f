// Who calls: the kernel, a token or a trusted proxy says; never the client alone.
#pragma once
#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "api/http/context.h"
#include "api/http/message.h"
#include "http/server_fwd.h"

namespace cigri::api {

/// The words of a list in cigri.conf, between blanks or commas.
std::set<std::string> SplitNames(const std::string& list);

/// Identifies callers (docs/design.md section 10): on the unix socket by SO_PEERCRED, unless the
/// peer is a trusted proxy that names its user; over TCP by a bearer token or a trusted proxy.
/// API_TRUSTED_PROXY lists proxies: addresses ("10.0.0.3") or local users ("unix:www-data").
/// Thread-safe.
class Identity {
 public:
  explicit Identity(Context& context);
  /// Throws Fatal or a db::Error when the database is needed and away, and a 400 when a proxy names
  /// what is no name.
  Caller Of(const httplib::Request& request);
  /// Callers without limits of their own: root, the daemon's user, and proxies: their users have
  /// the limits. Asks nobody, as ChargedTo() does.
  bool IsTrusted(const http::Peer& peer) const;
  /// "user alice" when a proxy or a token, known from before, says whose a request is; else "".
  std::string ChargedTo(const http::Peer& peer, const http::Head& head);

 private:
  bool IsProxy(const http::Peer& peer) const;
  void IdentifyByToken(const std::string& token, Caller* caller);
  std::string NamedByProxy(const httplib::Request& request) const;
  bool IsOperator(const std::string& user);

  struct Known {
    std::string user;
    std::int64_t id = 0;
    std::chrono::steady_clock::time_point until;
  };
  Context& context_;
  std::string header_;  ///< of the proxy, "X-Cigri-User"
  std::set<std::string> proxies_, operators_;
  std::set<int> proxy_uids_;  ///< of "unix:NAME"
  std::mutex mutex_;
  std::map<std::string, Known> tokens_;   ///< by hash; asked again after some seconds
  std::set<std::string> more_operators_;  ///< table `operators`, as of `operators_until_`
  std::chrono::steady_clock::time_point operators_until_;
};

}  // namespace cigri::api
