#include "almighty/outage.h"

namespace cigri::almighty {

void Outage::SessionLost(Clock::time_point now) {
  if (!since_) since_ = now;
}

void Outage::NoDatabase(Clock::time_point now) {
  SessionLost(now);
  refused_ = true;
}

void Outage::LedByAnother() {
  refused_ = false;
  since_.reset();
}

std::optional<std::chrono::milliseconds> Outage::Take(Clock::time_point last_lease_ended,
                                                      Clock::time_point now) {
  std::optional<std::chrono::milliseconds> away;
  if (refused_ && last_lease_ended > *since_)
    away = std::chrono::duration_cast<std::chrono::milliseconds>(now - *since_);
  LedByAnother();
  return away;
}

}  // namespace cigri::almighty
