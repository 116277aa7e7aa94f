#include "nikita/decide.h"

#include <algorithm>

#include "policy/flow.h"

namespace cigri::nikita {
namespace {
constexpr std::int64_t kYoung = 30;
}

Wipe Decide(const WaitingLane& lane) {
  Wipe wipe;
  const int waiting = static_cast<int>(lane.newest_first.size());
  int excess = lane.allowed ? policy::WipeExcess(waiting, 2 * std::max(1, *lane.allowed),
                                                 std::max(1, lane.keep))
                            : 0;
  for (const auto& job : lane.newest_first) {
    if (excess > 0 && job.age_s >= kYoung) {
      wipe.excess.push_back(job.job_id);
      --excess;
    } else if (lane.elsewhere && job.age_s >= lane.timeout_s) {
      wipe.too_long.push_back(job.job_id);
    }
  }
  return wipe;
}

}  // namespace cigri::nikita
