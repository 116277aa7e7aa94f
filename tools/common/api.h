// How every tool finds the API and speaks to it. The tools use nothing else of the grid.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/error.h"
#include "http/client.h"

namespace cigri::tools {

/// Where the API of an installed grid listens, for all users of its host.
inline constexpr char kSiteSocket[] = "/run/cigri/api.sock";

/// What a host with an installed grid has: one of the two, readable or not. Tests have their own.
struct Site {
  std::string configuration = "/etc/cigri/cigri.conf", socket = kSiteSocket;
};

/// Where the API is: `option` (--api) when given, else $CIGRI_API, else API_SOCKET of the
/// configuration, else API_HOST, API_PORT, API_BASE and API_SSL as CiGri 3's clients have them,
/// else the embedded grid's socket, unix:<CigriHome()>/run/api.sock, else, when that is missing and
/// the host has a site's grid, that one's, unix:/run/cigri/api.sock. A bare path is a socket.
/// Several addresses are separated by commas.
std::string ApiAddress(const std::string& option, const Site& site = {});

/// Whether something says where the API is: `option` (--api), $CIGRI_API or the configuration.
bool ApiIsNamed(const std::string& option);

/// One answer of the API, of any status.
struct Answer {
  int status = 0;
  std::string text;
  nlohmann::json body;  ///< null when the answer was no JSON: a refusal, or a stream of bytes
  bool ok() const { return status >= 200 && status < 300; }
};

/// A connection to the API. Throws Fatal(kExitUnavailable) when there is none, and for a success
/// that is no answer of an API; every other answer is returned. Not for two threads at once.
/// $CIGRI_TOKEN is sent as a bearer token, but never over http:// to another host:
/// Fatal(kExitConfig).
class Api {
 public:
  /// `address` as ApiAddress gives it: unix:PATH, http://, https:// or
  /// ssh://[user@]host[:port][/socket], which forwards the socket by `ssh -L` for as long as this
  /// object lives. Of several, separated by commas, it speaks to the first that takes requests. A
  /// request that has certainly not been carried out goes to the next one; when none takes it, the
  /// tool asks all of them again for some seconds. A Get without `wait` that one has not answered
  /// within a second goes to the next one too, and the first answer counts.
  explicit Api(const std::string& address);
  ~Api();
  Api(Api&&) noexcept;

  /// `wait`: silence allowed until the answer; 0 means API_TIMEOUT (60 s).
  Answer Get(const std::string& path, std::chrono::milliseconds wait = {});
  /// The body of a success goes to `sink` as it arrives; a refusal is returned as an answer.
  /// Throws Fatal(kExitTryLater) when the API broke off in the middle.
  Answer Stream(const std::string& path, const http::Client::Sink& sink);
  Answer Delete(const std::string& path);
  Answer Post(const std::string& path, const nlohmann::json& body);
  Answer Patch(const std::string& path, const nlohmann::json& body);
  /// JDL text or parameters as they stand, which the API takes once however often they are sent
  /// (Idempotency-Key): they are sent again while nobody knows what became of them. Throws
  /// Fatal(kExitTryLater) after a minute.
  Answer PostOnce(const std::string& path, const std::string& text);
  /// Blocks of parameters. May be repeated by the caller after a Fatal with kExitTryLater, which
  /// says that the connection was cut meanwhile.
  Answer PutText(const std::string& path, const std::string& text, const std::string& type,
                 const http::Client::Headers& headers);
  /// The one that it speaks to.
  const std::string& address() const { return addresses_[at_]; }

 private:
  using Send = std::function<http::Response(http::Client&)>;
  enum class Repeat {
    kUnlessSent,  ///< when it has certainly not been carried out
    kReads,       ///< also when an API has no database (503), or ends in the middle of its answer
    kOnce         ///< also while nobody knows what became of it: the API carries it out once
  };
  Answer Ask(const Send& send, Repeat repeat = Repeat::kUnlessSent);
  Answer FirstOf(const std::string& path);
  struct SshForward;
  /// The way to one address.
  struct Way {
    std::unique_ptr<SshForward> ssh{};
    std::unique_ptr<http::Client> client{};  ///< none...
    std::string unreachable{};               ///< ...and why
    Way();
    Way(Way&&) noexcept;
    Way& operator=(Way&&) noexcept;
    ~Way();
  };
  static Way WayTo(const std::string& address, bool several);
  bool Connect();
  Answer Take(const http::Response& response) const;
  class Race;
  std::vector<std::string> addresses_;
  std::size_t at_ = 0;
  Way way_;
};

/// What an answer that is no success ends a tool with: 65 (400, 413, 415, 422), 77 (401, 403),
/// 1 (404, 409, 410), 75 (429, 503), else 70; with the API's message and hint. `what` names what
/// could not be done: "show campaign 12".
Fatal Refused(const Answer& answer, const std::string& what);

/// The body of an answer that must be a success; throws Refused(answer, what) when it is not.
nlohmann::json Expect(Answer answer, const std::string& what);

}  // namespace cigri::tools
