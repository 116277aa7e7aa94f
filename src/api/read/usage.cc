// GET /usage: what ended jobs have used, and how they ended, as accounts want it (FAIR-02).
#include <sql/usage.h>

#include <algorithm>
#include <cmath>

#include "api/http/router.h"
#include "api/read/read.h"
#include "core/histogram.h"
#include "core/text.h"

namespace cigri::api {
namespace {

using nlohmann::json;

const std::vector<std::string> kGroups = {"user", "project", "campaign", "cluster", "day", "month"};
constexpr std::int64_t kMostGroups = 10'000;

json UsageJson(const sql::UsageReportRow& row) {
  const double p90 = HistogramQuantile(row.waits, 0.9);
  return {{"key", row.key},
          {"used_slot_s", row.used},
          {"lost_slot_s", row.lost},
          {"mean_wait_s", row.waited > 0 ? json(row.wait_s / double(row.waited)) : json()},
          {"p90_wait_s", std::isnan(p90) ? json() : json(p90)},
          {"started", row.waited},
          {"jobs",
           {{"ok", row.ok},
            {"program", row.program},
            {"infrastructure", row.infrastructure},
            {"preemption", row.preempted},
            {"our_kill", row.killed}}}};
}

std::optional<std::string> Given(const Request& request, const std::string& name) {
  return request.HasQuery(name) ? std::optional(request.Query(name)) : std::nullopt;
}

Reply UsageOf(Context& context, const Request& request) {
  const std::string by = request.Query("by", "user");
  if (std::find(kGroups.begin(), kGroups.end(), by) == kGroups.end())
    throw BadRequest("\"" + by + "\" is nothing to report usage by",
                     "one of " + Join(kGroups, ", "));
  std::optional<std::int64_t> campaign;
  if (request.HasQuery("campaign")) campaign = request.QueryInt("campaign", 0, 1, INT64_MAX);
  const double since = request.QueryTime("since", 0), until = request.QueryTime("until", 1e11);
  return context.Read([&](db::Tx& tx) {
    const auto report = [&](const std::string& group, std::int64_t most) {
      json items = json::array();
      for (const auto& row :
           tx.Exec(sql::kUsageReport, group, since, until, Given(request, "user"),
                   Given(request, "project"), campaign, Given(request, "cluster"), most))
        items.push_back(UsageJson(row));
      return items;
    };
    json items = report(by, kMostGroups + 1), total = report("", 1);
    const bool more = items.size() > kMostGroups;
    if (more) items.erase(kMostGroups);
    return Reply::Json({{"by", by},
                        {"items", std::move(items)},
                        {"sum", total.empty() ? json() : total[0]},
                        {"more", more}});
  });
}

}  // namespace

void AddUsageRoutes(Router& router) { router.Get("/usage", UsageOf); }

}  // namespace cigri::api
