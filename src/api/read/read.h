// The routes that only read, and what they share.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "api/http/context.h"
#include "api/http/message.h"

namespace cigri::api {

class Router;

/// All GET routes of docs/api.md but progress, notifications and tokens. Called once, in routes.cc.
void AddReadRoutes(Router& router);
void AddCampaignReadRoutes(Router& router);  // campaigns.cc
void AddJobReadRoutes(Router& router);       // jobs.cc
void AddTaskReadRoutes(Router& router);      // streams.cc: params, joblog
void AddOutputRoutes(Router& router);        // output.cc
void AddResultRoutes(Router& router);        // results.cc
void AddEventReadRoutes(Router& router);     // events.cc
void AddClusterReadRoutes(Router& router);   // clusters.cc
void AddUsageRoutes(Router& router);         // usage.cc
void AddWhyRoutes(Router& router);           // routes.cc

/// What is needed of a campaign before any of its tasks can be shown.
struct CampaignInfo {
  std::int64_t id = 0, first_task_id = 0, nb_params = 0;
  std::string user, format;
  std::vector<std::string> columns;
  nlohmann::json jdl;
};
/// Throws 404 for an unknown campaign.
CampaignInfo InfoOf(db::Tx& tx, std::int64_t campaign);
/// The same, and 403 unless the caller is its owner or an operator.
CampaignInfo OwnInfo(db::Tx& tx, const Request& request, std::int64_t campaign);
/// Whether the caller may see parameters, output and events of `owner`.
bool MayRead(const Request& request, const std::string& owner);

/// {"items":[...], "total", "offset", "limit", "links":[self(, next)]}: pages that a client walks
/// by following `next`. `to` is the path; `keep` the other query values ("&all=1").
nlohmann::json PageJson(const Request& request, const std::string& to, nlohmann::json items,
                        std::int64_t total, std::int64_t offset, std::int64_t limit,
                        const std::string& keep = "");

/// A column as JSON: NULL is null.
template <typename T>
nlohmann::json OrNull(const std::optional<T>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}
template <typename T>
nlohmann::json OrNull(const T& value) {
  return value;
}
/// epoch seconds -> "2026-11-20 08:42:02+00", as CiGri writes the dates of jobs; NULL is null.
nlohmann::json DateOrNull(const std::optional<double>& epoch);

}  // namespace cigri::api
