// Reports of jobs whose batch the runner has not recorded yet: a job may end before its record
// commits. They wait in memory until the batch is recorded, or is known never to be.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cluster/cluster.h"
#include "core/states.h"
#include "updator/memory.h"

namespace cigri::updator {

struct EarlyReport {
  std::int64_t cluster_id = 0;
  cluster::RemoteJob remote;
  double cluster_time = 0;
};

class EarlyReports {
 public:
  /// Keeps a report, unless its tag is known to wait for nothing.
  void Add(EarlyReport report);
  /// Takes the reports whose batch `memory` knows now.
  std::vector<EarlyReport> TakeKnown(const Memory& memory);
  /// The tags of the reports that are left.
  std::vector<std::string> Tags() const;
  /// Drops the reports that wait for nothing: their batch is refused or abandoned, is nobody's, or
  /// has ended. `states`: of Tags(), a tag without a batch is missing.
  void Settle(const std::map<std::string, BatchState>& states);
  /// Whether a report of this cluster waits: what its feed said before must be asked for again
  /// after a crash.
  bool AnyOf(std::int64_t cluster_id) const;
  void Clear() { waiting_.clear(); }

 private:
  struct Waiting {
    std::vector<EarlyReport> reports;
    bool recorded = false;  ///< the last Settle saw its batch recorded
  };
  std::map<std::string, Waiting> waiting_;  // by tag
  std::set<std::string> settled_;
};

}  // namespace cigri::updator
