// How long a lease lasts: that of the leader, and those of the runners on their clusters.
#pragma once
#include <chrono>
#include <string>

#include "core/config.h"

namespace cigri::module {

/// How long a holder holds without renewing its lease. The database judges when it is over, by its
/// own clock; the holder counts by its steady clock from before it asked, so it stops first.
struct Term {
  std::chrono::milliseconds length{8000};
  std::chrono::milliseconds renew_every() const { return length / 4; }
  /// How long the holder waits for an answer of the database. A renewal that starts in time then
  /// ends, one way or the other, before the lease does.
  std::chrono::milliseconds patience() const { return length / 2; }
};

/// LEADER_TERM.
Term TermOf(const Config& config);

}  // namespace cigri::module
