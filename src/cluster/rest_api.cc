#include "cluster/rest_api.h"

#include <algorithm>
#include <ctime>

#include "core/text.h"
#include "core/whole.h"
#include "secrets/secrets.h"

namespace cigri::cluster {
namespace {

http::Options ClientOptions(const ClusterConfig& config) {
  http::Options o;
  o.read_timeout = config.call_timeout;
  o.connect_timeout = std::min(o.connect_timeout, config.call_timeout);
  o.client_cert_file = config.options.value("client_cert_file", "");
  o.client_key_file = config.options.value("client_key_file", "");
  o.ca_file = config.options.value("ca_file", "");
  o.verify_tls = config.options.value("verify_tls", true);
  if (config.auth_type == "basic") {
    o.basic_user = config.auth_user;
    o.basic_password = config.auth_password;
  }
  return o;
}

double Now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// For how long a refused token is not tried again.
constexpr std::chrono::minutes kRefusedFor{5};

// Whether the API itself has answered: a proxy gives these codes for an API that is down.
bool OfTheApi(const http::Response& r) {
  return r.outcome == http::Outcome::kAnswered && (r.status < 502 || r.status > 504);
}

// A value takes many times the bytes of its text: of a text of brackets, a hundred times.
constexpr std::size_t kMostParsed = 64u << 20, kMostErrorBody = 1u << 20;
constexpr int kDeepestAnswer = 100;

// The part of an error body that its writers meant to be read.
std::string BodyText(const std::string& body) {
  if (body.size() > kMostErrorBody) return ErrorText(body);
  const auto parsed = nlohmann::json::parse(ValidUtf8(body), nullptr, false);
  if (!parsed.is_object()) return ErrorText(body);
  if (const auto message = TextIn(parsed, "message"); !message.empty()) {
    const auto title = TextIn(parsed, "title");
    return ErrorText(title.empty() ? message : title + ": " + message);
  }
  // OAR 3: words, or a list of what does not fit.
  if (const auto& detail = At(parsed, "detail"); detail.is_string())
    return ErrorText(detail.get<std::string>());
  for (const auto& e : At(parsed, "detail"))
    if (const auto text = TextIn(e, "msg"); !text.empty())
      return ErrorText(text + " (" + At(e, "loc").dump() + ")");
  for (const auto& e : At(parsed, "errors"))
    for (const char* key : {"description", "error"})
      if (const auto text = TextIn(e, key); !text.empty()) return ErrorText(text);
  return ErrorText(body);
}

}  // namespace

RestApi::RestApi(const ClusterConfig& config, TokenSource tokens, Identity identity)
    : config_(config),
      tokens_(std::move(tokens)),
      identity_(identity),
      client_(http::Endpoint::Parse(config.api_url), ClientOptions(config)),
      route_(config.other_host) {
  url_ = client_.endpoint().Text();
}

// Who gives a token: the operator's program, else the user.
std::string RestApi::TokenOf(const std::string& user, std::string* error) {
  const std::string whose = user.empty() ? "" : " of user " + user;
  std::string token, why;
  try {
    token = tokens_ ? tokens_(user) : "";
  } catch (const std::runtime_error& e) {
    why = std::string("; its token_command: ") + e.what();
  }
  // A header says to Slurm for whom the grid's own account speaks; OAR 3 takes who has the token
  // for the user.
  const bool own = user.empty() || user == config_.auth_user || identity_ != Identity::kOar;
  if (token.empty() && own) token = config_.auth_password;
  const auto expiry = TokenExpiry(token);
  if (token.empty())
    *error =
        "no token" + whose + " for cluster " + config_.name + ": give one with gridtoken" + why;
  else if (expiry && static_cast<double>(*expiry) <= Now())
    *error = "the token" + whose + " for cluster " + config_.name + " expired " +
             HumanDuration(Now() - static_cast<double>(*expiry)) +
             " ago: give a new one with gridtoken" + why;
  return token;
}

std::string RestApi::TokenError(const std::string& user) {
  if (config_.auth_type != "jwt") return "";
  std::string error;
  const auto token = TokenOf(user, &error);
  const auto it = refused_.find(user);
  const bool lately =
      it != refused_.end() && std::chrono::steady_clock::now() - it->second.second < kRefusedFor;
  if (error.empty() && lately && it->second.first == token)
    error = "the token of user " + user + " is refused by cluster " + config_.name +
            ": give a new one with gridtoken";
  return error;
}

std::string RestApi::Refused(const std::string& user) {
  if (config_.auth_type == "jwt") {
    std::string error;
    refused_[user] = {TokenOf(user, &error), std::chrono::steady_clock::now()};
    return TokenError(user);
  }
  return "cluster " + config_.name + " does not accept us as user " + user +
         ": check auth_type, user and password of this cluster (gridclusters --check " +
         config_.name + "); is there an account \"" + user + "\" there (gridadmin mapping)?";
}

SubmitRefused::Why RestApi::RefusalKind() const {
  return config_.auth_type == "jwt" ? SubmitRefused::Why::kToken : SubmitRefused::Why::kUser;
}

void RestApi::OarIdentity(const std::string& user, http::Client::Headers* headers) {
  (*headers)["Accept"] = "application/json";
  if (config_.auth_type == "none" || config_.auth_type == "jwt" || user.empty()) return;
  const std::string name = config_.auth_header.empty() ? "X-Remote-Ident" : config_.auth_header;
  (*headers)[name] = user;
  // Apache 2.4 hides headers with an underscore from CGIs unless the site maps them.
  if (name.find('_') != name.npos) (*headers)[ReplaceAll(name, "_", "-")] = user;
}

http::Client::Headers RestApi::Headers(const std::string& user) {
  http::Client::Headers headers;
  std::string token;
  if (config_.auth_type == "jwt") {
    std::string error;
    token = TokenOf(user, &error);
    if (!error.empty()) throw CallFailed(CallFailed::Why::kAuth, error);
  }
  if (identity_ == Identity::kOar) {
    OarIdentity(user, &headers);
    if (!token.empty()) headers["Authorization"] = "Bearer " + token;
  } else {
    headers["X-SLURM-USER-NAME"] = user.empty() ? config_.auth_user : user;
    if (!token.empty()) headers["X-SLURM-USER-TOKEN"] = token;
  }
  return headers;
}

http::Response RestApi::Limited(CallLimiter::Clock::time_point until,
                                const std::function<http::Response()>& call) {
  const auto& limiter = config_.limiter;
  if (limiter) limiter->Before(until);
  auto response = call();
  ++calls_;
  if (const auto date = response.headers.find("date"); date != response.headers.end())
    clock_ = ParseHttpDate(date->second);
  const bool answered = OfTheApi(response);
  if (limiter)
    limiter->After(answered, answered ? "" : Failure("speak to " + config_.name, response));
  return response;
}

http::Response RestApi::SendFromHere(const RelayedCall& call,
                                     const http::Client::Headers& headers) {
  if (!config_.no_password.empty()) {
    http::Response response;
    response.outcome = http::Outcome::kNotSent;
    response.error = config_.no_password;
    return response;
  }
  if (call.method == "GET") return client_.Get(call.path, headers);
  if (call.method == "DELETE") return client_.Delete(call.path, headers);
  // A kept connection that the server closes meanwhile would leave every such POST in doubt.
  client_.Close();
  return client_.Post(call.path, call.body, "application/json", headers);
}

http::Response RestApi::Relayed(const RelayedCall& call) {
  return SendFromHere(call, Headers(call.cluster_user));
}

http::Response RestApi::Call(const std::string& method, const std::string& path,
                             const std::string& body, const std::string& user) {
  const auto headers = config_.no_password.empty() ? Headers(user) : http::Client::Headers();
  return Limited(CallLimiter::Clock::now() + config_.call_timeout, [&] {
    const RelayedCall call{method, path, body, config_.call_timeout, user};
    return route_.Send(call, [&] { return SendFromHere(call, headers); });
  });
}

http::Response RestApi::Get(const std::string& path, const std::string& user) {
  return Call("GET", path, "", user);
}

http::Response RestApi::Delete(const std::string& path, const std::string& user) {
  return Call("DELETE", path, "", user);
}

http::Response RestApi::Post(const std::string& path, const std::string& body,
                             const std::string& user) {
  return Call("POST", path, body, user);
}

http::Response RestApi::PostBatch(const std::string& path, const std::string& body,
                                  const Batch& batch) {
  using Why = SubmitRefused::Why;
  const auto until = std::min(batch.send_by, CallLimiter::Clock::now() + config_.call_timeout);
  bool sent = false;
  try {
    const auto headers = Headers(batch.cluster_user);
    client_.Close();
    return Limited(until, [&] {
      if (CallLimiter::Clock::now() >= batch.send_by)
        throw SubmitRefused(Why::kTemporary, "its time to be sent had passed");
      sent = true;
      return client_.Post(path, body, "application/json", headers);
    });
  } catch (const CallFailed& e) {
    if (sent) throw SubmitInDoubt(e.what());
    throw SubmitRefused(e.why() == CallFailed::Why::kAuth ? Why::kToken : Why::kTemporary,
                        e.what());
  }
}

std::string RestApi::GetBody(const std::string& what, const std::string& path,
                             const std::string& user) {
  auto response = Get(path, user);
  if (!response.ok()) throw Failed(what, response);
  return std::move(response.body);
}

nlohmann::json RestApi::GetJson(const std::string& what, const std::string& path,
                                const std::string& user) {
  return ParseAnswer(what + " (" + url_ + ")", GetBody(what, path, user));
}

std::string RestApi::Failure(const std::string& what, const http::Response& response) const {
  const std::string head = "cannot " + what + ": ";
  if (response.outcome != http::Outcome::kAnswered) return head + response.error;
  const auto words = BodyText(response.body);
  return head + "HTTP " + std::to_string(response.status) + " from " + url_ +
         (words.empty() ? "" : ": " + words);
}

CallFailed RestApi::Failed(const std::string& what, const http::Response& response) const {
  using Why = CallFailed::Why;
  const auto text = Failure(what, response);
  if (response.outcome == http::Outcome::kNotSent) return {Why::kUnreachable, text};
  if (response.outcome == http::Outcome::kMaybeSent) return {Why::kTimeout, text};
  if (response.status == 401 || response.status == 403) return {Why::kAuth, text};
  return {Why::kServer, text};
}

nlohmann::json ParseAnswer(const std::string& what, const std::string& body) {
  const auto fail = [&](const std::string& why) {
    return CallFailed(CallFailed::Why::kGarbage, "cannot " + what + ": the answer " + why);
  };
  if (body.size() > kMostParsed)
    throw fail("has more than " + std::to_string(kMostParsed >> 20) + " MB");
  const auto shallow = [&](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    if (depth > kDeepestAnswer)
      throw fail("is nested deeper than " + std::to_string(kDeepestAnswer) + " levels");
    return true;
  };
  auto parsed = nlohmann::json::parse(body, shallow, false);
  if (parsed.is_discarded() && !IsValidUtf8(body))
    parsed = nlohmann::json::parse(ValidUtf8(body), shallow, false);
  if (parsed.is_discarded())
    throw fail("is no JSON: " + (body.empty() ? "(empty)" : ErrorText(body)));
  return parsed;
}

const nlohmann::json& At(const nlohmann::json& object, const char* key) {
  static const nlohmann::json nothing;
  if (!object.is_object()) return nothing;
  const auto it = object.find(key);
  return it == object.end() ? nothing : *it;
}

double NumberIn(const nlohmann::json& value, double fallback) {
  if (value.is_number()) return value.get<double>();
  if (value.is_object()) {
    if (At(value, "set") == false) return fallback;
    return NumberIn(At(value, "number"), fallback);
  }
  if (!value.is_string()) return fallback;
  char* end = nullptr;
  const auto& text = value.get_ref<const std::string&>();
  const double number = std::strtod(text.c_str(), &end);
  return end != text.c_str() && *end == '\0' ? number : fallback;
}

int CountIn(const nlohmann::json& object, const char* key) {
  constexpr double kMost = 1e6;
  return Whole<int>(std::min(std::max(0.0, NumberIn(At(object, key))), kMost));
}

std::string TextIn(const nlohmann::json& object, const char* key) {
  const auto& value = At(object, key);
  return value.is_string() ? value.get<std::string>() : "";
}

double ParseHttpDate(const std::string& date) {
  std::tm tm{};
  return strptime(date.c_str(), "%a, %d %b %Y %H:%M:%S", &tm) == nullptr
             ? 0
             : static_cast<double>(timegm(&tm));
}

std::string ErrorText(const std::string& body) {
  std::string text;
  bool tag = false;
  for (char c : ValidUtf8(std::string_view(body).substr(0, 4000))) {
    if (c == '<') tag = true;
    const bool space = tag || static_cast<unsigned char>(c) <= ' ';
    if (c == '>') tag = false;
    if (!space)
      text += c;
    else if (!text.empty() && text.back() != ' ')
      text += ' ';
  }
  if (text.size() > 300) text = ValidUtf8(text.substr(0, 300)) + "...";
  return std::string(Trim(text));
}

}  // namespace cigri::cluster
