// What cigri.conf says, looked at before anything is started.
#pragma once
#include "core/config.h"

namespace cigri {

/// Throws Fatal(kExitConfig) with file, line, key and what would be right when the value of a key is
/// one that some program of the grid refuses to start with.
void CheckValues(const Config& config);

}  // namespace cigri
