// GET /admin/audit: who changed what.
#include <sql/audit.h>

#include "api/admin/admin.h"

namespace cigri::api {
namespace {

std::optional<std::string> Given(const Request& request, const std::string& name) {
  if (!request.HasQuery(name)) return std::nullopt;
  return request.Query(name);
}

Reply ListAudit(Context& context, const Request& request) {
  const double since = request.QueryTime("since", 0), until = request.QueryTime("until", 1e11);
  std::optional<std::int64_t> before;
  if (request.HasQuery("before")) before = request.QueryInt("before", 0, 1, INT64_MAX);
  const auto limit = request.QueryInt("limit", 100, 1, 10'000);
  return context.Read([&](db::Tx& tx) {
    return Items(tx.Exec(sql::kListAudit, Given(request, "user"), Given(request, "subject"),
                         Given(request, "action"), since, until, before, limit));
  });
}

}  // namespace

void AddAuditRoutes(Router& router) {
  router.GetLive("/admin/audit", ListAudit, Access::kOperator);
}

}  // namespace cigri::api
