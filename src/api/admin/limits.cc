// GET /admin/limits: what one user or address may take of the grid, and who has most of it now.
#include <sql/parameters.h>

#include "api/admin/admin.h"
#include "api/read/read.h"
#include "api/submit/uploads.h"
#include "core/limit_uses.h"

namespace cigri::api {
namespace {

using UsesByLimit = std::map<std::string, limits::Use>;

// What nobody has now is 0; what is of one request, or is counted elsewhere, is not there.
UsesByLimit UsesNow(Context& context) {
  limits::Uses of_server;
  context.add_uses(of_server);
  UsesByLimit uses = of_server.all();
  for (const auto* limit : {&limits::kUploads, &limits::kUploadMb, &limits::kTasks,
                            &limits::kTestCampaigns, &limits::kSubscriptions})
    uses[limit->name] = {};
  for (const auto& row : context.Read([](db::Tx& tx) { return tx.Exec(sql::kGreatestUse); }))
    uses[row.name] = {row.used, "user " + row.grid_user.value_or("")};
  if (const auto free_mb = FreeMb(context.config)) uses[limits::kFreeMb.name] = {*free_mb, ""};
  return uses;
}

// Settings that are keys of cigri.conf; the others are named only.
std::int64_t ValueOf(const limits::Limit& limit, const Config& config) {
  return config.Has(limit.setting) ? config.GetInt(limit.setting, limit.value) : limit.value;
}

Reply ShowLimits(Context& context, const Request&) {
  const UsesByLimit uses = UsesNow(context);
  nlohmann::json items = nlohmann::json::array();
  for (const auto& limit : limits::kAll) {
    nlohmann::json item{{"name", limit.name}, {"value", ValueOf(limit, context.config)},
                        {"unit", limit.unit}, {"scope", limit.scope},
                        {"used", nullptr},    {"used_by", nullptr},
                        {"setting", nullptr}, {"answer", limit.answer}};
    if (const auto use = uses.find(limit.name); use != uses.end()) {
      item["used"] = use->second.most;
      if (!use->second.by.empty()) item["used_by"] = use->second.by;
    }
    if (*limit.setting != '\0') item["setting"] = limit.setting;
    items.push_back(std::move(item));
  }
  const auto total = items.size();
  return Reply::Json({{"items", std::move(items)}, {"total", total}});
}

}  // namespace

void AddLimitRoutes(Router& router) { router.Get("/admin/limits", ShowLimits, Access::kOperator); }

}  // namespace cigri::api
