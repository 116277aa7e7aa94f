// The meaning of a JDL: from values to a campaign. Every fault there is, in one pass.
#pragma once
#include "jdl/document.h"
#include "jdl/jdl.h"

namespace cigri::jdl {

/// What stands outside of the clusters' blocks.
void CheckCampaign(Document& doc, const Defaults& defaults, const Options& options,
                   Campaign& campaign);

/// Key `retry`: attempts, budgets and rules. REQUIRES: max_tries is read.
void CheckRetry(Document& doc, Campaign& campaign);

/// The clusters' blocks. REQUIRES: CheckCampaign has set format and columns.
void CheckClusters(Document& doc, const Defaults& defaults, Campaign& campaign);

}  // namespace cigri::jdl
