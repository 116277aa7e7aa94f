// Batch schedulers in memory, for passes of the runner.
#pragma once
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "cluster/cluster.h"
#include "clusterdb/clusterdb.h"

namespace cigri::test {

/// What happens to the next submissions.
enum class Network {
  kWorks,
  kLosesAnswers,  ///< the cluster takes the batch, and nobody learns of it
  kLosesRequests  ///< the cluster never sees the batch, and nobody knows
};

/// The clusters of a test, as they are whatever the runner knows. Thread-safe.
class FakeSite {
 public:
  /// Capabilities of drivers that are made from now on.
  bool hold_release = false, revokes = true;
  std::string broken_cluster;  ///< its driver cannot be made
  std::string silent_cluster;  ///< it does not tell its tags

  /// To be given to runner::Runner. The site outlives the drivers.
  std::unique_ptr<cluster::Cluster> MakeDriver(const clusterdb::ClusterRow& row);
  void Set(Network network);
  /// Submissions to this cluster take until another one is named.
  void Hang(const std::string& cluster);
  /// No cluster takes anything, and this is why; "": they do.
  void Refuse(const std::string& why);
  /// Nothing is done in the name of this user; "-": of nobody.
  void TakeToken(const std::string& user);
  /// As if `batch` had been submitted to `cluster` before.
  /// Every `step`th element is a job: so many share one.
  void GivenSubmitted(const std::string& cluster, const std::string& tag, int n, int step = 1);
  /// How many batches a cluster took, all clusters when "".
  std::size_t Taken(const std::string& cluster = "");
  /// Users in whose name held jobs were released, one per call.
  std::vector<std::string> Releases();
  /// The options of each submission, as JSON.
  std::vector<std::string> NodeOptions();

 private:
  friend class FakeCluster;
  struct TakenBatch {
    std::string cluster, tag;
    int n, step;
  };
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string hanging_, refusal_, user_without_token_ = "-";
  Network network_ = Network::kWorks;
  std::vector<TakenBatch> taken_;
  std::vector<std::string> releases_, options_;
};

}  // namespace cigri::test
