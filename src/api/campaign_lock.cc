#include "api/campaign_lock.h"

#include <sql/api.h>

#include "api/router.h"

namespace cigri::api {

LockedCampaign LockOwn(db::Tx& tx, const Request& request) {
  const auto rows = tx.Exec(sql::api::kLockCampaign, request.Id());
  if (rows.empty()) throw NotFound("campaign " + std::to_string(request.Id()));
  const auto& r = rows[0];
  LockedCampaign c;
  c.id = r["id"].as<std::int64_t>();
  c.user = r["grid_user"].as<std::string>();
  RequireOwner(request, c.user, "campaign " + std::to_string(c.id));
  c.nb_params = r["nb_params"].as<std::int64_t>();
  c.ntasks = r["ntasks"].as<std::int64_t>();
  c.next_idx = r["next_idx"].as<std::int64_t>();
  c.type = r["type"].as<std::string>();
  c.state = r["state"].as<std::string>();
  c.wanted = r["wanted"].as<std::string>();
  c.format = r["format"].as<std::string>();
  c.columns = db::Strings(r["columns"]);
  c.jdl = nlohmann::json::parse(r["jdl"].as<std::string>());
  return c;
}

void RequireNotCancelled(const LockedCampaign& campaign, const std::string& what) {
  if (campaign.wanted != "cancelled" && campaign.state != "cancelled") return;
  throw BadRequest(
      "cannot " + what + " campaign " + std::to_string(campaign.id) + ": it is cancelled",
      "submit it again as a new one");
}

void Reopen(db::Tx& tx, const LockedCampaign& campaign) {
  tx.Exec(sql::api::kReopenCampaign, campaign.id);
}

void LogEvent(db::Tx& tx, const Request& request, std::int64_t campaign, const std::string& code,
              const std::string& message) {
  tx.Exec(sql::api::kLogCampaignEvent, code, campaign, message, request.caller.user);
}

}  // namespace cigri::api
