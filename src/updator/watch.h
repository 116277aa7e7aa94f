// Jobs that stay where they should not: on hold after the runner released them, or started without
// a sign of life. A scheduler that crashes leaves such jobs, and only time shows them.
#pragma once
#include <chrono>
#include <map>
#include <string>

#include "updator/memory.h"
#include "updator/poller.h"
#include "updator/store.h"

namespace cigri::updator {

/// A controller that crashed may have forgotten that jobs were released. A recorded batch that is
/// still on hold after half a minute goes to the table still_held, and once more every half
/// minute: the runner releases it again.
class HeldWatch {
 public:
  void Update(Store& store, const Memory& memory, const Answer& answer);

 private:
  using Clock = std::chrono::steady_clock;
  std::map<std::int64_t, std::map<std::int64_t, Clock::time_point>> since_;  // cluster, batch
};

/// Jobs that are starting or running, says their cluster, and that give no sign of life for a
/// minute: they stay in unresponsive_jobs, and an event names them, until they give a sign or end.
/// nikita kills those that never do.
class UnresponsiveWatch {
 public:
  void Update(Store& store, const Memory& memory, const Answer& answer,
              const std::string& cluster_name);
  /// What was reported may not have been committed: the next Update reports it again.
  void ReportAgain() { reported_.clear(); }

 private:
  using Clock = std::chrono::steady_clock;
  using Jobs = std::map<std::int64_t, std::string>;  // job, where its cluster says it is
  void Report(Store& store, const Answer& answer, const std::string& cluster_name,
              const Jobs& jobs);
  std::map<std::int64_t, std::map<std::int64_t, Clock::time_point>> since_;  // cluster, job
  std::map<std::int64_t, Jobs> reported_;                                    // by cluster
};

}  // namespace cigri::updator
