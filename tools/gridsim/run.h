// Simulates what the options say.
#pragma once
#include <string>

#include "tools/gridsim/options.h"

namespace cigri::gridsim {

/// Simulates `text`, a scenario whose files are next to `folder`; returns the exit code.
int RunText(const GridsimOptions& o, const std::string& text, const std::string& name,
            const std::string& folder);
/// --from-history and --replay.
int RunHistory(const GridsimOptions& o);

}  // namespace cigri::gridsim
