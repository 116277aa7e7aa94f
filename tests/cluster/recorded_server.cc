#include "recorded_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <fstream>
#include <sstream>

#include "core/text.h"
#include "http/server.h"

namespace cigri::test {

namespace {
nlohmann::json Read(const std::string& name) {
  std::ifstream in(CIGRI_SOURCE_DIR "/tests/cluster/fixtures/" + name + ".json");
  if (!in) throw std::runtime_error("no fixture " + name);
  return nlohmann::json::parse(in);
}
}  // namespace

Answer Fixture(const std::string& name) {
  const auto f = Read(name);
  if (f.contains("status")) {  // Slurm
    const auto& body = f.at("response");
    return body.is_string() ? Answer{f["status"], body, "text/plain"}
                            : Answer{f["status"], body.dump()};
  }
  const auto& r = f.at("response");
  if (r.contains("body_text")) return {r["status"], r["body_text"], "text/html"};
  return {r["status"], r.at("body").dump()};
}

nlohmann::json FixtureJson(const std::string& name) {
  return nlohmann::json::parse(Fixture(name).body);
}

Answer Says(const nlohmann::json& body, int status) { return {status, body.dump()}; }

struct RecordedServer::Impl {
  struct Rule {
    std::string method, part;
    Answer answer;
    bool hang = false;
    std::function<Answer(const Request&)> each;
  };
  http::GuardServer server;
  std::thread thread;
  mutable std::mutex mutex;
  std::condition_variable stopping;
  bool stop = false;
  std::vector<Rule> rules;
  std::vector<Request> requests;

  static http::Limits Wide() {
    http::Limits limits;
    limits.max_request_bytes = 8u << 20;
    return limits;
  }
  Impl() : server(Wide()) {}

  void Set(Rule rule) {
    const std::lock_guard lock(mutex);
    std::erase_if(rules,
                  [&](const Rule& r) { return r.method == rule.method && r.part == rule.part; });
    rules.push_back(std::move(rule));
  }
  void Handle(const httplib::Request& q, httplib::Response& r) {
    std::unique_lock lock(mutex);
    Request request{q.method, q.target, q.body, {}};
    for (const auto& [name, value] : q.headers) request.headers.emplace(Lower(name), value);
    requests.push_back(request);
    for (const auto& rule : rules) {
      if (rule.method != q.method || q.target.find(rule.part) == q.target.npos) continue;
      if (rule.hang) stopping.wait(lock, [&] { return stop; });
      Answer answer = rule.answer;
      if (const auto each = rule.each) {
        lock.unlock();
        answer = each(request);
      }
      r.status = answer.status;
      r.set_content(answer.body, answer.type);
      return;
    }
    r.status = 404;
    r.set_content("nothing recorded for " + q.method + " " + q.target, "text/plain");
  }
};

RecordedServer::RecordedServer() : impl_(std::make_unique<Impl>()) {
  const auto handle = [this](const httplib::Request& q, httplib::Response& r) {
    impl_->Handle(q, r);
  };
  impl_->server.Get(".*", handle);
  impl_->server.Post(".*", handle);
  impl_->server.Delete(".*", handle);
  std::string why;
  impl_->server.trusted = [](const http::Peer&) { return true; };  // a cluster, not a victim
  if (!impl_->server.BindTcp("127.0.0.1", 0, &why)) throw std::runtime_error(why);
  impl_->thread = std::thread([this] { impl_->server.Serve(); });
  impl_->server.AwaitServing();
}

RecordedServer::~RecordedServer() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->stop = true;
  }
  impl_->stopping.notify_all();
  impl_->server.Stop();
  impl_->thread.join();
}

void RecordedServer::On(const std::string& method, const std::string& part, const Answer& answer) {
  impl_->Set({method, part, answer, false, {}});
}
void RecordedServer::Hang(const std::string& method, const std::string& part) {
  impl_->Set({method, part, {}, true, {}});
}
void RecordedServer::OnEach(const std::string& method, const std::string& part,
                            std::function<Answer(const Request&)> answer) {
  impl_->Set({method, part, {}, false, std::move(answer)});
}

std::string RecordedServer::Request::Header(const std::string& name) const {
  const auto it = headers.find(Lower(name));
  return it == headers.end() ? "" : it->second;
}

std::vector<RecordedServer::Request> RecordedServer::requests() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->requests;
}

std::vector<RecordedServer::Request> RecordedServer::Asked(const std::string& method,
                                                           const std::string& part) const {
  auto all = requests();
  std::erase_if(all, [&](const Request& r) {
    return r.method != method || r.target.find(part) == r.target.npos;
  });
  return all;
}

int RecordedServer::port() const { return impl_->server.port(); }

struct RawServer::Impl {
  std::string bytes;
  int listener = -1, port = 0;
  std::atomic<bool> stop{false};
  std::thread thread;

  void Serve() {
    while (!stop) {
      pollfd fd{listener, POLLIN, 0};
      if (::poll(&fd, 1, 50) <= 0) continue;
      const int client = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
      char buffer[65536];
      if (::recv(client, buffer, sizeof buffer, 0) > 0)
        ::send(client, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      ::shutdown(client, SHUT_WR);
      while (::recv(client, buffer, sizeof buffer, 0) > 0) {
      }
      ::close(client);
    }
  }
};

RawServer::RawServer(std::string bytes) : impl_(std::make_unique<Impl>()) {
  impl_->bytes = std::move(bytes);
  impl_->listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t n = sizeof a;
  ::bind(impl_->listener, reinterpret_cast<sockaddr*>(&a), sizeof a);
  ::listen(impl_->listener, 16);
  ::getsockname(impl_->listener, reinterpret_cast<sockaddr*>(&a), &n);
  impl_->port = ntohs(a.sin_port);
  impl_->thread = std::thread([this] { impl_->Serve(); });
}

RawServer::~RawServer() {
  impl_->stop = true;
  impl_->thread.join();
  ::close(impl_->listener);
}

int RawServer::port() const { return impl_->port; }

cluster::ClusterConfig ConfigOf(const std::string& kind, int port) {
  cluster::ClusterConfig config;
  config.name = "froggy";
  config.kind = kind;
  config.api_url =
      "http://127.0.0.1:" + std::to_string(port) + (kind == "slurm" ? "" : "/oarapi-cigri");
  config.auth_type = "header";
  config.auth_user = "alice";
  config.call_timeout = std::chrono::milliseconds(2000);
  config.options = {{"records", false}, {"api_version", "v0.0.38"}};
  return config;
}

cluster::Batch BatchOf(const std::vector<std::string>& commands) {
  cluster::Batch batch;
  batch.campaign_id = 12;
  batch.tag = "cigri.12.g1.abcd";
  batch.grid_user = batch.cluster_user = "alice";
  for (const auto& command : commands) {
    const auto i = static_cast<std::int64_t>(batch.elements.size());
    batch.elements.push_back({100 + i, i, 1, command});
  }
  return batch;
}

cluster::RemoteRef RefOf(const std::string& remote_id, const std::string& tag, int index) {
  return {remote_id, tag, index, 1, "alice", 600};
}

}  // namespace cigri::test
