// Clusters in memory whose jobs end, whose answers get lost and whose users preempt, by a seed.
// They know what really ran, whatever the grid believes.
#pragma once
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "cluster/cluster.h"
#include "clusterdb/clusterdb.h"

namespace cigri::test {

class SimulatedSite {
 public:
  explicit SimulatedSite(unsigned seed) : random_(seed) {}
  std::unique_ptr<cluster::Cluster> MakeDriver(const clusterdb::ClusterRow& row);
  /// From now on every call is answered.
  void Calm();
  /// What the clusters saw that must not be: a task that ran again after its success, or twice at
  /// once.
  std::vector<std::string> Violations();
  /// How often each kind of fault happened.
  std::map<std::string, int> Faults();
  std::map<std::int64_t, int> Successes();  ///< by task

 private:
  friend class SimulatedCluster;
  struct Job {
    std::string tag;
    int index = 0;
    std::int64_t task = 0;
    int polls_left = 0;  ///< until it ends
    bool ended = false;
    cluster::EndCause cause = cluster::EndCause::kExited;
    int wait_status = 0;
  };
  bool Happens(const std::string& fault, int percent);
  void Take(const std::string& cluster, const cluster::Batch& batch);
  cluster::RemoteJob Seen(const std::string& id, const Job& job) const;

  std::mutex mutex_;
  std::mt19937 random_;
  bool calm_ = false;
  int next_id_ = 0;
  std::map<std::string, std::map<std::string, Job>> jobs_;  // by cluster and remote id
  std::set<std::string> revoked_;
  std::vector<std::string> violations_;
  std::map<std::string, int> faults_;
};

}  // namespace cigri::test
