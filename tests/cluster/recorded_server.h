// A cluster's API that answers what a real one once answered (fixtures/), and remembers what it
// was asked.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cluster/cluster.h"

namespace cigri::test {

struct Answer {
  int status = 200;
  std::string body;
  std::string type = "application/json";
};

/// The answer kept in fixtures/NAME.json ("oar/version", "slurm/ping").
Answer Fixture(const std::string& name);
/// Its body as JSON, to be changed and given with Says().
nlohmann::json FixtureJson(const std::string& name);
Answer Says(const nlohmann::json& body, int status = 200);

/// An HTTP server on loopback. The first rule whose method and text match a request answers it;
/// what matches none gets 404 as text.
class RecordedServer {
 public:
  RecordedServer();
  ~RecordedServer();
  /// Answers requests of `method` whose path, with the query, contains `part`. Later rules for the
  /// same method and part replace earlier ones.
  void On(const std::string& method, const std::string& part, const Answer& answer);
  /// Does not answer such requests while the server lives.
  void Hang(const std::string& method, const std::string& part);
  struct Request {
    std::string method, target, body;
    std::multimap<std::string, std::string> headers;
    std::string Header(const std::string& name) const;
  };
  /// As On(), with an answer made again for each request; `answer` may ask this server what it got.
  void OnEach(const std::string& method, const std::string& part,
              std::function<Answer(const Request&)> answer);
  std::vector<Request> requests() const;
  /// Those of `method` whose target contains `part`.
  std::vector<Request> Asked(const std::string& method, const std::string& part) const;
  int port() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A server that reads a request and sends `bytes`, then closes the connection.
class RawServer {
 public:
  explicit RawServer(std::string bytes);
  ~RawServer();
  int port() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

cluster::ClusterConfig ConfigOf(const std::string& kind, int port);
cluster::Batch BatchOf(const std::vector<std::string>& commands);
cluster::RemoteRef RefOf(const std::string& remote_id, const std::string& tag, int index = 0);

}  // namespace cigri::test
