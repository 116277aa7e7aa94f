// What the grid has decided: stored snapshots with the state, time and seed that make each decision
// repeatable, and how long jobs took. For gridsim.
#include <sql/placements.h>
#include <sql/plans.h>

#include <set>

#include "api/admin/admin.h"

namespace cigri::api {
namespace {

using nlohmann::json;

constexpr std::size_t kMostBytes = 32u << 20;  // of stored snapshots in one answer

json Durations(db::Tx& tx, const std::set<std::int64_t>& campaigns) {
  json items = json::array();
  const std::vector<std::int64_t> ids(campaigns.begin(), campaigns.end());
  for (const auto& row : tx.Exec(sql::kDurationsByPlacement, ids))
    items.push_back({{"campaign", row.campaign_id},
                     {"cluster", row.cluster_id},
                     {"n", row.n_ok},
                     {"sum_s", row.sum_s},
                     {"hist", row.hist}});
  return items;
}

Reply History(Context& context, const Request& request) {
  const double from = request.QueryTime("from", 0), until = request.QueryTime("until", 1e11);
  const auto limit = request.QueryInt("limit", 100, 1, 1000);
  return Reply::Json(
      context.Read([&](db::Tx& tx) { return PlansHistory(tx, from, until, limit); }));
}

}  // namespace

json PlansHistory(db::Tx& tx, double from, double until, std::int64_t limit) {
  json items = json::array();
  std::set<std::int64_t> campaigns;
  std::size_t bytes = 0;
  bool more = false;
  for (const auto& row : tx.Exec(sql::kPlanHistory, from, until, limit + 1)) {
    const std::string& cbor = row.snapshot;
    bytes += cbor.size();
    if (static_cast<std::int64_t>(items.size()) >= limit ||
        (bytes > kMostBytes && !items.empty())) {
      more = true;
      break;
    }
    json item = json::from_cbor(cbor, true, false);
    if (!item.is_object() || !item.contains("snapshot")) continue;  // of an older version
    for (const auto& c : item["snapshot"].value("campaigns", json::array()))
      campaigns.insert(c.value("id", std::int64_t{0}));
    item["id"] = row.id;
    item["at"] = row.at;
    item["seed"] = row.seed;
    items.push_back(std::move(item));
  }
  return {{"items", std::move(items)}, {"durations", Durations(tx, campaigns)}, {"more", more}};
}

void AddHistoryRoutes(Router& router) {
  router.Get("/admin/plans/history", History, Access::kOperator);
}

}  // namespace cigri::api
