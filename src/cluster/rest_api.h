// One cluster's REST API: who calls, what an answer means, how a failure is worded. Drivers add
// paths and the reading of bodies.
#pragma once
#include <string>

#include "cluster/call_route.h"
#include "cluster/cluster.h"
#include "http/client.h"

namespace cigri::cluster {

/// The HTTP side of a driver. Options read from ClusterConfig::options: client_cert_file,
/// client_key_file, ca_file, verify_tls (default true).
class RestApi {
 public:
  /// How the identity travels.
  enum class Identity { kOar, kSlurm };
  RestApi(const ClusterConfig& config, TokenSource tokens, Identity identity);

  /// Plain calls as `user` ("" = nobody in particular). Throw CallFailed when the call is not made:
  /// kAuth without a valid token for the user, kBusy at the limiter; else the Response tells.
  http::Response Get(const std::string& path, const std::string& user);
  http::Response Delete(const std::string& path, const std::string& user);
  http::Response Post(const std::string& path, const std::string& body, const std::string& user);
  /// The POST of a batch: when it is not made, throws SubmitRefused, also after batch.send_by.
  http::Response PostBatch(const std::string& path, const std::string& body, const Batch& batch);
  /// GET that must be answered with 200; throws CallFailed saying `what` could not be done.
  std::string GetBody(const std::string& what, const std::string& path, const std::string& user);
  nlohmann::json GetJson(const std::string& what, const std::string& path, const std::string& user);

  /// "cannot WHAT: HTTP 503 from http://...: Service Unavailable".
  std::string Failure(const std::string& what, const http::Response& response) const;
  /// The exception for a response that was not the one hoped for.
  CallFailed Failed(const std::string& what, const http::Response& response) const;
  /// Why there is no usable token for `user`: "" when there is one, or none is needed. One that the
  /// cluster has refused is not usable for some minutes.
  std::string TokenError(const std::string& user);
  /// The cluster has refused what we know `user` by there: why, as a readable message.
  std::string Refused(const std::string& user);
  /// What kind of refusal that is for a submission.
  SubmitRefused::Why RefusalKind() const;

  /// Cluster::Relayed().
  http::Response Relayed(const RelayedCall& call);

  int calls() const { return calls_; }
  const std::string& url() const { return url_; }
  const ClusterConfig& config() const { return config_; }
  /// The cluster's clock at the last answer (Date header), 0 = not reported.
  double clock() const { return clock_; }

 private:
  http::Client::Headers Headers(const std::string& user);
  void OarIdentity(const std::string& user, http::Client::Headers* headers);
  /// The token to use for `user`, "" and `error` when there is none.
  std::string TokenOf(const std::string& user, std::string* error);
  http::Response Call(const std::string& method, const std::string& path, const std::string& body,
                      const std::string& user);
  http::Response Limited(CallLimiter::Clock::time_point until,
                         const std::function<http::Response()>& call);
  http::Response SendFromHere(const RelayedCall& call, const http::Client::Headers& headers);
  ClusterConfig config_;
  TokenSource tokens_;
  Identity identity_;
  std::string url_;
  http::Client client_;
  CallRoute route_;
  int calls_ = 0;
  double clock_ = 0;
  // By user: the token that was refused, and when.
  std::map<std::string, std::pair<std::string, std::chrono::steady_clock::time_point>> refused_;
};

/// Parses an answer; bytes that are no UTF-8 (a foreign user's job name) are replaced first.
/// Throws CallFailed(kGarbage) naming `what` when it is no JSON.
nlohmann::json ParseAnswer(const std::string& what, const std::string& body);

/// A number however it is written: 5, "5", {"set":true,"infinite":false,"number":5}, null.
double NumberIn(const nlohmann::json& value, double fallback = 0);
/// object[key] as the number of units of one node: from 0 to a million, so that sums stay numbers.
int CountIn(const nlohmann::json& object, const char* key);
/// A text, or "" for anything else.
std::string TextIn(const nlohmann::json& object, const char* key);
/// object[key], or null when there is none or `object` is none.
const nlohmann::json& At(const nlohmann::json& object, const char* key);

/// Unix time of an HTTP date ("Fri, 20 Nov 2026 10:00:00 GMT"), 0 when it is none.
double ParseHttpDate(const std::string& date);
/// The first words of an answer's body for messages: no tags, one line, at most 300 bytes.
std::string ErrorText(const std::string& body);

}  // namespace cigri::cluster
