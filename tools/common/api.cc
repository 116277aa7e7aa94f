#include "tools/common/api.h"

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <list>
#include <mutex>
#include <optional>
#include <thread>

#include "core/config.h"
#include "core/text.h"
#include "tools/common/ssh_forward.h"

namespace cigri::tools {
namespace {

// Of one's own grid, else of the site, whose users need no configuration. Its socket may be missing
// while its API does not run, and its configuration is not theirs to read.
std::string DefaultSocket(const Site& site) {
  const std::string own = CigriHome() + "/run/api.sock";
  const auto exists = [](const std::string& path) { return access(path.c_str(), F_OK) == 0; };
  const char* named = std::getenv("CIGRICONFFILE");  // another file than the site's
  const bool here = (named == nullptr || *named == '\0') && exists(site.configuration);
  return !exists(own) && (here || exists(site.socket)) ? site.socket : own;
}

std::string SiteAddress(const Config& config) {
  const bool tls = config.GetBool("API_SSL", false);
  std::string host = config.Get("API_HOST");
  if (host.find(':') != host.npos && host.front() != '[') host = "[" + host + "]";
  return std::string(tls ? "https://" : "http://") + host + ":" +
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

std::string HintWhereNoneIs(const std::string& address) {
  if (!StartsWith(address, "unix:"))
    return "is this the address (--api, $CIGRI_API, or API_HOST in cigri.conf), and does it run "
           "there?";
  if (address == "unix:" + Site{}.socket)
    return "the grid of this host does not run; its operators: `systemctl status cigri-api`";
  return "start a grid with `cigri up`, or name its API with --api or $CIGRI_API";
}

bool SaysInDoubt(const http::Response& response) {
  if (response.outcome != http::Outcome::kAnswered || response.status != 503) return false;
  const auto body = nlohmann::json::parse(response.body, nullptr, false);
  return body.is_object() && body.value("in_doubt", nlohmann::json()) == true;
}

Fatal NobodyKnows(const std::string& addresses) {
  return Fatal(kExitTryLater, "the API at " + addresses + " has not said whether it has done it",
               "look with gridstat before trying again");
}

// How long the tool asks several APIs of which none takes its request, and its pause between.
constexpr std::chrono::seconds kPatience{4};
// The same while nobody knows what became of a request: a database that fails over is back by then.
constexpr std::chrono::seconds kPatienceInDoubt{60};
constexpr std::chrono::milliseconds kPause{200};
// How long one of several may be silent about a Get before the next one is asked too: its host may
// be paused, cut off or busy. Twice as long in each round after the patience.
constexpr std::chrono::milliseconds kSilence{1100}, kLongestSilence{8000};

}  // namespace

std::string ApiAddress(const std::string& option, const Site& site) {
  std::string address = option;
  if (const char* given = std::getenv("CIGRI_API"); address.empty() && given != nullptr)
    address = given;
  if (address.empty()) {
    const Config config = Config::Load();
    address = config.Get("API_SOCKET");
    if (address.empty() && config.Has("API_HOST")) address = SiteAddress(config);
  }
  if (address.empty()) address = DefaultSocket(site);
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

Api::Way::Way() = default;
Api::Way::Way(Way&&) noexcept = default;
Api::Way& Api::Way::operator=(Way&&) noexcept = default;
Api::Way::~Way() = default;

Api::Way Api::WayTo(const std::string& address, bool several) {
  Way way;
  try {
    std::string reached = address;
    if (StartsWith(reached, "ssh://")) {
      way.ssh = std::make_unique<SshForward>(reached);
      reached = "unix:" + way.ssh->tunnel.socket();
    }
    const auto endpoint = http::Endpoint::Parse(reached);
    way.client = std::make_unique<http::Client>(endpoint, ClientOptions(endpoint));
  } catch (const Fatal& e) {
    if (!several || e.code() != kExitUnavailable) throw;
    way.unreachable = e.what();
  }
  return way;
}

bool Api::Connect() {
  way_ = {};  // first: of two tunnels, the older one ends
  way_ = WayTo(address(), addresses_.size() > 1);
  return way_.client != nullptr;
}

Answer Api::Ask(const Send& send, Repeat repeat) {
  auto until = std::chrono::steady_clock::now() + kPatience;
  const bool several = addresses_.size() > 1, reads = repeat == Repeat::kReads;
  bool in_doubt = false;
  for (std::size_t asked = 1;; ++asked) {
    http::Response response;
    response.error = way_.unreachable;
    if (way_.client != nullptr) response = send(*way_.client);
    const bool cut = response.outcome == http::Outcome::kMaybeSent;
    const bool away = response.outcome == http::Outcome::kAnswered && response.status == 503;
    const bool not_done = response.outcome == http::Outcome::kNotSent || (reads && away);
    if (repeat == Repeat::kOnce && !in_doubt && (cut || SaysInDoubt(response))) {
      in_doubt = true;
      until = std::chrono::steady_clock::now() + kPatienceInDoubt;
    }
    const bool again =
        in_doubt ? cut || away || not_done
                 : (reads && cut) || (several ? not_done : MayComeBack(address(), response));
    const bool round = asked % addresses_.size() == 0;
    const bool over = round && std::chrono::steady_clock::now() >= until;
    if (again && over && in_doubt) throw NobodyKnows(Join(addresses_, ", "));
    if (!again || over) return Take(response);
    if (round) std::this_thread::sleep_for(kPause);
    at_ = (at_ + 1) % addresses_.size();
    Connect();
  }
}

// Asks addresses in turn, each in a thread of its own that goes on while the next ones are asked.
class Api::Race {
 public:
  struct Attempt {
    std::size_t at = 0;
    Way way;
    http::Response response;
    std::exception_ptr error;
    bool is_over = false;
    std::thread thread;
  };

  Race(const Api& api, const std::string& path) : api_(api), path_(path) {}
  ~Race() {
    std::unique_lock lock(mutex_);
    for (auto& attempt : attempts_)
      while (!attempt.is_over) {
        if (attempt.way.client) attempt.way.client->Stop();
        changed_.wait_for(lock, std::chrono::milliseconds(20), [&] { return attempt.is_over; });
      }
    lock.unlock();
    for (auto& attempt : attempts_) attempt.thread.join();
  }
  bool empty() const { return attempts_.empty(); }

  /// `way`: to that address, if there is one already.
  void Ask(std::size_t at, Way way) {
    Attempt& attempt = attempts_.emplace_back();
    attempt.at = at, attempt.way = std::move(way);
    attempt.thread = std::thread([this, &attempt] { Run(attempt); });
  }
  /// The next that is over, if there is one by then.
  std::optional<Attempt> Next(std::chrono::steady_clock::time_point until) {
    std::unique_lock lock(mutex_);
    auto over = attempts_.end();
    changed_.wait_until(lock, until, [&] {
      over = std::find_if(attempts_.begin(), attempts_.end(),
                          [](const auto& attempt) { return attempt.is_over; });
      return over != attempts_.end();
    });
    if (over == attempts_.end()) return std::nullopt;
    over->thread.join();  // it has let the mutex go for good
    std::optional<Attempt> result(std::move(*over));
    attempts_.erase(over);
    return result;
  }

 private:
  void Run(Attempt& attempt) {
    http::Response response;
    std::exception_ptr error;
    try {
      if (!attempt.way.client) {
        Way way = WayTo(api_.addresses_[attempt.at], true);
        const std::lock_guard lock(mutex_);
        attempt.way = std::move(way);
      }
      response.error = attempt.way.unreachable;
      if (attempt.way.client) response = attempt.way.client->Get(path_);
    } catch (...) {
      error = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    attempt.response = std::move(response);
    attempt.error = error;
    attempt.is_over = true;
    changed_.notify_all();
  }

  const Api& api_;
  const std::string path_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Attempt> attempts_;
};

// All APIs have one database: when the patience is over, what one says of it is the answer.
Answer Api::FirstOf(const std::string& path) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now(), until = begin + kPatience;
  const auto limit = begin + std::chrono::seconds(60);
  std::optional<http::Response> no_database, failed;
  auto silence = kSilence;
  auto next = begin;
  std::size_t asked = 0;
  Race race(*this, path);
  for (;;) {
    if (Clock::now() >= next) {
      race.Ask((at_ + asked) % addresses_.size(), std::exchange(way_, {}));
      if (++asked % addresses_.size() == 0 && Clock::now() >= until)
        silence = std::min(2 * silence, kLongestSilence);
      next = Clock::now() + silence;
    }
    const bool patient = Clock::now() < until;
    if (auto attempt = race.Next(patient ? std::min(next, until) : std::min(next, limit))) {
      if (attempt->error) std::rethrow_exception(attempt->error);
      const bool away = attempt->response.status == 503;
      if (attempt->response.outcome == http::Outcome::kAnswered && !away) {
        at_ = attempt->at, way_ = std::move(attempt->way);
        return Take(attempt->response);
      }
      (away ? no_database : failed) = attempt->response;
      // Nobody is left to wait for.
      if (race.empty())
        next = Clock::now() + (asked % addresses_.size() == 0 ? kPause : kPause * 0);
    }
    if (Clock::now() < until) continue;
    if (no_database) return Take(*no_database);
    if (failed && (race.empty() || Clock::now() >= limit)) return Take(*failed);
    if (Clock::now() >= limit)
      throw Fatal(kExitTryLater, "no API at " + Join(addresses_, ", ") + " has answered");
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
                HintWhereNoneIs(address()));
  if (response.outcome == http::Outcome::kMaybeSent)
    throw Fatal(kExitTryLater, "the API at " + address() + " has not answered: " + response.error,
                "it may have done it all the same: look with gridstat before trying again");
  Answer answer;
  answer.status = response.status;
  answer.text = response.body;
  answer.body = nlohmann::json::parse(response.body, nullptr, false);
  if (answer.body.is_discarded()) answer.body = nullptr;
  const auto& type = response.content_type;
  const bool bytes = StartsWith(type, "text/plain") || StartsWith(type, "application/octet-stream");
  // What a proxy says to those who have not logged in is a success, too.
  if (answer.ok() && !bytes && !answer.body.is_structured())
    throw Fatal(kExitUnavailable,
                "what answers at " + address() + " is no API of CiGri (a log-in page?)",
                "log in there, or name the API with --api or $CIGRI_API");
  return answer;
}

Answer Api::Get(const std::string& path, std::chrono::milliseconds wait) {
  // A long poll is silent because it was asked to be.
  if (wait.count() == 0 && addresses_.size() > 1) return FirstOf(path);
  return Ask([&](http::Client& client) { return client.Get(path, {}, wait); }, Repeat::kReads);
}
Answer Api::Stream(const std::string& path, const http::Client::Sink& sink) {
  return Ask([&](http::Client& client) { return client.Stream(path, sink); });
}
Answer Api::Delete(const std::string& path) {
  return Ask([&](http::Client& client) { return client.Delete(path); });
}
Answer Api::Post(const std::string& path, const nlohmann::json& body) {
  const std::string text = body.dump();
  return Ask([&](http::Client& client) { return client.Post(path, text); });
}
Answer Api::Patch(const std::string& path, const nlohmann::json& body) {
  const std::string text = body.dump();
  return Ask([&](http::Client& client) { return client.Patch(path, text); });
}
Answer Api::PostOnce(const std::string& path, const std::string& text) {
  const http::Client::Headers key{{"Idempotency-Key", RandomHex(16)}};
  return Ask([&](http::Client& client) { return client.Post(path, text, "application/json", key); },
             Repeat::kOnce);
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
