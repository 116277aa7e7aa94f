// Jobs that a cluster which was asked about them does not list.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <vector>

#include "cluster/cluster.h"

namespace cigri::updator {

/// Of one cluster. Absence never means success, and not at once the end either: three looks one
/// after the other, and a minute.
class Absences {
 public:
  using Clock = std::chrono::steady_clock;
  /// What a look that began at `began` did not find; returns the jobs that are gone for good. A job
  /// that is not missing begins anew the next time.
  std::vector<std::int64_t> Look(const std::vector<cluster::RemoteRef>& missing,
                                 Clock::time_point began);

 private:
  struct Absence {
    int looks = 0;
    Clock::time_point since;
  };
  std::map<std::int64_t, Absence> absent_;  // by job
};

}  // namespace cigri::updator
