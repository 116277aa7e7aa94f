// Programs that tests run as other users.
#pragma once
#include <string>

namespace cigri::test {

/// A folder with the programs of `folder` that every user can enter: `folder` itself, or a copy
/// below /tmp when a folder above it is closed to others (a clone under /root, mode 700). The copy
/// goes with the process.
std::string ForOthers(const std::string& folder);

}  // namespace cigri::test
