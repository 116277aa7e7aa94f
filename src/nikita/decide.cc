#include "nikita/decide.h"

#include <algorithm>

namespace cigri::nikita {
namespace {
constexpr std::int64_t kYoung = 30;
}

Wipe Decide(const WaitingLane& lane) {
  Wipe wipe;
  const auto& jobs = lane.newest_first;
  const std::size_t keep = static_cast<std::size_t>(std::max(1, lane.keep));
  const bool flood =
      lane.allowed && jobs.size() > 2 * static_cast<std::size_t>(std::max(1, *lane.allowed));
  std::size_t left = jobs.size();
  for (const auto& job : jobs) {
    if (flood && left > keep && job.age_s >= kYoung) {
      wipe.excess.push_back(job.job_id);
      --left;
    } else if (lane.elsewhere && job.age_s >= lane.timeout_s) {
      wipe.too_long.push_back(job.job_id);
    }
  }
  return wipe;
}

}  // namespace cigri::nikita
