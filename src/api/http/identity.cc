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

// CiGri names the CGI variable (HTTP_X_CIGRI_USER); we need the header. Without HTTP_ it is the
// header itself: X_CIGRI_USER, of which web servers make the same variable, is another header here.
std::string HeaderName(const std::string& variable) {
  return StartsWith(variable, "HTTP_") ? ReplaceAll(variable.substr(5), "_", "-") : variable;
}

// What follows "Bearer "; "" without it.
std::string TokenOf(const std::string& authorization) {
  if (!StartsWith(authorization, "Bearer ")) return "";
  return std::string(Trim(std::string_view(authorization).substr(7)));
}

// Also percent signs: one proxy passes them on, the next one decodes them, and the name is another.
bool IsUserName(const std::string& name) {
  return name.find_first_not_of(
             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
             "0123456789._@-") == name.npos;
}

std::string OwnName() {
  const passwd* pw = getpwuid(geteuid());
  return pw == nullptr ? "" : pw->pw_name;
}

std::string SourceOf(const http::Peer& peer) {
  if (!peer.unix_socket) return peer.address;
  return "unix socket, uid " + std::to_string(peer.uid) + ", pid " + std::to_string(peer.pid);
}

// Whom the proxy itself has seen: the last address of the header. What is before it, its client
// may have written.
std::string BehindProxy(const std::string& forwarded_for) {
  if (forwarded_for.empty()) return "";
  const std::string last(Trim(Split(forwarded_for, ',').back()));
  const bool address =
      last.size() <= 64 && last.find_first_not_of("0123456789abcdefABCDEF.:[]") == last.npos;
  return address ? ", proxy for " + last : "";
}

}  // namespace

std::set<std::string> SplitNames(const std::string& list) {
  std::set<std::string> out;
  for (const auto& word : Split(ReplaceAll(list, ",", " "), ' '))
    if (!word.empty()) out.insert(word);
  return out;
}

Identity::Identity(Context& context)
    : context_(context),
      header_(HeaderName(context.config.Get("API_HEADER_USERNAME", "HTTP_X_CIGRI_USER"))),
      operators_(SplitNames(context.config.Get("API_OPERATORS"))) {
  operators_.insert("root");
  if (const std::string owner = OwnName(); !owner.empty()) operators_.insert(owner);
  for (const std::string& proxy : SplitNames(context.config.Get("API_TRUSTED_PROXY"))) {
    if (!StartsWith(proxy, "unix:"))
      proxies_.insert(http::PlainAddress(proxy));
    else if (const passwd* pw = getpwnam(proxy.c_str() + 5); pw != nullptr)
      proxy_uids_.insert(static_cast<int>(pw->pw_uid));
  }
}

bool Identity::IsProxy(const http::Peer& peer) const {
  return peer.unix_socket ? proxy_uids_.count(peer.uid) != 0 : proxies_.count(peer.address) != 0;
}

bool Identity::IsTrusted(const http::Peer& peer) const {
  const bool own = peer.uid == 0 || peer.uid == static_cast<int>(geteuid());
  return IsProxy(peer) || (peer.unix_socket && own);
}

std::string Identity::ChargedTo(const http::Peer& peer, const http::Head& head) {
  if (IsProxy(peer)) return "user " + head.Value(header_);
  if (peer.unix_socket) return "";
  const std::string token = TokenOf(head.Value("Authorization"));
  if (token.empty()) return "";
  const std::string hash = HashToken(token);
  std::lock_guard lock(mutex_);
  const auto at = tokens_.find(hash);
  const bool known = at != tokens_.end() && at->second.until > std::chrono::steady_clock::now();
  return known && !at->second.user.empty() ? "user " + at->second.user : "";
}

std::string Identity::NamedByProxy(const httplib::Request& request) const {
  if (request.get_header_value_count(header_) != 1) return "";
  const std::string name = request.get_header_value(header_);
  const std::string lower = Lower(name);
  if (lower == "unknown" || lower == "null") return "";
  if (!IsUserName(name))
    throw BadRequest(header_ + " names no user: letters, digits and ._@- are allowed");
  return name;
}

void Identity::IdentifyByToken(const std::string& token, Caller* caller) {
  const std::string hash = HashToken(token);
  const auto now = std::chrono::steady_clock::now();
  Known known;
  {
    std::lock_guard lock(mutex_);
    if (const auto at = tokens_.find(hash); at != tokens_.end()) known = at->second;
  }
  if (known.until <= now) {
    known = {"", 0, now + kRemember};
    if (const auto row =
            context_.Transact([&](db::Tx& tx) { return tx.First(sql::kUserOfApiToken, hash); })) {
      known.user = row->grid_user;
      known.id = row->id;
    }
    std::lock_guard lock(mutex_);
    if (tokens_.size() >= kMostTokens) tokens_.clear();
    tokens_[hash] = known;
  }
  caller->user = known.user;
  if (known.id != 0) caller->source += ", token " + std::to_string(known.id);
}

bool Identity::IsOperator(const std::string& user) {
  if (user.empty()) return false;
  if (operators_.count(user) != 0) return true;
  const auto now = std::chrono::steady_clock::now();
  {
    std::lock_guard lock(mutex_);
    if (operators_until_ > now) return more_operators_.count(user) != 0;
  }
  std::set<std::string> names = context_.Read([&](db::Tx& tx) {
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
  const http::Peer peer = http::PeerOf(request);
  Caller caller;
  caller.source = SourceOf(peer);
  caller.named_by_proxy = IsProxy(peer);
  const std::string token = TokenOf(request.get_header_value("Authorization"));
  if (caller.named_by_proxy) {
    caller.user = NamedByProxy(request);
    caller.source += BehindProxy(request.get_header_value("X-Forwarded-For"));
  } else if (peer.unix_socket) {
    caller.user = peer.user;
    caller.named_by_kernel = true;
  } else if (!token.empty()) {
    IdentifyByToken(token, &caller);
  }
  caller.is_operator = IsOperator(caller.user);
  return caller;
}

}  // namespace cigri::api
