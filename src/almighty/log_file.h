// Logs of an embedded grid stay small.
#pragma once
#include "almighty/almighty.h"

namespace cigri::almighty {

/// How often a log is looked at.
constexpr std::chrono::seconds kRotateEvery{60};

/// Copies a log over 10 MB to <log>.1 and empties it; leaves it when it cannot be copied. All who
/// write to it append, so they go on at its beginning; lines written between the two steps are
/// lost. Each almighty of a home may call it, whoever leads: one at a time does it.
void RotateLogs(const Options& options);

}  // namespace cigri::almighty
