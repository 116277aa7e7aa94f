// Simulates what the options say.
#pragma once
#include <string>

#include "tools/gridsim/options.h"

namespace cigri::gridsim {

/// What is in the file `path`; - is standard input. Throws Fatal(kExitBadInput).
std::string TextOf(const std::string& path);
/// Simulates `text`, a scenario whose files are next to `folder`; returns the exit code.
int RunText(const GridsimOptions& o, const std::string& text, const std::string& name,
            const std::string& folder);
/// --from-history, --history and --replay.
int RunHistory(const GridsimOptions& o);

}  // namespace cigri::gridsim
