// A campaign becomes rows: one short transaction.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "api/http/context.h"
#include "api/http/message.h"
#include "api/submit/admit.h"
#include "api/submit/grid_info.h"
#include "api/submit/uploads.h"

namespace cigri::api {

/// What a campaign's parameters are when it is stored.
struct Parameters {
  std::int64_t n = 0;
  std::int64_t first_task = 0;  ///< the id of the first one's task, TakeTaskIds(); the others follow
  std::optional<ParameterUpload> upload{};  ///< uploaded before; else inline, or counted
};

/// Ids for `n` tasks. All campaigns take them from one row, locked until `tx` ends.
void TakeTaskIds(db::Tx& tx, Parameters& parameters);

/// Writes everything a campaign is; returns its id. The upload, when there is one, must be locked
/// by this transaction (TakeUpload).
std::int64_t StoreCampaign(db::Tx& tx, const std::string& user, const GridInfo& info,
                           const Admitted& admitted, const Parameters& parameters);

/// What it runs on its clusters: inserted or replaced.
void StoreClusters(db::Tx& tx, std::int64_t campaign, const jdl::Campaign& what,
                   const GridInfo& info);

/// Throws 400 when a campaign that is to end first does not exist, or waits for campaign `id`,
/// which this is going to be.
void RequireAfter(db::Tx& tx, const jdl::Campaign& campaign,
                  std::optional<std::int64_t> id = std::nullopt);

/// Tells the almighty that there is something to do, and those who wait that something changed.
void Wake(db::Tx& tx, std::int64_t campaign);

/// One entry of campaigns.notes: who said what, now.
nlohmann::json NotesJson(const std::string& who, const std::vector<std::string>& texts);

}  // namespace cigri::api
