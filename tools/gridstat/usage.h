// gridstat --usage: what ended jobs have used.
#pragma once
#include "tools/common/api.h"
#include "tools/gridstat/options.h"

namespace cigri::gridstat {

int Usage(tools::Api& api, const GridstatOptions& o);

}  // namespace cigri::gridstat
