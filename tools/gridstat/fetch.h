// --fetch DIR and --archive FILE.tar.zst: the outputs of a campaign, only what is new.
#pragma once
#include "tools/gridstat/options.h"

namespace cigri::gridstat {

/// Fetches what has ended since the last time; with --follow until the campaign is over. May be
/// killed at any time and begun again. Throws Fatal(kExitNo) when some output could not be read.
int FetchOutputs(tools::Api& api, const GridstatOptions& o);

}  // namespace cigri::gridstat
