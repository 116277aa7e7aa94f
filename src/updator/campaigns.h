// The states of campaigns: the updator carries out what users ask for, holds and releases
// placements, and ends campaigns.
#pragma once
#include <cstdint>
#include <set>

#include "db/db.h"

namespace cigri::updator {

struct Limits {
  int test_wait_s = 600;       ///< TEST_CAMPAIGN_WAIT: how long a test waits for a silent cluster
  int epilogue_wait_s = 3600;  ///< EPILOGUE_WAIT: after it an epilogue is given up and reported
};

/// Whether a campaign has changed (the caller notifies the progress channel).
/// `ended`: campaigns of which a job has ended since the last call; `check_all`: look at every
/// campaign that may be over.
bool UpdateCampaigns(db::Tx& tx, const std::set<std::int64_t>& ended, bool check_all,
                     const Limits& limits);

}  // namespace cigri::updator
