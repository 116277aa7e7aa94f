// Clusters in memory whose jobs end, whose answers get lost and whose users preempt, by a seed.
// They know what really ran, whatever the grid believes.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cluster/cluster.h"
#include "clusterdb/clusterdb.h"

namespace cigri::test {

/// In the names of such campaigns.
inline constexpr char kWithScripts[] = "-with-scripts", kWithCopies[] = "-with-copies";

/// In a world of its own clock (scheduler.h). Cluster 1 takes jobs on hold, also such as several
/// tasks share, and is asked about each, as Slurm; cluster 2 has a feed, as a local one; both
/// revoke tags or, by the seed, do not.
class SimulatedSite {
 public:
  explicit SimulatedSite(bool revokes) : revokes_(revokes) {}
  std::unique_ptr<cluster::Cluster> MakeDriver(const clusterdb::ClusterRow& row);
  /// What waits for a long time ends soon.
  void Calm();
  /// What the clusters saw that must not be: a task that ran again after its success, or twice at
  /// once (three times in a campaign with copies; or a prologue or an epilogue on its cluster);
  /// jobs that were sent to a cluster that is closed; a task that began before its prologue had
  /// succeeded, an epilogue beside other jobs.
  const std::vector<std::string>& Violations();
  void AddViolation(const std::string& what) { violations_.push_back(what); }
  std::map<std::int64_t, int> Successes(std::int64_t campaign);  ///< by task
  /// Where the campaign's scripts run around its tasks, clusters where no epilogue ended by itself
  /// after the last of them.
  std::vector<std::string> WithoutEpilogue(std::int64_t campaign) const;
  bool HasCopies(std::int64_t campaign) const;  ///< its tasks may run in two copies
  /// Jobs of the campaign that have not ended.
  int Live(std::int64_t campaign);
  /// Nobody may send jobs to `cluster` from here on, for it is `why` ("drained"), or may again.
  void SetClosed(const std::string& cluster, const std::string& why, bool closed);

 private:
  friend class SimulatedCluster;
  // What runs one task, alone or in a job that several share.
  struct Job {
    std::string tag, remote_id;
    int index = 0;
    int sharing = 1;                      // tasks per job of its batch
    bool last = true;                     // of its job
    bool checked = false;                 // when it began
    std::int64_t campaign = 0, task = 0;  // task -1: a prologue, -2: an epilogue
    bool needs_prologue = false;
    int copies = 0;  // that it may have next to it
    std::int64_t starts_at = INT64_MAX, ends_at = INT64_MAX, lasts = 0;  // by the world's clock
    cluster::EndCause cause = cluster::EndCause::kExited;
    int wait_status = 0;
    bool Started() const;
    bool Ended() const;
    bool Succeeded() const;
    bool IsFirst() const { return index % sharing == 0; }
  };
  using Shared = std::vector<Job*>;  // a job: what runs in it, one after the other
  struct Late {
    std::int64_t at;
    std::string cluster;
    cluster::Batch batch;
  };
  std::vector<std::string> Take(const std::string& cluster, const cluster::Batch& batch, bool hold);
  Shared SharedBy(const std::string& cluster, const std::string& remote_id);
  void Start(const std::string& cluster, const Shared& job);
  void Plan(const Shared& job, std::size_t from, std::int64_t at) const;
  static void End(const Shared& job);
  void BeginShared();
  void Check(const std::string& cluster, Job& one);
  void CheckOnce(const std::string& cluster, const Job& one);
  std::int64_t LastEpilogue(const std::string& cluster, std::int64_t campaign, std::int64_t at);
  void CheckScripts(const std::string& cluster, const Job& one);
  void TakeLate();
  cluster::RemoteJob Seen(const Job& job);
  cluster::RemoteJob InShared(const Job& job, const cluster::RemoteRef& ref);

  const bool revokes_;
  bool calm_ = false;
  int next_id_ = 100;
  std::map<std::string, std::map<std::string, Job>> jobs_;  // by cluster and KeyOf
  std::map<std::string, std::vector<std::string>> taken_;   // by tag: repeated tags are answered
  std::vector<Late> late_;
  std::set<std::string> revoked_;
  std::map<std::string, std::set<std::string>> closed_;  // why, by cluster
  std::vector<std::string> violations_;
};

}  // namespace cigri::test
