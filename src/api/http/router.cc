#include "api/http/router.h"

#include <algorithm>

#include "api/http/cigri3.h"
#include "api/http/live.h"
#include "core/error.h"
#include "core/log.h"
#include "core/text.h"

namespace cigri::api {
namespace {

std::vector<std::string> Segments(const std::string& path) {
  std::vector<std::string> out;
  for (auto& part : Split(path, '/'))
    if (!part.empty()) out.push_back(std::move(part));
  return out;
}

bool IsNumber(const std::string& s) {
  // 18 digits always fit in 64 bits.
  return !s.empty() && s.size() <= 18 &&
         std::all_of(s.begin(), s.end(), [](char c) { return c >= '0' && c <= '9'; });
}

struct Capture {
  std::string name, kind;  // kind: "", text, rest
};

std::optional<Capture> CaptureOf(const std::string& segment) {
  if (segment.size() < 3 || segment.front() != '{' || segment.back() != '}') return std::nullopt;
  const auto parts = Split(std::string_view(segment).substr(1, segment.size() - 2), ':');
  return Capture{parts[0], parts.size() > 1 ? parts[1] : ""};
}

bool Matches(const std::vector<std::string>& pattern, const std::vector<std::string>& path,
             std::map<std::string, std::string>* captures) {
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const auto capture = CaptureOf(pattern[i]);
    if (capture && capture->kind == "rest") {
      if (i >= path.size()) return false;
      (*captures)[capture->name] =
          Join(std::vector<std::string>(path.begin() + static_cast<long>(i), path.end()), "/");
      return true;
    }
    if (i >= path.size()) return false;
    if (!capture && pattern[i] != path[i]) return false;
    if (capture && capture->kind.empty() && !IsNumber(path[i])) return false;
    if (capture) (*captures)[capture->name] = path[i];
  }
  return pattern.size() == path.size();
}

// SQLSTATEs. The transient ones: a lock that was not to be had, a statement that an operator ended,
// a deadlock.
constexpr char kDiskFull[] = "53100";
constexpr const char* kTransient[] = {"55P03", "57014", "40P01"};

Reply ErrorReply(const ApiError& error) {
  Reply reply = Reply::Json(error.Body(), error.status);
  if (error.status == 503) reply.headers["Retry-After"] = "1";
  return reply;
}

// The answer for an exception of a handler. Only unexpected exceptions are logged here.
Reply ReplyOf(const std::exception& e, const Request& request) {
  if (const auto* api = dynamic_cast<const ApiError*>(&e)) return ErrorReply(*api);
  if (const auto* fatal = dynamic_cast<const Fatal*>(&e)) {
    const bool away = fatal->code() == kExitUnavailable || fatal->code() == kExitTryLater;
    if (!away) log::error("[{}] {} {}: {}", request.id, request.method, request.path, e.what());
    return ErrorReply(
        ApiError(away ? 503 : 500, away ? "Unavailable" : "Error", e.what(), fatal->hint()));
  }
  if (dynamic_cast<const db::InDoubt*>(&e) != nullptr)
    return ErrorReply(InDoubt("look before you repeat it"));
  log::error("[{}] {} {}: {}", request.id, request.method, request.path, e.what());
  if (dynamic_cast<const db::Broken*>(&e) != nullptr)
    return ErrorReply(
        ApiError(503, "Unavailable", "the database has gone away", "try again in some seconds"));
  const auto* sql = dynamic_cast<const db::SqlError*>(&e);
  if (sql != nullptr && sql->sqlstate() == kDiskFull)
    return ErrorReply(ApiError(503, "Unavailable",
                               "the disk of the database is full: nothing was stored",
                               "try again when its operators have made room"));
  if (sql != nullptr && std::find(std::begin(kTransient), std::end(kTransient), sql->sqlstate()) !=
                            std::end(kTransient))
    return ErrorReply(ApiError(503, "Unavailable",
                               "a statement waited in vain for others of the database, or its "
                               "operators ended it",
                               "try again in some seconds"));
  return ErrorReply(
      ApiError(500, "Error", "internal error, see the log (request " + request.id + ")"));
}

void CheckAccess(Access access, const Request& request) {
  if (access == Access::kAnyone) return;
  if (!request.caller.identified()) throw Forbidden("not authenticated");
  if (access == Access::kOperator) RequireOperator(request);
}

}  // namespace

