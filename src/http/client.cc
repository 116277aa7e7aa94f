#include "http/client.h"

#include <httplib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>

#include "core/text.h"
#include "http/answer_stream.h"

namespace cigri::http {
namespace {

// httplib's client, whose answers are measured as they come.
template <typename Base>
class Measured final : public Base {
 public:
  Measured(AnswerMeter& meter, const std::string& host, int port, const std::string& cert,
           const std::string& key)
      : Base(host, port, cert, key), meter_(meter) {}

 private:
  bool process_socket(const httplib::ClientImpl::Socket& socket,
                      std::function<bool(httplib::Stream&)> callback) override {
    using std::chrono::microseconds, std::chrono::seconds;
    AnswerStream stream(socket.sock, socket.ssl,
                        seconds(this->read_timeout_sec_) + microseconds(this->read_timeout_usec_),
                        seconds(this->write_timeout_sec_) + microseconds(this->write_timeout_usec_),
                        meter_);
    return callback(stream);
  }
  AnswerMeter& meter_;
};

}  // namespace

struct Client::Impl {
  Endpoint endpoint;
  Options options;
  AnswerMeter meter;  // of the answer that came last
  std::unique_ptr<httplib::ClientImpl> client;
  std::mutex client_mutex;  // of the pointer, for Stop()
  int used = 0;             // requests on the present connection object

  httplib::ClientImpl& Get() {
    if (client) return *client;
    const std::lock_guard lock(client_mutex);
    used = 0;
    std::string host = endpoint.host;
    if (host.front() == '[') host = host.substr(1, host.find(']') - 1);
    const auto make = [&]<typename Base>() -> std::unique_ptr<httplib::ClientImpl> {
      return std::make_unique<Measured<Base>>(meter, host, endpoint.port, options.client_cert_file,
                                              options.client_key_file);
    };
    client = endpoint.scheme == "https" ? make.operator()<httplib::SSLClient>()
                                        : make.operator()<httplib::ClientImpl>();
    if (endpoint.scheme == "unix") client->set_address_family(AF_UNIX);
    client->enable_server_certificate_verification(options.verify_tls);
    if (!options.ca_file.empty()) client->set_ca_cert_path(options.ca_file);
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

  // Good answers go to the sink, if there is one.
  httplib::Result Send(httplib::ClientImpl& c, const char* method, const std::string& path,
                       const Headers& headers, const std::string& body = "",
                       const std::string& content_type = "", const Sink& sink = nullptr) {
    httplib::Request q;
    q.method = method;
    q.path = endpoint.prefix + path;
    q.headers = Merge(headers);
    if (!content_type.empty()) q.headers.emplace("Content-Type", content_type);
    q.body = body;
    std::string text;
    bool to_sink = false;
    q.response_handler = [&](const httplib::Response& r) {
      to_sink = sink && r.status >= 200 && r.status < 300;
      return true;
    };
    q.content_receiver = [&](const char* bytes, std::size_t n, std::uint64_t, std::uint64_t) {
      if (to_sink) return meter.PassedOn(), sink({bytes, n});
      text.append(bytes, n);
      return meter.Keeps(text.size());
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
      meter.Begin(options.most_bytes, timeout);
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
      if (!fresh && again && repeatable && quick && meter.why().empty()) continue;
      r.outcome = OutcomeOf(result.error());
      r.error = meter.why().empty() ? ErrorText(result.error(), timeout, took)
                                    : "the answer of " + endpoint.Text() + " " + meter.why();
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
                    [&](httplib::ClientImpl& c) { return impl_->Send(c, "GET", path, headers); });
}
Response Client::Delete(const std::string& path, const Headers& headers) {
  return impl_->Run(
      {}, true, [&](httplib::ClientImpl& c) { return impl_->Send(c, "DELETE", path, headers); });
}
Response Client::Post(const std::string& path, const std::string& body,
                      const std::string& content_type, const Headers& headers,
                      std::chrono::milliseconds read_timeout) {
  return impl_->Run(read_timeout, false, [&](httplib::ClientImpl& c) {
    return impl_->Send(c, "POST", path, headers, body, content_type);
  });
}
Response Client::Put(const std::string& path, const std::string& body,
                     const std::string& content_type, const Headers& headers) {
  return impl_->Run({}, false, [&](httplib::ClientImpl& c) {
    return impl_->Send(c, "PUT", path, headers, body, content_type);
  });
}
Response Client::Patch(const std::string& path, const std::string& body,
                       const std::string& content_type, const Headers& headers) {
  return impl_->Run({}, false, [&](httplib::ClientImpl& c) {
    return impl_->Send(c, "PATCH", path, headers, body, content_type);
  });
}

Response Client::Stream(const std::string& path, const Sink& sink, const Headers& headers) {
  return impl_->Run({}, false, [&](httplib::ClientImpl& c) {
    return impl_->Send(c, "GET", path, headers, "", "", sink);
  });
}

}  // namespace cigri::http
