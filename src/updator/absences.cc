#include "updator/absences.h"

#include <utility>

namespace cigri::updator {

std::vector<std::int64_t> Absences::Update(const std::vector<cluster::RemoteRef>& missing,
                                           Clock::time_point began) {
  std::vector<std::int64_t> gone;
  auto before = std::exchange(absent_, {});
  for (const auto& ref : missing) {
    auto absence = before[ref.job_id];
    if (absence.looks++ == 0) absence.since = began;
    absent_[ref.job_id] = absence;
    if (absence.looks >= 3 && began - absence.since >= std::chrono::seconds(60))
      gone.push_back(ref.job_id);
  }
  return gone;
}

}  // namespace cigri::updator
