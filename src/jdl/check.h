// The meaning of a JDL: from values to a campaign. Every fault there is, in one pass.
#pragma once
#include "jdl/document.h"
#include "jdl/jdl.h"

namespace cigri::jdl {

/// What stands outside of the clusters' blocks.
void CheckCampaign(Document& doc, const Defaults& defaults, const Options& options,
                   Campaign& campaign);

/// The clusters' blocks. REQUIRES: CheckCampaign has set format and columns.
void CheckClusters(Document& doc, const Defaults& defaults, Campaign& campaign);

/// A hint for a key that is missing or unknown, "" when nothing is near.
std::string NearestKey(std::string_view key);

}  // namespace cigri::jdl
