// What the updator remembers of the jobs in flight, so that it compares a poll in memory and writes
// only changes to the database. It changes after the commit, never before it.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "cluster/cluster.h"
#include "core/states.h"

namespace cigri::updator {

class Store;

struct KnownJob {
  std::int64_t job_id = 0, batch_id = 0;
  int element = 0;
  std::string remote_id;
  JobState state = JobState::kSubmitted;
};

struct KnownBatch {
  std::int64_t id = 0, first_job_id = 0, campaign_id = 0, cluster_id = 0;
  std::string tag, cluster_user;
  int n = 0, live = 0, walltime_s = 0, tasks_per_job = 1;
  bool tries_node = false;  ///< its job was sent to try an excluded node
  std::chrono::steady_clock::time_point known_since{};
};

class Memory {
 public:
  /// Forgets everything and reads every job in flight: after a start, or a lost session.
  void Load(Store& store);
  /// Reads the batches that the runner has recorded since the last call.
  void Refresh(Store& store);

  const KnownJob* Find(std::int64_t job_id) const;
  const KnownBatch* BatchOf(const std::string& tag) const;
  const KnownBatch* BatchById(std::int64_t id) const;
  void Moved(std::int64_t job_id, JobState state);
  void Ended(std::int64_t job_id);
  /// The jobs in flight on a cluster, as its driver is asked about them.
  std::vector<cluster::RemoteRef> RefsOf(std::int64_t cluster_id) const;
  /// Rises whenever RefsOf(cluster_id) changes. Load does not start again from 0.
  std::uint64_t VersionOf(std::int64_t cluster_id) const;
  struct Counts {
    int submitted = 0, waiting = 0, running = 0;
  };
  Counts CountsOf(std::int64_t cluster_id) const;
  std::size_t size() const { return jobs_.size(); }

 private:
  void Add(Store& store, const std::vector<KnownBatch>& batches);
  void Forget(std::int64_t batch_id);
  std::unordered_map<std::int64_t, KnownJob> jobs_;
  std::unordered_map<std::int64_t, KnownBatch> batches_;
  std::unordered_map<std::string, std::int64_t> by_tag_;
  std::map<std::int64_t, Counts> counts_;           // by cluster
  std::map<std::int64_t, std::uint64_t> versions_;  // by cluster
  std::string horizon_ = "0";                       // the transactions before it are all known
};

}  // namespace cigri::updator
