// All SQL of the almighty: who leads, and whether the grid has work.
#pragma once
#include <cstdint>
#include <string>

#include "db/db.h"

namespace cigri::almighty {

/// Takes the leader's lock for as long as the session lives; false when another session has it.
/// Never waits.
bool TryLead(db::Tx& tx);
/// Begins the epoch of the new leader `who`; nothing that was claimed or applied under an older
/// epoch can commit from now on. The new epoch.
std::int64_t BeginEpoch(db::Tx& tx, const std::string& who);

struct LeaderView {
  std::int64_t epoch = 0;  ///< of whoever leads now
  bool work = false;       ///< a campaign, a job or a batch is not over
};
LeaderView LoadLeaderView(db::Tx& tx);

}  // namespace cigri::almighty
