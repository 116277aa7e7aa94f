// A first campaign needs no grid of a site: gridsub starts one on this machine.
#pragma once
#include <string>

namespace cigri::tools {

/// Starts the user's own grid (`cigri up`) when no API is named by `option` (--api), the environment
/// or the configuration, and none answers; says so on stderr. Nothing when `cigri` is not installed
/// next to this program. Throws Fatal when the grid does not come up.
void StartGridWhereNoneIs(const std::string& option);

}  // namespace cigri::tools
