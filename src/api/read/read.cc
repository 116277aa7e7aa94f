#include "api/read/read.h"

#include <sql/campaigns.h>

#include <ctime>

#include "api/http/router.h"

namespace cigri::api {

void AddReadRoutes(Router& router) {
  AddCampaignReadRoutes(router);
  AddJobReadRoutes(router);
  AddTaskReadRoutes(router);
  AddOutputRoutes(router);
  AddResultRoutes(router);
  AddEventReadRoutes(router);
  AddClusterReadRoutes(router);
  AddUsageRoutes(router);
  AddWhyRoutes(router);
}

CampaignInfo InfoOf(db::Tx& tx, std::int64_t campaign) {
  const auto rows = tx.Exec(sql::kCampaignFormat, campaign);
  if (rows.empty()) throw NotFound("campaign " + std::to_string(campaign));
  const auto row = rows[0];
  CampaignInfo info;
  info.id = campaign;
  info.user = row.grid_user;
  info.format = row.format;
  info.columns = row.columns;
  info.first_task_id = row.first_task_id;
  info.nb_params = row.nb_params;
  info.jdl = nlohmann::json::parse(row.jdl);
  return info;
}

CampaignInfo OwnInfo(db::Tx& tx, const Request& request, std::int64_t campaign) {
  auto info = InfoOf(tx, campaign);
  RequireOwner(request, info.user, "campaign " + std::to_string(campaign));
  return info;
}

bool MayRead(const Request& request, const std::string& owner) {
  return request.caller.is_operator ||
         (request.caller.identified() && request.caller.user == owner);
}

nlohmann::json PageJson(const Request& request, const std::string& to, nlohmann::json items,
                        std::int64_t total, std::int64_t offset, std::int64_t limit,
                        const std::string& keep) {
  const auto page = [&](std::int64_t from) {
    return to + "?offset=" + std::to_string(from) + "&limit=" + std::to_string(limit) + keep;
  };
  auto links = nlohmann::json::array({LinkJson(request, "self", page(offset))});
  if (offset + limit < total) links.push_back(LinkJson(request, "next", page(offset + limit)));
  return {{"items", std::move(items)},
          {"total", total},
          {"offset", offset},
          {"limit", limit},
          {"links", std::move(links)}};
}

nlohmann::json DateOrNull(const std::optional<double>& epoch) {
  if (!epoch) return nullptr;
  const auto at = static_cast<std::time_t>(*epoch);
  std::tm utc{};
  gmtime_r(&at, &utc);
  char text[40];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S+00", &utc);
  return text;
}

}  // namespace cigri::api
