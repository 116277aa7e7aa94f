// Jobs that stay where they should not: on hold after they were released, or started without a sign
// of it. Schedulers that crash leave such jobs, and no answer says so: only that it lasts.
#pragma once
#include <chrono>
#include <map>
#include <string>

#include "updator/memory.h"
#include "updator/poller.h"

namespace cigri::updator {

/// A controller that crashed may have forgotten that jobs were released. What is recorded and still
/// on hold after half a minute is told (still_held), and again after as long: the runner releases
/// it.
class HeldWatch {
 public:
  void Look(db::Tx& tx, const Memory& memory, const Answer& answer);

 private:
  using Clock = std::chrono::steady_clock;
  std::map<std::int64_t, std::map<std::int64_t, Clock::time_point>> since_;  // cluster, batch
};

/// Jobs that a cluster says are starting or running and that give no sign of it for a minute: told
/// in silent_jobs and in an event that names them, until they give one or end. nikita takes them
/// back.
class SilentWatch {
 public:
  void Look(db::Tx& tx, const Memory& memory, const Answer& answer,
            const std::string& cluster_name);
  /// What was told may not have been committed.
  void TellAnew() { told_.clear(); }

 private:
  using Clock = std::chrono::steady_clock;
  using Jobs = std::map<std::int64_t, std::string>;  // job, where it is said to be
  void Tell(db::Tx& tx, const Answer& answer, const std::string& cluster_name, const Jobs& silent);
  std::map<std::int64_t, std::map<std::int64_t, Clock::time_point>> since_;  // cluster, job
  std::map<std::int64_t, Jobs> told_;
};

}  // namespace cigri::updator
