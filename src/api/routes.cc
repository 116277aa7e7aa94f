#include <sql/grid.h>

#include "api/admin/admin.h"
#include "api/http/server.h"
#include "api/read/read.h"

namespace cigri::api {
namespace {

Reply Root(Context&, const Request& request) {
  return Reply::Json(
      {{"links",
        {LinkJson(request, "self", "/"), LinkJson(request, "collection", "/campaigns", "campaigns"),
         LinkJson(request, "collection", "/clusters", "clusters")}}});
}

// For `cigri up` and monitoring: is there an API, and has it a database.
Reply Health(Context& context, const Request&) {
  const auto grid = context.Transact([](db::Tx& tx) { return tx.One(sql::kGridIdentity); });
  return Reply::Json(
      {{"ok", true}, {"grid_id", grid.grid_id}, {"epoch", grid.epoch}, {"led", grid.led}});
}

}  // namespace

Router AllRoutes() {
  Router router;
  router.Get("/", Root, Access::kAnyone);
  router.Get("/health", Health, Access::kAnyone);
  AddSubmitRoutes(router);
  AddControlRoutes(router);
  AddSettingsRoutes(router);
  AddTaskRoutes(router);
  AddUploadRoutes(router);
  AddEventWriteRoutes(router);
  AddUserRoutes(router);
  AddProgressRoutes(router);
  AddReadRoutes(router);
  AddAdminRoutes(router);
  return router;
}

}  // namespace cigri::api
