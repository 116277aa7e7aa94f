// Jobs that no cluster of their campaign can ever run.
#pragma once
#include "api/submit/grid_info.h"

namespace cigri::api {

/// Throws 400 when one job of `campaign` takes more slots than each of its clusters has. A cluster
/// whose size is not known yet may be large enough.
void RequireFit(const GridInfo& info, const jdl::Campaign& campaign);

}  // namespace cigri::api
