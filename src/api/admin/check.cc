// The conservation of tasks (docs/design.md section 3), looked at in one snapshot: /admin/check.
#include <sql/checks.h>

#include "api/admin/admin.h"

namespace cigri::api {
namespace {

using nlohmann::json;

Reply Check(Context& context, const Request& request) {
  std::optional<std::int64_t> campaign;
  if (request.HasQuery("campaign"))
    campaign = request.QueryInt("campaign", 0, 1, std::int64_t{1} << 60);
  json answer{{"campaigns", 0}, {"violated", json::array()}, {"drifted", json::array()}};
  context.Transact([&](db::Tx& tx) {
    const auto rows = tx.Exec(sql::kCheckConservation, campaign);
    answer["campaigns"] = rows.size();
    for (const auto& row : rows)
      if (!row.kept) answer["violated"].push_back(json::parse(row.item));
    for (const auto& row : tx.Exec(sql::kCheckCounters, campaign))
      answer["drifted"].push_back(json::parse(row.item));
  });
  answer["ok"] = answer["violated"].empty() && answer["drifted"].empty();
  return Reply::Json(answer);
}

}  // namespace

void AddCheckRoutes(Router& router) { router.Get("/admin/check", Check, Access::kOperator); }

}  // namespace cigri::api
