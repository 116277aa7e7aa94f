#include "policy/forecast/flow.h"

#include <algorithm>
#include <cmath>

namespace cigri::policy {

int WaitingAllowed(int max_waiting, double queue_s, double rate) {
  const double jobs = std::isfinite(queue_s * rate) ? std::floor(queue_s * rate) : 0;
  const double most = std::max(1, max_waiting);
  return static_cast<int>(std::clamp(jobs, 1.0, most));
}

int ExcessPending(int waiting, int most, int keep) {
  return waiting > most ? std::max(0, waiting - std::max(0, keep)) : 0;
}

}  // namespace cigri::policy
