#include "policy/forecast/flow.h"

#include <algorithm>
#include <cmath>

namespace cigri::policy {

int WaitingAllowed(int max_waiting, double queue_s, double rate) {
  const double jobs = std::isfinite(queue_s * rate) ? std::floor(queue_s * rate) : 0;
  const double most = std::max(1, max_waiting);
  return static_cast<int>(std::clamp(jobs, 1.0, most));
}

std::vector<std::size_t> ExcessPending(const std::vector<PendingJob>& newest_first, int keep) {
  constexpr double kYoungS = 30, kMost = 2;
  double queue = 0;  // 1: as much as may wait
  for (const auto& job : newest_first)
    if (job.allowed > 0) queue += 1.0 / job.allowed;
  std::vector<std::size_t> excess;
  if (queue <= kMost + 1e-9) return excess;
  const auto kept = static_cast<std::size_t>(std::max(1, keep));
  for (std::size_t i = 0; i < newest_first.size(); ++i) {
    if (newest_first.size() - excess.size() <= kept) break;
    if (newest_first[i].allowed > 0 && newest_first[i].age_s >= kYoungS) excess.push_back(i);
  }
  return excess;
}

}  // namespace cigri::policy
