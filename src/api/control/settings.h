// Other settings for a campaign that is stored: asked for by users, or made by rules when tasks
// are added.
#pragma once
#include <string>
#include <vector>

#include "api/control/campaign_lock.h"
#include "api/http/context.h"
#include "api/submit/admit.h"

namespace cigri::api {

/// A campaign as it is stored, and as it is going to be.
struct Change {
  nlohmann::json before, after;  ///< campaigns.jdl
  GridInfo info;
  Admitted admitted;
  std::vector<std::string> changes;  ///< "clusters/alpha/walltime 3600 -> 7200"
};

/// Checks `edited` as a JDL and runs the rules on it, for a campaign of `jobs` parameters. Throws
/// 400. Takes as long as the rules: not inside a transaction. `by`: who asks for other settings,
/// nobody when tasks are added; throws 403 when that priority is not theirs to give. Rules bind
/// users; a priority that an operator gives is the operator's word.
Change AdmitChange(Context& context, GridInfo info, nlohmann::json before,
                   const nlohmann::json& edited, std::int64_t jobs, const Request* by);

/// Stores it; what was sent before is not touched. `asked_for`: what its user asked for, for the
/// record next to what rules did. Throws 409 when the campaign is not `before` any more.
void StoreChange(db::Tx& tx, const Request& request, const LockedCampaign& campaign,
                 const Change& change, const std::vector<std::string>& asked_for);

/// The notes for the user who made the change: first what rules changed, then their notes.
nlohmann::json NotesOf(const Admitted& admitted);

}  // namespace cigri::api
