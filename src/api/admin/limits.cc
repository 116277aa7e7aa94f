// GET /admin/limits: what one caller may take of this server.
#include "core/limits.h"

#include "api/admin/admin.h"

namespace cigri::api {
namespace {

Reply ShowLimits(Context&, const Request&) {
  nlohmann::json items = nlohmann::json::array();
  for (const auto& limit : limits::kAll)
    items.push_back({{"name", limit.name},
                     {"value", limit.value},
                     {"unit", limit.unit},
                     {"scope", limit.scope},
                     {"answer", limit.answer}});
  const auto total = items.size();
  return Reply::Json({{"items", std::move(items)}, {"total", total}});
}

}  // namespace

void AddLimitRoutes(Router& router) { router.Get("/admin/limits", ShowLimits, Access::kOperator); }

}  // namespace cigri::api
