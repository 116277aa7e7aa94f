// Removes what is old, a little at a time, so that nobody waits for it.
#pragma once
#include <chrono>

#include "module/module.h"

namespace cigri::nikita {

/// Retention and thinning of every table that grows (docs/operations.md has the list), abandoned
/// uploads, and campaigns older than KEEP_CAMPAIGNS_DAYS. At most once a minute; each statement
/// touches a bounded number of rows and leaves the rest for the next minute.
class Retention {
 public:
  void Pass(module::Step& step);

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point last_pass_{}, thinned_{};
};

}  // namespace cigri::nikita
