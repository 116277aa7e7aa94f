#include "api/admin/admin.h"
#include "api/http/server.h"
#include "api/openapi/document.h"
#include "api/page/page.h"
#include "api/read/read.h"

namespace cigri::api {
namespace {

// CiGri's links, or the page: one address for tools and browsers.
Reply Root(Context& context, const Request& request) {
  auto page = PageFor(context, request);
  Reply reply = page ? std::move(*page)
                     : Reply::Json({{"links",
                                     {LinkJson(request, "self", "/"),
                                      LinkJson(request, "collection", "/campaigns", "campaigns"),
                                      LinkJson(request, "collection", "/clusters", "clusters")}}});
  reply.headers["Vary"] = "Accept";
  return reply;
}

// Whom the caller is taken for; "" = nobody.
Reply Me(Context&, const Request& request) {
  return Reply::Json({{"user", request.caller.user}, {"operator", request.caller.is_operator}});
}

}  // namespace

Router AllRoutes() {
  Router router;
  router.Get("/", Root, Access::kAnyone);
  router.GetLive("/me", Me, Access::kAnyone);
  AddPageRoutes(router);
  AddSubmitRoutes(router);
  AddControlRoutes(router);
  AddSettingsRoutes(router);
  AddTaskRoutes(router);
  AddUploadRoutes(router);
  AddEventWriteRoutes(router);
  AddUserRoutes(router);
  AddProgressRoutes(router);
  AddMonitorRoutes(router);
  AddReadRoutes(router);
  AddAdminRoutes(router);
  AddOpenApiRoute(router);
  return router;
}

}  // namespace cigri::api
