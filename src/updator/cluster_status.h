// Writes how clusters do: cluster_status after each answer, gridstatus when their resources
// change, and the events of their health.
#pragma once
#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "module/module.h"
#include "updator/health.h"
#include "updator/memory.h"
#include "updator/poller.h"
#include "updator/store.h"

namespace cigri::updator {

/// What the updator knows of a cluster next to its jobs.
struct ClusterInfo {
  std::string name;
  double stress_limit = 1;
};
using ClusterInfos = std::map<std::int64_t, ClusterInfo>;

class ClusterStatusWriter {
 public:
  /// Writes what these answers say, at most once a second per cluster. Asks `waker` for a cycle
  /// when something has to be written later.
  void Write(Store& store, const std::vector<Answer>& answers, const Memory& memory,
             const ClusterInfos& clusters, module::Waker& waker);
  /// What was reported may not have been committed: report it again.
  void ReportAgain();

 private:
  using Clock = std::chrono::steady_clock;
  struct Written {
    Clock::time_point status{}, snapshot{};
    bool ok = true;
    cluster::Resources resources;
    Memory::Counts jobs;
    std::optional<cluster::Resources> pending;  // answered, not yet written
    ReportedHealth health;
    std::deque<std::pair<Clock::time_point, int>> calls;  // HTTP requests of the last minute
  };
  void WriteStatus(Store& store, const Answer& answer, const ClusterInfo& info, Written& written);
  void WriteSnapshot(Store& store, std::int64_t cluster, const Memory::Counts& jobs,
                     Written& written, module::Waker& waker);
  std::map<std::int64_t, Written> written_;  // by cluster
};

}  // namespace cigri::updator
