// Logs of an embedded grid stay small.
#pragma once
#include "almighty/almighty.h"

namespace cigri::almighty {

/// Copies a log over 10 MB to <log>.1 and empties it. All who write to it append, so they go on
/// at its beginning; lines written between the two steps are lost.
void RotateLogs(const Options& options);

}  // namespace cigri::almighty
