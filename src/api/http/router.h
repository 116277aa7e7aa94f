// Which handler answers which method and path.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "api/http/context.h"
#include "api/http/message.h"

namespace cigri::api {

using Handler = std::function<Reply(Context&, const Request&)>;

/// Who may call a route at all; whose data it shows is the handler's to check (RequireOwner).
enum class Access { kAnyone, kUser, kOperator };

/// A table of routes. Patterns are made of segments: "/campaigns/{id}/jobs" ({id}: digits),
/// "/clusters/{name:text}" (any one segment), "/files/{path:rest}" (all that follows).
/// The first that was added wins.
class Router {
 public:
  void Add(const std::string& method, const std::string& pattern, Handler handler,
           Access access = Access::kUser);
  void Get(const std::string& pattern, Handler h, Access a = Access::kUser) {
    Add("GET", pattern, std::move(h), a);
  }
  /// A Get whose answer a client may wait for (live.h).
  void GetLive(const std::string& pattern, Handler handler, Access access = Access::kUser);
  void Post(const std::string& pattern, Handler h, Access a = Access::kUser) {
    Add("POST", pattern, std::move(h), a);
  }
  void Put(const std::string& pattern, Handler h, Access a = Access::kUser) {
    Add("PUT", pattern, std::move(h), a);
  }
  void Patch(const std::string& pattern, Handler h, Access a = Access::kUser) {
    Add("PATCH", pattern, std::move(h), a);
  }
  void Delete(const std::string& pattern, Handler h, Access a = Access::kUser) {
    Add("DELETE", pattern, std::move(h), a);
  }

  /// Answers the request; every exception has become a reply. Fills request.captures.
  Reply Dispatch(Context& context, Request request) const;
  /// "GET, POST" of a path; "" when no route has it.
  std::string Allow(const std::string& path) const;
  /// Whether anybody may ask for it, also while nobody can be identified.
  bool ForAnyone(const std::string& method, const std::string& path) const;
  /// A route as it was added: {"GET", "/clusters/{name:text}", kUser, false}.
  struct Entry {
    std::string method, pattern;
    Access access;
    bool live;
  };
  std::vector<Entry> Table() const;
  /// "GET /campaigns/{id}", in the order of their addition.
  std::vector<std::string> Routes() const;

 private:
  struct Route {
    std::string method;
    std::vector<std::string> segments;
    Handler handler;
    Access access;
    bool live = false;
  };
  const Route* Find(const std::string& method, const std::string& path,
                    std::map<std::string, std::string>* captures) const;
  Reply Answer(Context& context, Request& request) const;
  std::vector<Route> routes_;
};

/// Throws 403 unless the caller is an operator.
void RequireOperator(const Request& request);
/// Throws 403 unless the caller is `owner` or an operator; `what` = "campaign 12".
void RequireOwner(const Request& request, const std::string& owner, const std::string& what);

// The routes, a file each. Every Add...Routes is called once, in routes.cc.
void AddSubmitRoutes(Router& router);      // submit/submit.cc
void AddControlRoutes(Router& router);     // control/campaigns.cc: cancel, pause, resume, purge
void AddSettingsRoutes(Router& router);    // control/patch.cc: PATCH
void AddTaskRoutes(Router& router);        // control/tasks.cc: adding, retry
void AddUploadRoutes(Router& router);      // submit/uploads.cc
void AddEventWriteRoutes(Router& router);  // control/events.cc
void AddUserRoutes(Router& router);        // control/user_settings.cc: notifications, tokens
void AddProgressRoutes(Router& router);    // progress.cc
void AddMonitorRoutes(Router& router);     // read/health.cc: health, ready, metrics

}  // namespace cigri::api
