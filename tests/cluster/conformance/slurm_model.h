// slurmrestd's API, v0.0.38 of Slurm 22.05 or v0.0.42 of 24.11, with a memory: as much of it as the
// driver uses, in the shapes of recorded answers.
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
  explicit SlurmModel(int version);
  int port() const { return server_.port(); }
  int JobsWithTag(const std::string& tag);
  /// Whether slurmdbd answers.
  void Accounting(bool up) { accounting_ = up; }

 private:
  using Request = test::RecordedServer::Request;
  test::Answer Handle(const Request& q);
  test::Answer Submit(const Request& q);
  test::Answer Release(int array, const nlohmann::json& body);
  test::Answer DeleteNewer(const std::string& id, const std::vector<ModelJob*>& named,
                           const std::string& user);
  test::Answer Delete(const std::string& id, const std::string& user);
  nlohmann::json Records(int array) const;
  nlohmann::json HeldRecord(const ModelJob& first, int tasks) const;
  nlohmann::json TaskRecord(const ModelJob& job) const;
  /// A recorded answer of the modelled version.
  std::string Name(const std::string& fixture) const {
    return (newer_ ? "slurm24/" : "slurm/") + fixture;
  }
  std::vector<ModelJob*> Named(const std::string& id);

  const bool newer_;
  const std::string version_;
  std::mutex mutex_;
  std::atomic<bool> accounting_{true};
  std::map<int, ModelJob> jobs_;
  test::RecordedServer server_;  // last: it calls the others
};

}  // namespace cigri::conformance
