// What the updator remembers of the jobs in flight, so that a poll is compared in memory and only
// changes reach the database. It follows the commit, never precedes it.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "cluster/cluster.h"
#include "core/states.h"
#include "db/db.h"

namespace cigri::updator {

struct KnownJob {
  std::int64_t job_id = 0, batch_id = 0;
  int element = 0;
  std::string remote_id;
  JobState state = JobState::kSubmitted;
};

struct KnownBatch {
  std::int64_t id = 0, first_job_id = 0, campaign_id = 0, cluster_id = 0;
  std::string tag, cluster_user;
  int n = 0, live = 0, walltime_s = 0;
};

class Memory {
 public:
  /// Forgets all and reads every job in flight: after a start, or a lost session.
  void Load(db::Tx& tx);
  /// Learns what has been recorded since the last call.
  void Refresh(db::Tx& tx);

  const KnownJob* Find(std::int64_t job_id) const;
  const KnownBatch* BatchOf(const std::string& tag) const;
  const KnownBatch* BatchById(std::int64_t id) const;
  void Moved(std::int64_t job_id, JobState state);
  void Ended(std::int64_t job_id);
  /// The live jobs of a cluster, as its driver is asked for them.
  std::vector<cluster::RemoteRef> RefsOf(std::int64_t cluster_id) const;
  struct Counts {
    int submitted = 0, waiting = 0, running = 0;
  };
  Counts CountsOf(std::int64_t cluster_id) const;
  std::size_t size() const { return jobs_.size(); }

 private:
  void Take(db::Tx& tx, const pqxx::result& batches);
  std::unordered_map<std::int64_t, KnownJob> jobs_;
  std::unordered_map<std::int64_t, KnownBatch> batches_;
  std::unordered_map<std::string, std::int64_t> by_tag_;
  std::map<std::int64_t, Counts> counts_;  // by cluster
  std::string horizon_ = "0";              // transactions before it are all known
};

}  // namespace cigri::updator
