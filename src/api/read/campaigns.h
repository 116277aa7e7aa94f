// Campaigns with their numbers, as GET /campaigns shows them and other handlers answer them.
#pragma once
#include <sql/campaigns.h>

#include "api/read/read.h"

namespace cigri::api {

/// Where the tasks of a campaign are. total = done + failed + waiting + in flight, but for
/// replicas: these make a task be in flight twice.
struct Numbers {
  std::int64_t total = 0, done = 0, failed = 0;
  std::int64_t waiting = 0;  ///< not sent yet, or again; `user_requeues`: retried or boosted
  std::int64_t user_requeues = 0;
  std::int64_t launching = 0, submitted = 0, remote_waiting = 0, running = 0;
  std::int64_t not_run = 0;  ///< parameters of a test campaign that become no task
  std::int64_t InFlight() const { return launching + submitted + remote_waiting + running; }
};
/// From a row of read/campaigns.sql.
Numbers NumbersOf(const sql::ListCampaignsRow& row);

/// [earliest, latest] expected end, epoch s; null when nobody knows it, and of what is not
/// at work.
nlohmann::json EndsOf(const std::string& state, std::optional<double> low,
                      std::optional<double> high);

/// CiGri's campaign object with our additions, from a row of read/campaigns.sql.
nlohmann::json CampaignJson(const Request& request, const sql::ListCampaignsRow& row);
/// One campaign with `clusters`; 404 when unknown. What POST and PATCH answer too.
nlohmann::json CampaignJson(db::Tx& tx, const Request& request, std::int64_t campaign);

/// Row of read/campaigns.sql of one campaign; 404 when unknown.
sql::ListCampaignsRow CampaignRow(db::Tx& tx, std::int64_t campaign);

}  // namespace cigri::api
