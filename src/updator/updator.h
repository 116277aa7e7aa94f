// The pass of the updator: it takes what the clusters answered, writes what has changed, and ends
// campaigns. It is the only module that applies status updates.
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cluster/cluster.h"
#include "clusterdb/clusterdb.h"
#include "module/module.h"
#include "updator/absences.h"
#include "updator/campaigns.h"
#include "updator/cluster_status.h"
#include "updator/early_reports.h"
#include "updator/feed_tokens.h"
#include "updator/memory.h"
#include "updator/poller.h"
#include "updator/status_updates.h"
#include "updator/store.h"
#include "updator/watch.h"

namespace cigri::updator {

class Updator {
 public:
  explicit Updator(clusterdb::DriverFactory make_driver = {}) : make_driver_(std::move(make_driver)) {}

  /// One transaction. After a pass that failed, the next one begins again from the tables: the
  /// answers that the failed one had taken are asked for again.
  void Pass(module::Step& step);

 private:
  using Clock = std::chrono::steady_clock;
  using Updates = std::map<std::int64_t, StatusUpdate>;  // by job: the last report counts
  struct Entry {
    std::string fingerprint;
    std::unique_ptr<Poller> poller;
    std::optional<std::uint64_t> published;  // Memory::VersionOf its last job list
  };

  void Restart(Store& store, const Config& config);
  void RefreshClusters(db::Tx& tx, module::Step& step);
  void StartPoller(const clusterdb::ClusterRow& row, module::Step& step);
  void Gather(Store& store, const std::vector<Answer>& answers, Updates& updates);
  void GatherAnswer(const Answer& answer, Updates& updates);
  std::vector<std::int64_t> NotNamed(const Answer& answer, const std::set<std::int64_t>& named);
  void GatherEarly(Store& store, Updates& updates);
  void WatchNodes(Store& store, const UpdateResult& result, bool full_check);
  void GatherLost(Store& store, Updates& updates);
  bool Compare(const KnownBatch& batch, const cluster::RemoteJob& remote, double cluster_time,
               Updates& updates) const;
  void Gone(std::int64_t job_id, cluster::EndCause cause, const std::string& message,
            double cluster_time, Updates& updates) const;
  void Reconcile(Store& store, const std::vector<Answer>& answers);
  void AfterCommit(const UpdateResult& result, const std::vector<Answer>& answers);

  clusterdb::DriverFactory make_driver_;
  std::shared_ptr<Mailbox> mailbox_;
  bool finished_ = false;  // the last pass came to its end
  Memory memory_;
  Limits limits_;
  double full_s_ = 600;
  std::string grid_mark_;
  ClusterInfos clusters_;
  FeedTokens tokens_;
  EarlyReports early_;
  std::set<std::int64_t> asked_for_all_;                            // clusters
  std::map<std::int64_t, Absences> absences_;                       // by cluster
  std::map<std::int64_t, std::set<std::string>> reported_orphans_;  // by cluster
  ClusterStatusWriter status_;
  HeldWatch held_;
  UnresponsiveWatch unresponsive_;
  NodeWatch nodes_;
  Clock::time_point clusters_read_{}, last_full_check_{};
  std::map<std::int64_t, int> undriven_;   // by cluster: how often no driver could be made
  std::map<std::int64_t, Entry> pollers_;  // by cluster
};

}  // namespace cigri::updator