void Router::Add(const std::string& method, const std::string& pattern, Handler handler,
                 Access access) {
  routes_.push_back({method, Segments(pattern), std::move(handler), access});
}

void Router::GetLive(const std::string& pattern, Handler handler, Access access) {
  Get(pattern, Live(std::move(handler)), access);
  routes_.back().live = true;
}

const Router::Route* Router::Find(const std::string& method, const std::string& path,
                                  std::map<std::string, std::string>* captures) const {
  const auto segments = Segments(path);
  for (const auto& route : routes_) {
    captures->clear();
    if (route.method == method && Matches(route.segments, segments, captures)) return &route;
  }
  return nullptr;
}

bool Router::ForAnyone(const std::string& method, const std::string& path) const {
  std::map<std::string, std::string> ignored;
  const Route* route = Find(method, path, &ignored);
  return route != nullptr && route->access == Access::kAnyone;
}

std::vector<std::string> Router::Routes() const {
  std::vector<std::string> all;
  for (const auto& route : routes_) all.push_back(route.method + " /" + Join(route.segments, "/"));
  return all;
}

std::vector<Router::Entry> Router::Table() const {
  std::vector<Entry> all;
  for (const auto& route : routes_)
    all.push_back({route.method, "/" + Join(route.segments, "/"), route.access, route.live});
  return all;
}

std::string Router::Allow(const std::string& path) const {
  const auto segments = Segments(path);
  std::vector<std::string> methods;
  std::map<std::string, std::string> ignored;
  for (const auto& route : routes_)
    if (Matches(route.segments, segments, &ignored) &&
        std::find(methods.begin(), methods.end(), route.method) == methods.end())
      methods.push_back(route.method);
  const auto has = [&](const char* method) {
    return std::find(methods.begin(), methods.end(), method) != methods.end();
  };
  if (has("GET")) methods.push_back("HEAD");
  // A POST stands for the others by `_method`.
  if (!has("POST") && (has("PUT") || has("PATCH") || has("DELETE"))) methods.push_back("POST");
  std::sort(methods.begin(), methods.end());
  return Join(methods, ", ");
}

Reply Router::Answer(Context& context, Request& request) const {
  const Route* route = Find(request.method, request.path, &request.captures);
  if (route != nullptr) {
    CheckAccess(route->access, request);
    if (request.method == "GET") return route->handler(context, request);
    const ActingFor acting(request.caller.user, request.caller.source, request.id);
    return route->handler(context, request);
  }
  const std::string allow = Allow(request.path);
  if (allow.empty())
    throw ApiError(404, "Not found",
                   request.method + " " + ValidUtf8(request.path) + " not found on this server");
  if (request.method != "OPTIONS")
    throw ApiError(405, "Method not allowed", request.method + " is not possible here",
                   "possible: " + allow);
  Reply reply;
  reply.status = 204;
  return reply;
}

Reply Router::Dispatch(Context& context, Request request) const {
  Reply reply;
  try {
    reply = Answer(context, request);
  } catch (const std::exception& e) {
    reply = ReplyOf(e, request);
  }
  if (request.of_cigri3) ShapeForCigri3(request, reply);
  if (const std::string allow = Allow(request.path); !allow.empty()) reply.headers["Allow"] = allow;
  return reply;
}

void RequireOperator(const Request& request) {
  if (!request.caller.is_operator) throw Forbidden("only operators of the grid may do this");
}

void RequireOwner(const Request& request, const std::string& owner, const std::string& what) {
  if (request.caller.is_operator || (request.caller.identified() && request.caller.user == owner))
    return;
  throw Forbidden(what + " belongs to " + owner);
}

}  // namespace cigri::api
