// slurmrestd's API v0.0.38 with a memory: as much of it as the driver uses, in the shapes of
// recorded answers.
#pragma once
#include <atomic>
#include <map>
#include <mutex>
#include <string>

#include "tests/cluster/conformance/model_job.h"
#include "tests/cluster/recorded_server.h"

namespace cigri::conformance {

/// Arrays are held until they are released; then all tasks start.
class SlurmModel {
 public:
  SlurmModel();
  int port() const { return server_.port(); }
  int JobsWithTag(const std::string& tag);
  /// Whether slurmdbd answers.
  void Accounting(bool up) { accounting_ = up; }

 private:
  using Request = test::RecordedServer::Request;
  test::Answer Handle(const Request& q);
  test::Answer Submit(const Request& q);
  test::Answer Release(int array);
  test::Answer Delete(const std::string& id, const std::string& user);
  nlohmann::json Records(int array) const;
  std::vector<ModelJob*> Named(const std::string& id);

  std::mutex mutex_;
  std::atomic<bool> accounting_{true};
  std::map<int, ModelJob> jobs_;
  test::RecordedServer server_;  // last: it calls the others
};

}  // namespace cigri::conformance
