#include "tools/common/api.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <thread>

#include "core/config.h"
#include "core/text.h"
#include "tools/common/ssh_forward.h"

namespace cigri::tools {
namespace {

constexpr const char* kSiteSocket = "/run/cigri/api.sock";

// Of one's own grid, else of the site, whose users need no configuration.
std::string DefaultSocket() {
  const std::string own = CigriHome() + "/run/api.sock";
  const auto exists = [](const std::string& path) { return access(path.c_str(), F_OK) == 0; };
  return !exists(own) && exists(kSiteSocket) ? kSiteSocket : own;
}

std::string SiteAddress(const Config& config) {
  const bool tls = config.GetBool("API_SSL", false);
  return std::string(tls ? "https://" : "http://") + config.Get("API_HOST") + ":" +
         config.Get("API_PORT", tls ? "443" : "80") + config.Get("API_BASE");
}

bool IsLoopback(const std::string& host) {
  return host == "localhost" || host == "[::1]" ||
         (StartsWith(host, "127.") && host.find_first_not_of("0123456789.") == host.npos);
}

// Whoever reads the token on its way is its user until it is revoked.
void CheckTokenStaysSecret(const http::Endpoint& endpoint) {
  if (endpoint.scheme == "http" && !IsLoopback(endpoint.host))
    throw Fatal(kExitConfig,
                "$CIGRI_TOKEN is not sent to " + endpoint.Text() +
                    ": everybody on the way could "
                    "read it",
                "use ssh://HOST or https:// (docs/security.md), or unset CIGRI_TOKEN");
}

http::Options ClientOptions(const http::Endpoint& endpoint) {
  const Config config = Config::Load();
  http::Options options;
  options.read_timeout = std::chrono::seconds(config.GetInt("API_TIMEOUT", 60, 1, 86400));
  const char* ca = std::getenv("CIGRI_CA");
  options.ca_file = ca != nullptr && *ca != '\0' ? ca : config.Get("API_CA_FILE");
  options.headers["Accept"] = "application/json";
  options.headers["X-Cigri-Api"] = "2";  // below API_BASE others get CiGri 3's answers
  if (const char* token = std::getenv("CIGRI_TOKEN"); token != nullptr && *token != '\0') {
    CheckTokenStaysSecret(endpoint);
    options.headers["Authorization"] = std::string("Bearer ") + token;
  }
  return options;
}

ExitCode CodeOf(int status) {
  switch (status) {
    case 400:
    case 413:
    case 415:
    case 422:
      return kExitBadInput;
    case 401:
    case 403:
      return kExitNoPermission;
    case 404:
    case 409:
    case 410:
      return kExitNo;
    case 429:
    case 503:
      return kExitTryLater;
    default:
      return kExitSoftware;
  }
}

std::string Text(const nlohmann::json& body, const char* key) {
  if (!body.is_object()) return "";
  const auto at = body.find(key);
  return at != body.end() && at->is_string() ? at->get<std::string>() : "";
}

// How long the tool asks several APIs of which none takes its request, and its pause between.
constexpr std::chrono::seconds kPatience{4};
constexpr std::chrono::milliseconds kPause{200};
// How long one of several may be silent about a Get, before the next one is asked: its host may be
// paused, or cut off. One that works takes as long only for very much; then all do, and each gets
// twice the time in each round when the patience is over.
constexpr std::chrono::milliseconds kSilence{1100}, kLeast{100}, kLongest{8000};

}  // namespace

std::string ApiAddress(const std::string& option) {
  std::string address = option;
  if (const char* given = std::getenv("CIGRI_API"); address.empty() && given != nullptr)
    address = given;
  if (address.empty()) {
    const Config config = Config::Load();
    address = config.Get("API_SOCKET");
    if (address.empty() && config.Has("API_HOST")) address = SiteAddress(config);
  }
  if (address.empty()) address = DefaultSocket();
  return address[0] == '/' ? "unix:" + address : address;
}

bool ApiIsNamed(const std::string& option) {
  const char* given = std::getenv("CIGRI_API");
  if (!option.empty() || (given != nullptr && *given != '\0')) return true;
  const Config config = Config::Load();
  return config.Has("API_SOCKET") || config.Has("API_HOST");
}

// An API of this machine that has died and is started again by its almighty: its socket stays.
bool MayComeBack(const std::string& address, const http::Response& response) {
  return StartsWith(address, "unix:") && response.outcome == http::Outcome::kNotSent &&
         access(address.c_str() + 5, F_OK) == 0;
}

struct Api::SshForward {
  explicit SshForward(const std::string& url) : tunnel(url) {}
  SshTunnel tunnel;
};

Api::Api(const std::string& address) {
  for (const auto& part : Split(address, ','))
    if (const std::string one(Trim(part)); !one.empty())
      addresses_.push_back(one[0] == '/' ? "unix:" + one : one);
  if (addresses_.empty()) addresses_.push_back(address);
  // One address that cannot be tried ends the tool; of several, the others are asked.
  while (!Connect() && at_ + 1 < addresses_.size()) ++at_;
}

bool Api::Connect() {
  client_.reset();
  ssh_.reset();
  try {
    std::string reached = address();
    if (StartsWith(reached, "ssh://")) {
      ssh_ = std::make_unique<SshForward>(reached);
      reached = "unix:" + ssh_->tunnel.socket();
    }
    const auto endpoint = http::Endpoint::Parse(reached);
    client_ = std::make_unique<http::Client>(endpoint, ClientOptions(endpoint));
  } catch (const Fatal& e) {
    if (addresses_.size() == 1 || e.code() != kExitUnavailable) throw;
    unreachable_ = e.what();
  }
  return client_ != nullptr;
}

// `reads`: the request changes nothing, so an API without a database (503) may be left, too.
// `hurried`: allows each of several addresses little silence while the tool is patient. All APIs
// have one database: what one says of it is the answer when the others are silent.
Answer Api::Ask(const Send& send, bool reads, const Hurried& hurried) {
  using std::chrono::milliseconds;
  const auto until = std::chrono::steady_clock::now() + kPatience;
  const bool several = addresses_.size() > 1;
  std::optional<http::Response> no_database;
  auto silence = kSilence;
  for (std::size_t asked = 1;; ++asked) {
    http::Response response;
    response.error = unreachable_;
    const auto left =
        std::chrono::duration_cast<milliseconds>(until - std::chrono::steady_clock::now());
    const bool hurry = several && hurried && silence < kLongest;
    const auto allowed = left > milliseconds(0) ? std::clamp(left, kLeast, kSilence) : silence;
    if (client_ != nullptr) response = hurry ? hurried(*client_, allowed) : send(*client_);
    const bool over = std::chrono::steady_clock::now() >= until;
    const bool silent = hurry && response.outcome == http::Outcome::kMaybeSent;
    const bool away =
        reads && response.outcome == http::Outcome::kAnswered && response.status == 503;
    if (several && away) no_database = response;
    if (over && no_database && (silent || away)) return Take(*no_database);
    const bool not_done = response.outcome == http::Outcome::kNotSent || away;
    const bool round = asked % addresses_.size() == 0;
    const bool again = silent || (several ? not_done : MayComeBack(address(), response));
    if (!again || (!silent && round && over)) return Take(response);
    if (round && over) silence *= 2;
    if (round && !silent) std::this_thread::sleep_for(kPause);
    at_ = (at_ + 1) % addresses_.size();
    Connect();
  }
}
Api::~Api() = default;
Api::Api(Api&&) noexcept = default;

Answer Api::Take(const http::Response& response) const {
  if (response.outcome == http::Outcome::kNotSent && StartsWith(address(), "https://"))
    throw Fatal(kExitUnavailable, "no API at " + address() + ": " + response.error,
                "name the certificate of its authority in $CIGRI_CA when it is your site's own");
  if (response.outcome == http::Outcome::kNotSent)
    throw Fatal(kExitUnavailable, "no API at " + Join(addresses_, ", ") + ": " + response.error,
                "start a grid with `cigri up`, or name its API with --api or $CIGRI_API");
  if (response.outcome == http::Outcome::kMaybeSent)
    throw Fatal(kExitTryLater, "the API at " + address() + " has not answered: " + response.error,
                "it may have done it all the same: look with gridstat before trying again");
  Answer answer;
  answer.status = response.status;
  answer.text = response.body;
  answer.body = nlohmann::json::parse(response.body, nullptr, false);
  if (answer.body.is_discarded()) answer.body = nullptr;
  return answer;
}

Answer Api::Get(const std::string& path, std::chrono::milliseconds wait) {
  Hurried hurried;  // a long poll is silent because it was asked to be
  if (wait.count() == 0)
    hurried = [&](http::Client& client, auto silence) { return client.Get(path, {}, silence); };
  return Ask([&](http::Client& client) { return client.Get(path, {}, wait); }, true, hurried);
}
Answer Api::Stream(const std::string& path, const http::Client::Sink& sink) {
  return Ask([&](http::Client& client) { return client.Stream(path, sink); });
}
Answer Api::Delete(const std::string& path) {
  return Ask([&](http::Client& client) { return client.Delete(path); });
}
Answer Api::Post(const std::string& path, const nlohmann::json& body) {
  return PostText(path, body.dump());
}
Answer Api::Patch(const std::string& path, const nlohmann::json& body) {
  const std::string text = body.dump();
  return Ask([&](http::Client& client) { return client.Patch(path, text); });
}
Answer Api::PostText(const std::string& path, const std::string& text, const std::string& type) {
  return Ask([&](http::Client& client) { return client.Post(path, text, type); });
}
Answer Api::PutText(const std::string& path, const std::string& text, const std::string& type,
                    const http::Client::Headers& headers) {
  return Ask([&](http::Client& client) { return client.Put(path, text, type, headers); });
}

Fatal Refused(const Answer& answer, const std::string& what) {
  std::string why = Text(answer.body, "message");
  if (why.empty()) why = Text(answer.body, "title");
  if (why.empty()) why = "HTTP " + std::to_string(answer.status);
  return Fatal(CodeOf(answer.status), "cannot " + what + ": " + why, Text(answer.body, "hint"));
}

nlohmann::json Expect(Answer answer, const std::string& what) {
  if (!answer.ok()) throw Refused(answer, what);
  return std::move(answer.body);
}

}  // namespace cigri::tools
