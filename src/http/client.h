// An HTTP client whose errors say whether the server may have acted on the request.
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace cigri::http {

/// Where a server is. "unix:/run/api.sock", "unix:/run/api.sock:/prefix",
/// "http://host:6668/oarapi-cigri", "https://host/slurm".
struct Endpoint {
  std::string scheme;  ///< unix, http, https
  std::string host;    ///< host, or the path of the socket
  int port = 0;
  std::string prefix;  ///< "" or "/oarapi-cigri", without a slash at its end
  /// Throws Fatal(kExitConfig) with the text when it is none of these.
  static Endpoint Parse(const std::string& url);
  std::string Text() const;
};

struct Options {
  std::chrono::milliseconds connect_timeout{5000};
  std::chrono::milliseconds read_timeout{25000};  ///< silence allowed while waiting for an answer
  std::map<std::string, std::string> headers;     ///< sent with every request
  std::string basic_user, basic_password;
  std::string client_cert_file, client_key_file, ca_file;
  bool verify_tls = true;
  std::size_t most_bytes = 512u << 20;  ///< of a body that is kept; a longer one ends the call
};

/// How a call ended. `status` counts only with kAnswered.
enum class Outcome {
  kAnswered,
  kNotSent,   ///< refused, no such host, TLS failed: the server has not seen the request
  kMaybeSent  ///< cut or timed out after the request had gone: it may have been carried out
};

struct Response {
  Outcome outcome = Outcome::kNotSent;
  int status = 0;
  std::string body;
  std::string content_type;
  std::multimap<std::string, std::string> headers;  ///< names in lower case
  std::string error;  ///< for readers, when not answered: "no answer within 25 s"
  bool ok() const { return outcome == Outcome::kAnswered && status >= 200 && status < 300; }
};

/// One kept-alive connection. Never follows redirects (credentials would follow). Not for two
/// threads at once. A kept connection that the server closed meanwhile is reopened automatically
/// for GET and DELETE only; for POST, PUT and PATCH the answer is then kMaybeSent.
class Client {
 public:
  Client(Endpoint endpoint, Options options);
  ~Client();
  Client(Client&&) noexcept;

  using Headers = std::map<std::string, std::string>;
  /// `path` is appended to the endpoint's prefix and must begin with '/'; encode it yourself
  /// (PercentEncode). `read_timeout` of 0 means the one of Options.
  Response Get(const std::string& path, const Headers& headers = {},
               std::chrono::milliseconds read_timeout = {});
  Response Delete(const std::string& path, const Headers& headers = {});
  Response Post(const std::string& path, const std::string& body,
                const std::string& content_type = "application/json", const Headers& headers = {},
                std::chrono::milliseconds read_timeout = {});
  Response Put(const std::string& path, const std::string& body,
               const std::string& content_type = "application/json", const Headers& headers = {});
  Response Patch(const std::string& path, const std::string& body,
                 const std::string& content_type = "application/json", const Headers& headers = {});
  /// GET whose body goes to `sink` as it arrives when the status is 2xx (else it is in
  /// Response::body). A sink that returns false ends the call; a cut answer is kMaybeSent.
  using Sink = std::function<bool(std::string_view)>;
  Response Stream(const std::string& path, const Sink& sink, const Headers& headers = {});
  /// Closes the kept connection, so that the next POST cannot meet one that the server has closed.
  void Close();
  /// Ends the request that another thread makes just now, at once. May come too early, before that
  /// request has a connection: repeat it until the request is over.
  void Stop();
  const Endpoint& endpoint() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// RFC 3986: everything but letters, digits and -._~ (and '/' when `keep_slash`) as %XX.
std::string PercentEncode(std::string_view s, bool keep_slash = false);

}  // namespace cigri::http
