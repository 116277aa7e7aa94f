#include "http/client.h"

#include <httplib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>

#include "core/text.h"

namespace cigri::http {

struct Client::Impl {
  Endpoint endpoint;
  Options options;
  std::unique_ptr<httplib::Client> client;
  std::mutex client_mutex;  // of the pointer, for Stop()
  int used = 0;  // requests on the present connection object
  bool too_long = false, too_slow = false;  // the answer that came last

  httplib::Client& Get() {
    if (client) return *client;
    const std::lock_guard lock(client_mutex);
    used = 0;
    if (endpoint.scheme == "unix") {
      client = std::make_unique<httplib::Client>(endpoint.host, endpoint.port);
      client->set_address_family(AF_UNIX);
    } else {
      const std::string url =
          endpoint.scheme + "://" + endpoint.host + ":" + std::to_string(endpoint.port);
      client =
          std::make_unique<httplib::Client>(url, options.client_cert_file, options.client_key_file);
      if (endpoint.scheme == "https") {
        client->enable_server_certificate_verification(options.verify_tls);
        if (!options.ca_file.empty()) client->set_ca_cert_path(options.ca_file);
      }
    }
    client->set_tcp_nodelay(true);
    client->set_keep_alive(true);
    client->set_follow_location(false);
    client->set_connection_timeout(options.connect_timeout);
    client->set_write_timeout(options.read_timeout);
    if (!options.basic_user.empty())
      client->set_basic_auth(options.basic_user, options.basic_password);
    return *client;
  }

  void Reset() {
    const std::lock_guard lock(client_mutex);
    client.reset();
  }

  httplib::Headers Merge(const Headers& headers) const {
    httplib::Headers out;
    auto all = options.headers;
    for (const auto& [k, v] : headers) all[k] = v;
    if (endpoint.scheme == "unix" && all.count("Host") == 0) all["Host"] = "localhost";
    for (const auto& [k, v] : all) out.emplace(k, v);
    return out;
  }

  static Outcome OutcomeOf(httplib::Error error) {
    using E = httplib::Error;
    switch (error) {
      case E::Success:
        return Outcome::kAnswered;
      case E::Connection:
      case E::BindIPAddress:
      case E::SSLConnection:
      case E::SSLLoadingCerts:
      case E::SSLServerVerification:
        return Outcome::kNotSent;
      default:
        return Outcome::kMaybeSent;
    }
  }

  // httplib keeps no errno: what can be said of a unix socket is seen on its file.
  std::string WhyNotReached() const {
    if (endpoint.scheme != "unix") return "";
    if (access(endpoint.host.c_str(), W_OK) == 0) return ": nobody listens there";
    return errno == ENOENT ? ": there is no such socket" : std::string(": ") + std::strerror(errno);
  }

  std::string ErrorText(httplib::Error error, std::chrono::milliseconds timeout,
                        std::chrono::nanoseconds took) const {
    using E = httplib::Error;
    switch (error) {
      case E::Connection:
        return "cannot connect to " + endpoint.Text() + WhyNotReached();
      case E::SSLServerVerification:
        return "the certificate of " + endpoint.Text() + " is not to be trusted";
      case E::SSLConnection:
      case E::SSLLoadingCerts:
        return "no TLS connection to " + endpoint.Text();
      case E::Read:
        if (took < timeout)
          return "no whole answer from " + endpoint.Text() + ": it has ended the connection";
        return "no whole answer from " + endpoint.Text() + " (limit " +
               HumanDuration(static_cast<double>(timeout.count()) / 1000) + ")";
      default:
        return "the call to " + endpoint.Text() + " failed: " + httplib::to_string(error);
    }
  }

  // As httplib's own calls, which take a body of any length, however slowly it comes: one that has
  // no end would fill the memory, or keep the caller for good.
  httplib::Result Send(httplib::Client& c, const char* method, const std::string& path,
                       const Headers& headers, const std::string& body = "",
                       const std::string& content_type = "") {
    httplib::Request q;
    q.method = method;
    q.path = endpoint.prefix + path;
    q.headers = Merge(headers);
    if (!content_type.empty()) q.headers.emplace("Content-Type", content_type);
    q.body = body;
    std::string text;
    std::optional<std::chrono::steady_clock::time_point> began;  // the body, to arrive
    q.content_receiver = [&](const char* bytes, std::size_t n, std::uint64_t, std::uint64_t) {
      constexpr double kLeastBytesPerSecond = 10'000;
      text.append(bytes, n);
      too_long = text.size() > options.most_bytes;
      const auto now = std::chrono::steady_clock::now();
      const std::chrono::duration<double> took = now - *(began = began.value_or(now));
      too_slow = took > 10 * options.read_timeout &&
                 static_cast<double>(text.size()) < kLeastBytesPerSecond * took.count();
      return !too_long && !too_slow;
    };
    auto response = std::make_unique<httplib::Response>();
    auto error = httplib::Error::Success;
    if (!c.send(q, *response, error)) return {nullptr, error};
    response->body = std::move(text);
    return {std::move(response), error};
  }

