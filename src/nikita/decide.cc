#include "nikita/decide.h"

#include <algorithm>

#include "policy/forecast/flow.h"

namespace cigri::nikita {
namespace {
constexpr std::int64_t kYoungS = 30;
}

Trim Decide(const PendingJobs& pending) {
  Trim trim;
  const int waiting = static_cast<int>(pending.newest_first.size());
  int excess = pending.allowed ? policy::ExcessPending(waiting, 2 * std::max(1, *pending.allowed),
                                                       std::max(1, pending.keep))
                               : 0;
  for (const auto& job : pending.newest_first) {
    if (excess > 0 && job.age_s >= kYoungS) {
      trim.excess.push_back(job.job_id);
      --excess;
    } else if (pending.elsewhere && job.age_s >= pending.timeout_s) {
      trim.too_long.push_back(job.job_id);
    }
  }
  return trim;
}

}  // namespace cigri::nikita
