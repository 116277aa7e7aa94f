// The states of campaigns: what people want becomes what is, lanes are held and freed, campaigns
// end.
#pragma once
#include <cstdint>
#include <set>

#include "db/db.h"

namespace cigri::updator {

struct Limits {
  int test_wait_s = 600;       ///< TEST_CAMPAIGN_WAIT: a cluster silent for so long is "not tested"
  int epilogue_wait_s = 3600;  ///< EPILOGUE_WAIT: after it an epilogue is given up and reported
};

/// Whether a campaign moved (the progress channel is to be notified).
/// `ended`: campaigns that had an end since the last call; `sweep`: look at all candidates.
bool UpdateCampaigns(db::Tx& tx, const std::set<std::int64_t>& ended, bool sweep,
                     const Limits& limits);

}  // namespace cigri::updator
