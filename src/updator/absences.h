// Jobs that are missing from the answers of a cluster that was asked about them.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <vector>

#include "cluster/cluster.h"

namespace cigri::updator {

/// Of one cluster. An absent job has never succeeded, and it has ended only when three answers in a
/// row have missed it, for a minute.
class Absences {
 public:
  using Clock = std::chrono::steady_clock;
  /// `missing`: from the answer to a poll that began at `began`. Returns the jobs that have ended.
  /// For a job that is not missing, counting starts again.
  std::vector<std::int64_t> Update(const std::vector<cluster::RemoteRef>& missing,
                                   Clock::time_point began);

 private:
  struct Absence {
    int looks = 0;
    Clock::time_point since;
  };
  std::map<std::int64_t, Absence> absent_;  // by job
};

}  // namespace cigri::updator
