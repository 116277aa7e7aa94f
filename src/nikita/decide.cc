#include "nikita/decide.h"

#include <algorithm>

#include "policy/forecast/flow.h"

namespace cigri::nikita {

Trim Decide(const PendingJobs& pending) {
  std::vector<policy::PendingJob> queue;
  for (const auto& job : pending.newest_first) queue.push_back({job.age_s, job.allowed});
  Trim trim;
  const auto excess = policy::ExcessPending(queue, pending.keep);
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const WaitingJob& job = pending.newest_first[i];
    if (std::binary_search(excess.begin(), excess.end(), i))
      trim.excess.push_back(job.job_id);
    else if (job.elsewhere && job.age_s >= pending.timeout_s)
      trim.too_long.push_back(job.job_id);
  }
  return trim;
}

}  // namespace cigri::nikita
