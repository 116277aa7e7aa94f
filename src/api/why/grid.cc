// GET /grid: the whole grid in one answer, for operators: what each cluster's slots do, why some
// are idle, and which campaigns run where.
#include <sql/campaigns.h>
#include <sql/clusters.h>

#include <chrono>
#include <mutex>

#include "api/why/why.h"

namespace cigri::api {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr int kMostCampaigns = 200;
constexpr std::size_t kMostClusters = 64;  // whose idleness is explained
constexpr auto kFresh = std::chrono::seconds(1);

json ClusterOf(db::Tx& tx, const Request& request, const sql::ShowClustersRow& row, bool explain) {
  json out = {{"id", row.id},
              {"name", row.name},
              {"enabled", row.enabled},
              {"drained", row.drained},
              {"drained_by", OrNull(row.drained_by)},
              {"drained_until", OrNull(row.drained_until)},
              {"drain_reason", OrNull(row.drain_reason)},
              {"failing_for", OrNull(row.failing_for)},
              {"slots", OrNull(row.max_resources)},
              {"ours", OrNull(row.used_by_cigri)},
              {"used", OrNull(row.used_resources)},
              {"free", OrNull(row.free_resources)},
              {"unavailable", OrNull(row.unavailable_resources)}};
  if (!explain) return out;
  Request one = request;
  one.captures["name"] = row.name;
  const json why = ClusterWhy(tx, one, 1);  // its message names the first that waits
  out["message"] = why["message"];
  out["action"] = why["action"];
  out["waiting_campaigns"] = why["waiting_campaigns"];
  return out;
}

json Cells(db::Tx& tx) {
  json campaigns = json::array();
  for (const auto& row : tx.Exec(sql::kGridCells, kMostCampaigns)) {
    if (campaigns.empty() || campaigns.back()["id"] != row.campaign_id)
      campaigns.push_back({{"id", row.campaign_id},
                           {"name", row.name},
                           {"user", row.grid_user},
                           {"on", json::object()}});
    campaigns.back()["on"][std::to_string(row.cluster_id)] = row.n;
  }
  return campaigns;
}

json GridNow(db::Tx& tx, const Request& request) {
  const std::optional<int> any;
  const std::optional<std::string> any_name;
  json clusters = json::array();
  for (const auto& row : tx.Exec(sql::kShowClusters, any, any_name, false))
    clusters.push_back(ClusterOf(tx, request, row, clusters.size() < kMostClusters));
  return {{"clusters", std::move(clusters)}, {"campaigns", Cells(tx)}};
}

// Worked out once a second at most, whoever asks.
class GridCache {
 public:
  json Get(Context& context, const Request& request) {
    std::lock_guard lock(mutex_);
    if (Clock::now() - at_ < kFresh) return grid_;
    grid_ = context.Read([&](db::Tx& tx) { return GridNow(tx, request); });
    at_ = Clock::now();
    return grid_;
  }

 private:
  std::mutex mutex_;
  json grid_;
  Clock::time_point at_;
};

}  // namespace

void AddGridRoutes(Router& router) {
  const auto grid = std::make_shared<GridCache>();
  router.GetLive(
      "/grid",
      [grid](Context& context, const Request& request) {
        return Reply::Json(grid->Get(context, request));
      },
      Access::kOperator);
}

}  // namespace cigri::api
