#pragma once

namespace cigri::gridstat {

/// gridstat, without the frame of RunMain. Exit codes: docs/gridstat.md.
int Main(int argc, char** argv);

}  // namespace cigri::gridstat
