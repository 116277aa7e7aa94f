#include "api/http/identity.h"

#include <pwd.h>
#include <sql/users.h>
#include <unistd.h>

#include "core/text.h"
#include "http/server.h"
#include "secrets/secrets.h"

namespace cigri::api {
namespace {

// How long a token or an operator may outlive its removal.
constexpr auto kRemember = std::chrono::seconds(5);
constexpr std::size_t kMostTokens = 1000;

std::set<std::string> SplitNames(const std::string& list) {
  std::set<std::string> out;
  for (const auto& word : Split(ReplaceAll(list, ",", " "), ' '))
    if (!word.empty()) out.insert(word);
  return out;
}

// CiGri names the CGI variable (HTTP_X_CIGRI_USER); we need the header.
std::string HeaderName(const std::string& variable) {
  return ReplaceAll(StartsWith(variable, "HTTP_") ? variable.substr(5) : variable, "_", "-");
}

std::string OwnName() {
  const passwd* pw = getpwuid(geteuid());
  return pw == nullptr ? "" : pw->pw_name;
}

}  // namespace

Identity::Identity(Context& context)
    : context_(context),
      header_(HeaderName(context.config.Get("API_HEADER_USERNAME", "HTTP_X_CIGRI_USER"))),
      proxies_(SplitNames(context.config.Get("API_TRUSTED_PROXY"))),
      operators_(SplitNames(context.config.Get("API_OPERATORS"))) {
  operators_.insert("root");
  if (const std::string owner = OwnName(); !owner.empty()) operators_.insert(owner);
}

std::string Identity::NamedByProxy(const httplib::Request& request) const {
  if (request.get_header_value_count(header_) != 1) return "";
  const std::string name = request.get_header_value(header_);
  const std::string lower = Lower(name);
  return lower == "unknown" || lower == "null" || !IsValidUtf8(name) ? "" : name;
}

std::string Identity::UserOfToken(const std::string& token) {
  const std::string hash = HashToken(token);
  const auto now = std::chrono::steady_clock::now();
  {
    std::lock_guard lock(mutex_);
    if (const auto at = tokens_.find(hash); at != tokens_.end() && at->second.until > now)
      return at->second.user;
  }
  std::string user = context_.Transact([&](db::Tx& tx) {
    const auto rows = tx.Exec(sql::kUserOfApiToken, hash);
    return rows.empty() ? std::string() : rows[0].grid_user;
  });
  std::lock_guard lock(mutex_);
  if (tokens_.size() >= kMostTokens) tokens_.clear();
  tokens_[hash] = {user, now + kRemember};
  return user;
}

std::string Identity::UserOf(const httplib::Request& request) {
  const http::Peer peer = http::PeerOf(request);
  if (peer.unix_socket) {
    if (proxies_.count("unix:" + peer.user) != 0) return NamedByProxy(request);
    return peer.user;
  }
  if (proxies_.count(request.remote_addr) != 0) return NamedByProxy(request);
  const std::string authorization = request.get_header_value("Authorization");
  if (!StartsWith(authorization, "Bearer ")) return "";
  return UserOfToken(std::string(Trim(std::string_view(authorization).substr(7))));
}

bool Identity::IsOperator(const std::string& user) {
  if (user.empty()) return false;
  if (operators_.count(user) != 0) return true;
  const auto now = std::chrono::steady_clock::now();
  {
    std::lock_guard lock(mutex_);
    if (operators_until_ > now) return more_operators_.count(user) != 0;
  }
  std::set<std::string> names = context_.Transact([&](db::Tx& tx) {
    std::set<std::string> found;
    for (const auto& row : tx.Exec(sql::kOperatorNames)) found.insert(row.name);
    return found;
  });
  std::lock_guard lock(mutex_);
  more_operators_ = std::move(names);
  operators_until_ = now + kRemember;
  return more_operators_.count(user) != 0;
}

Caller Identity::Of(const httplib::Request& request) {
  Caller caller;
  caller.user = UserOf(request);
  caller.is_operator = IsOperator(caller.user);
  return caller;
}

}  // namespace cigri::api