  template <typename Call>
  Response Run(std::chrono::milliseconds timeout, bool repeatable, Call call) {
    if (timeout.count() == 0) timeout = options.read_timeout;
    for (bool again = true;; again = false) {
      const bool fresh = client == nullptr || used == 0;
      auto& c = Get();
      c.set_read_timeout(timeout);
      ++used;
      too_long = too_slow = false;
      const auto began = std::chrono::steady_clock::now();
      httplib::Result result = call(c);
      Response r;
      if (result) {
        r.outcome = Outcome::kAnswered;
        r.status = result->status;
        r.body = std::move(result->body);
        r.content_type = result->get_header_value("Content-Type");
        for (const auto& [k, v] : result->headers) r.headers.emplace(Lower(k), v);
        return r;
      }
      Reset();  // whatever happened, this connection is not to be used again
      // A kept connection that the server had closed fails at once: worth one fresh try.
      const auto took = std::chrono::steady_clock::now() - began;
      const bool quick = took < std::chrono::seconds(1);
      if (!fresh && again && repeatable && quick && !too_long && !too_slow) continue;
      r.outcome = OutcomeOf(result.error());
      r.error = too_long ? "the answer of " + endpoint.Text() + " has more than " +
                               std::to_string(options.most_bytes >> 20) + " MB"
                : too_slow ? "the answer of " + endpoint.Text() + " comes too slowly"
                           : ErrorText(result.error(), timeout, took);
      return r;
    }
  }
};

Client::Client(Endpoint endpoint, Options options) : impl_(std::make_unique<Impl>()) {
  impl_->endpoint = std::move(endpoint);
  impl_->options = std::move(options);
}
Client::~Client() = default;
Client::Client(Client&&) noexcept = default;
const Endpoint& Client::endpoint() const { return impl_->endpoint; }
void Client::Close() { impl_->Reset(); }
void Client::Stop() {
  const std::lock_guard lock(impl_->client_mutex);
  if (impl_->client) impl_->client->stop();
}

Response Client::Get(const std::string& path, const Headers& headers,
                     std::chrono::milliseconds read_timeout) {
  return impl_->Run(read_timeout, true,
                    [&](httplib::Client& c) { return impl_->Send(c, "GET", path, headers); });
}
Response Client::Delete(const std::string& path, const Headers& headers) {
  return impl_->Run({}, true,
                    [&](httplib::Client& c) { return impl_->Send(c, "DELETE", path, headers); });
}
Response Client::Post(const std::string& path, const std::string& body,
                      const std::string& content_type, const Headers& headers,
                      std::chrono::milliseconds read_timeout) {
  return impl_->Run(read_timeout, false, [&](httplib::Client& c) {
    return impl_->Send(c, "POST", path, headers, body, content_type);
  });
}
Response Client::Put(const std::string& path, const std::string& body,
                     const std::string& content_type, const Headers& headers) {
  return impl_->Run({}, false, [&](httplib::Client& c) {
    return impl_->Send(c, "PUT", path, headers, body, content_type);
  });
}
Response Client::Patch(const std::string& path, const std::string& body,
                       const std::string& content_type, const Headers& headers) {
  return impl_->Run({}, false, [&](httplib::Client& c) {
    return impl_->Send(c, "PATCH", path, headers, body, content_type);
  });
}

Response Client::Stream(const std::string& path, const Sink& sink, const Headers& headers) {
  bool good = false;
  std::string refusal;
  Response response = impl_->Run({}, false, [&](httplib::Client& c) {
    return c.Get(
        impl_->endpoint.prefix + path, impl_->Merge(headers),
        [&](const httplib::Response& r) {
          return (good = r.status >= 200 && r.status < 300), true;
        },
        [&](const char* bytes, std::size_t n) {
          if (good) return sink({bytes, n});
          refusal.append(bytes, n);
          return true;
        });
  });
  response.body = std::move(refusal);
  return response;
}

}  // namespace cigri::http
