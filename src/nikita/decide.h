// Which waiting jobs are too many or wait too long. No I/O.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

namespace cigri::nikita {

struct WaitingJob {
  std::int64_t job_id = 0;
  std::int64_t age_s = 0;  ///< since its submission
};

/// Jobs of one campaign that wait in the queue of one cluster.
struct WaitingLane {
  std::optional<int> allowed;  ///< the predictor's; nothing: not known yet
  int keep = 1;                ///< what a wipe leaves (clusters.keep_waiting)
  int timeout_s = 900;         ///< clusters.waiting_timeout_s
  bool elsewhere = false;      ///< another cluster could take the campaign's tasks
  std::vector<WaitingJob> newest_first;
};

struct Wipe {
  std::vector<std::int64_t> excess;    ///< more than may wait: newest first, down to `keep`
  std::vector<std::int64_t> too_long;  ///< waiting longer than the timeout
};

/// CIG-36. More than twice what is allowed is a flood (what is allowed moves with each look, and a
/// wipe at every step down would only churn); jobs younger than 30 s are left to start. A task that
/// can go nowhere else is not called back for waiting long.
Wipe Decide(const WaitingLane& lane);

}  // namespace cigri::nikita
