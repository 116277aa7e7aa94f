// The routes that answer "why".
#include "api/why/why.h"

namespace cigri::api {
namespace {

using nlohmann::json;
using Answer = json (*)(db::Tx&, const Request&);

json OneCampaignWhy(db::Tx& tx, const Request& request) {
  OwnInfo(tx, request, request.Id());
  return CampaignWhy(tx, request, request.Id());
}

// With ?full it also finds out what would change the answer.
Handler About(Answer answer) {
  return [answer](Context& context, const Request& request) {
    json why = context.Transact([&](db::Tx& tx) { return answer(tx, request); });
    if (request.Flag("full") && why.contains("campaign")) AddWhatIf(context, request, why);
    return Reply::Json(std::move(why));
  };
}

}  // namespace

void AddWhyRoutes(Router& router) {
  AddGridRoutes(router);
  router.GetLive("/campaigns/{id}/why", About(OneCampaignWhy));
  router.Get("/campaigns/{id}/why/history", About(CampaignHistory));
  router.GetLive("/campaigns/{id}/tasks/{index}/why", About(TaskWhy));
  router.Get("/jobs/{id}/why", About(JobWhy));
  router.Get("/clusters/{name:text}/why", About(ClusterWhy), Access::kOperator);
}

}  // namespace cigri::api
