// GET /metrics for Prometheus; /health and /ready for whoever watches the grid.
#include <sql/grid.h>
#include <sql/metrics.h>

#include "api/http/metrics.h"
#include "api/http/router.h"
#include "core/text.h"

namespace cigri::api {
namespace {

using nlohmann::json;

// A module without work makes a pass each 30 s and reports it 10 s later at most. The almighty
// restarts one that is stuck after 60 s.
constexpr double kStuck_s = 45;

// For users, as the numbers of campaigns are. Without a database nobody is known, and nothing is in
// it but that there is none.
Reply ShowHealth(Context& context, const Request& request) {
  bool database_up = false;
  const std::string text = context.metrics->Text(context, &database_up);
  if (database_up && !request.caller.identified()) throw Forbidden("not authenticated");
  return Reply::Text(text, "text/plain; version=0.0.4; charset=utf-8");
}

Reply Unavailable(const char* key, const std::string& problem, const std::string& message) {
  return Reply::Json({{key, false},
                      {"problem", problem},
                      {"database", problem == "database_unavailable" ? "unavailable" : "up"},
                      {"message", message}},
                     503);
}

// Is there an API, and has it a database.
Reply Health(Context& context, const Request&) {
  try {
    return context.Read([](db::Tx& tx) {
      const auto grid = tx.One(sql::kGridIdentity);
      return Reply::Json({{"ok", true},
                          {"database", "up"},
                          {"grid_id", grid.grid_id},
                          {"epoch", grid.epoch},
                          {"led", grid.led},
                          {"stuck", tx.One(sql::kReadiness, kStuck_s).stuck}});
    });
  } catch (const std::exception& e) {
    return Unavailable("ok", "database_unavailable", e.what());
  }
}

// Does the grid do its work: a database, a leader, and every module makes its passes.
Reply Ready(Context& context, const Request&) {
  try {
    const auto state = context.Read([](db::Tx& tx) { return tx.One(sql::kReadiness, kStuck_s); });
    if (!state.led) return Unavailable("ready", "no_leader", "no almighty leads the grid");
    if (!state.stuck.empty()) return Unavailable("ready", "module_stuck", Join(state.stuck, "; "));
    return Reply::Json({{"ready", true}, {"database", "up"}});
  } catch (const std::exception& e) {
    return Unavailable("ready", "database_unavailable", e.what());
  }
}

}  // namespace

void AddMonitorRoutes(Router& router) {
  router.Get("/health", Health, Access::kAnyone);
  router.Get("/ready", Ready, Access::kAnyone);
  router.Get("/metrics", ShowHealth, Access::kAnyone);
}

}  // namespace cigri::api
