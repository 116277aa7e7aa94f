#include "api/http/server.h"

#include <unistd.h>

#include "api/http/change_notifier.h"
#include "api/http/cigri3.h"
#include "api/http/foreign_pages.h"
#include "api/http/metrics.h"
#include "core/config.h"
#include "core/error.h"
#include "core/log.h"
#include "core/text.h"
#include "http/server.h"

namespace cigri::api {
namespace {

constexpr std::size_t kMostBodyOfStrangers = limits::kStrangerBytes.value;
constexpr std::size_t kMostForm = limits::kFormBytes.value;  // compiled into cpp-httplib

void Send(const httplib::Request& request, httplib::Response& response, Reply reply) {
  response.status = reply.status;
  for (const auto& [name, value] : reply.headers) response.set_header(name, value);
  if (reply.stream) {
    response.set_chunked_content_provider(
        reply.content_type, [body = std::move(reply.stream)](std::size_t, httplib::DataSink& sink) {
          bool gone = false;
          try {
            body([&](std::string_view piece) {
              gone = gone || (!piece.empty() && !sink.write(piece.data(), piece.size()));
              return !gone;
            });
          } catch (const std::exception& e) {
            log::error("a streamed answer was cut: {}", e.what());
            return false;
          }
          if (!gone) sink.done();
          return !gone;
        });
    return;
  }
  if (reply.headers.count("Content-Encoding") != 0) {
    // Of known length: httplib would compress a body or a stream once more.
    const std::size_t bytes = reply.text.size();
    response.set_content_provider(
        bytes, reply.content_type,
        [text = std::move(reply.text)](std::size_t at, std::size_t n, httplib::DataSink& out) {
          return out.write(text.data() + at, n);
        });
  } else if (!reply.content_type.empty()) {
    response.set_content(reply.text, reply.content_type);
  } else if (reply.status != 204 && reply.status != 304) {
    const bool pretty = request.has_param("pretty") && request.get_param_value("pretty") != "false";
    std::string text = std::move(reply.json_text);
    if (pretty)
      text = reply.json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
    else if (text.empty())
      text = OneLine(reply.json);
    response.set_content(text + "\n", "application/json");
  }
}

std::uint64_t BodyLength(const httplib::Request& request) {
  return std::strtoull(request.get_header_value("Content-Length").c_str(), nullptr, 10);
}

bool IsForm(const httplib::Request& request) {
  return StartsWith(Lower(request.get_header_value("Content-Type")),
                    "application/x-www-form-urlencoded");
}

// Refused before a byte of the body is read: the connection ends with the answer.
bool Refuse(const httplib::Request& request, httplib::Response& response, const ApiError& error) {
  Send(request, response, Reply::Json(error.Body(), error.status));
  response.set_header("Connection", "close");
  return true;
}

void CheckMethod(const Request& request) {
  static const std::set<std::string> kMethods = {"GET",   "POST",   "PUT",
                                                 "PATCH", "DELETE", "OPTIONS"};
  if (kMethods.count(request.method) == 0)
    throw BadRequest("_method is none of GET, POST, PUT, PATCH, DELETE and OPTIONS");
}

std::shared_ptr<http::TlsContext> CertificateOf(const Config& config) {
  const std::string cert = config.Get("API_TLS_CERT");
  if (cert.empty()) return nullptr;
  return std::make_shared<http::TlsContext>(cert, config.Get("API_TLS_KEY", cert));
}

std::multimap<std::string, std::string> ParseQuery(const std::string& text) {
  httplib::Params params;
  httplib::detail::parse_query_text(text, params);
  return params;
}

}  // namespace

ApiServer::ApiServer(Context& context, Router router)
    : context_(context),
      router_(std::move(router)),
      identity_(context),
      tls_(CertificateOf(context.config)),
      base_(context.config.Get("API_BASE")),
      hosts_(SplitNames(context.config.Get("API_HOSTS"))) {
  while (!base_.empty() && base_.back() == '/') base_.pop_back();
  context_.notifier->OnNews([this] {
    std::lock_guard lock(mutex_);
    for (auto& server : servers_) server->WakeWaiting();
  });
  context_.add_uses = [this](limits::Uses& uses) {
    std::lock_guard lock(mutex_);
    for (auto& server : servers_) server->AddUses(uses);
  };
}

ApiServer::~ApiServer() { Stop(); }

void ApiServer::Stop() {
  context_.notifier->OnNews(nullptr);
  context_.notifier->Stop();
  for (auto& server : servers_) server->Stop();
  for (auto& thread : threads_) thread.join();
  threads_.clear();
  servers_.clear();
  for (const auto& path : sockets_) ::unlink(path.c_str());
  sockets_.clear();
}

std::unique_ptr<http::GuardServer> ApiServer::MakeServer() {
  http::Limits limits;
  limits.max_request_bytes = limits::kBodyBytes.value;
  auto server = std::make_unique<http::GuardServer>(limits);
  const auto handle = [this](const httplib::Request& q, httplib::Response& r) { Handle(q, r); };
  server->trusted = [this](const http::Peer& peer) { return identity_.IsTrusted(peer); };
  server->charge = [this](const http::Peer& peer, const http::Head& head) {
    return identity_.ChargedTo(peer, head);
  };
  server->before = [this](const httplib::Request& q, httplib::Response& r) { return Before(q, r); };
  server->Get(".*", handle).Post(".*", handle).Put(".*", handle);
  server->Patch(".*", handle).Delete(".*", handle).Options(".*", handle);
  return server;
}

void ApiServer::Serve(std::unique_ptr<http::GuardServer> server) {
  threads_.emplace_back([s = server.get()] { s->Serve(); });
  server->AwaitServing();
  std::lock_guard lock(mutex_);
  servers_.push_back(std::move(server));
}

void ApiServer::ListenUnix(const std::string& path, int mode) {
  auto server = MakeServer();
  std::string why;
  if (!server->BindUnix(path, mode, &why)) throw Fatal(kExitUnavailable, "cannot serve: " + why);
  sockets_.push_back(path);
  Serve(std::move(server));
}

int ApiServer::ListenTcp(const std::string& address) {
  const auto listen = ParseListenAddress(address);
  if (!listen)
    throw Fatal(kExitConfig, "API_LISTEN = \"" + address + "\" is no address", kListenAddressHint);
  auto server = MakeServer();
  server->tls = tls_;
  std::string why;
  if (!server->BindTcp(listen->host, listen->port, &why))
    throw Fatal(kExitUnavailable, "cannot serve: " + why);
  const int bound = server->port();
  Serve(std::move(server));
  return bound;
}

void ApiServer::RefreshCertificate(bool always) {
  if (!tls_ || !(always || tls_->Changed())) return;
  std::string why;
  if (tls_->Reload(&why)) log::info("has a new certificate");
  else log::error("{}; the present certificate stays", why);
}

bool ApiServer::Before(const httplib::Request& request, httplib::Response& response) {
  const auto length = BodyLength(request);
  if (length > kMostForm && IsForm(request))
    return Refuse(request, response,
                  ApiError(415, "Unsupported media type",
                           "a form-encoded body may have " + std::to_string(kMostForm) + " bytes",
                           "send it with Content-Type: application/json"));
  if (length <= kMostBodyOfStrangers || http::PeerOf(request).unix_socket) return false;
  try {
    if (identity_.Of(request).identified()) return false;
  } catch (const ApiError& e) {
    return Refuse(request, response, e);
  } catch (const std::exception& e) {
    return Refuse(request, response, ApiError(503, "Unavailable", e.what()));
  }
  return Refuse(request, response, Forbidden("not authenticated"));
}

Request ApiServer::Translate(const httplib::Request& request, const std::string& id) const {
  Request out;
  out.id = id;
  out.waited = http::WaitedFor();
  out.accepts_brotli = http::AcceptsBrotli(request);
  out.method = request.method == "HEAD" ? "GET" : request.method;
  out.path = request.path;
  const bool below_base =
      !base_.empty() && (out.path == base_ || StartsWith(out.path, base_ + "/"));
  if (below_base) out.path.erase(0, base_.size());
  if (out.path.empty()) out.path = "/";
  while (out.path.size() > 1 && out.path.back() == '/') out.path.pop_back();
  if (const auto at = request.target.find('?'); at != request.target.npos)
    out.query = ParseQuery(request.target.substr(at + 1));
  out.content_type = request.get_header_value("Content-Type");
  if (IsForm(request)) out.form = ParseQuery(request.body);
  for (const auto& [name, value] : request.headers) out.headers.emplace(Lower(name), value);
  out.body = request.body;
  out.link_prefix = request.get_header_value("X-Cigri-Api-Path-Prefix");
  if (below_base) out.base = base_;
  out.of_cigri3 = IsOfCigri3(below_base, out);
  if (const auto override_method = out.form.find("_method");
      out.method == "POST" && override_method != out.form.end())
    out.method = override_method->second;
  if (request.method == "POST" && out.HasQuery("_method")) out.method = out.Query("_method");
  std::transform(out.method.begin(), out.method.end(), out.method.begin(), ::toupper);
  return out;
}

// Without a database nobody is known. What anybody may ask for is answered all the same: whether
// the grid works.
Caller ApiServer::Identify(const httplib::Request& request, const Request& translated) {
  try {
    return identity_.Of(request);
  } catch (const ApiError&) {
    throw;
  } catch (const std::exception&) {
    if (!router_.ForAnyone(translated.method, translated.path)) throw;
    return {};
  }
}

void ApiServer::Handle(const httplib::Request& request, httplib::Response& response) {
  Request translated = Translate(request, RandomHex(4));
  const std::string line = translated.method + " " + translated.path, id = translated.id;
  const bool reads = translated.method == "GET" || translated.method == "OPTIONS";
  const std::string method = translated.method;
  const auto start = std::chrono::steady_clock::now();
  Reply reply;
  try {
    CheckMethod(translated);
    translated.caller = Identify(request, translated);
    RefuseForeignPages(request.method, translated, hosts_);
    const std::string user = translated.caller.user;
    reply = router_.Dispatch(context_, std::move(translated));
    // One line for each write; never bodies, queries or tokens.
    if (!reads) log::info("[{}] {} {} -> {}", id, user.empty() ? "-" : user, line, reply.status);
  } catch (const ApiError& e) {
    reply = Reply::Json(e.Body(), e.status);
  } catch (const std::exception& e) {
    log::warn("[{}] {}: {}", id, line, e.what());
    const auto* fatal = dynamic_cast<const Fatal*>(&e);
    const ApiError error(503, "Unavailable",
                         fatal != nullptr ? e.what() : "the database has gone away",
                         fatal != nullptr ? fatal->hint() : "try again in some seconds");
    reply = Reply::Json(error.Body(), error.status);
  }
  if (reply.later.count() > 0) return http::AnswerLater(reply.later, std::move(reply.nothing_new));
  context_.metrics->Answered(method, reply.status, std::chrono::steady_clock::now() - start);
  response.set_header("X-Request-Id", id);
  response.set_header("X-Content-Type-Options", "nosniff");
  Send(request, response, std::move(reply));
}

}  // namespace cigri::api
