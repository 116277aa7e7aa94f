// PATCH /campaigns/N {"set": {...}}: other settings for what is not yet sent.
#include <algorithm>

#include "api/control/settings.h"
#include "api/http/router.h"
#include "api/read/campaigns.h"
#include "api/submit/batch_limits.h"
#include "core/text.h"
#include "jdl/keys.h"

namespace cigri::api {
namespace {

using nlohmann::json;

// What a campaign is made of cannot be changed, only how it runs.
const std::vector<std::string> kFixed = {"jobs_type",  "params", "nb_jobs",
                                         "param_file", "format", "columns"};
bool Has(const std::vector<std::string>& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

void Put(json& to, const std::string& key, const json& value) {
  if (key == "walltime") to.erase("auto_walltime");  // unless the new one says `auto`
  if (value.is_null())
    to.erase(key);  // back to the default
  else
    to[key] = value;
}

// "clusters": names, as an array or "a,b". A new one gets the settings of the first there was.
void SetClusters(json& jdl, const json& value) {
  json list = value;
  if (value.is_string()) list = Split(value.get<std::string>(), ',');
  if (!list.is_array() || list.empty())
    throw BadRequest("\"clusters\" must be names of clusters", "like alpha,beta");
  json blocks = json::object();
  for (const auto& item : list) {
    if (!item.is_string()) throw BadRequest("\"clusters\" must be names of clusters");
    const std::string name(Trim(item.get<std::string>()));
    blocks[name] = jdl["clusters"].value(name, jdl["clusters"].begin().value());
  }
  jdl["clusters"] = std::move(blocks);
}

void SetOne(json& jdl, const std::string& key, const json& value) {
  if (const auto path = Split(key, '.'); path.size() == 3 && path[0] == "clusters") {
    if (!jdl["clusters"].contains(path[1]))
      throw BadRequest("the campaign does not run on \"" + path[1] + "\"");
    return Put(jdl["clusters"][path[1]], path[2], value);
  }
  const auto scope = jdl::ScopeOf(key);
  if (Has(kFixed, key))
    throw BadRequest("\"" + key + "\" cannot be changed any more", "submit another campaign");
  if (!scope || *scope == jdl::KeyScope::kDead) {
    const auto near = DidYouMean(key, jdl::KnownKeys());
    throw BadRequest("there is no setting \"" + key + "\"",
                     near ? "did you mean \"" + *near + "\"?" : "");
  }
  if (*scope == jdl::KeyScope::kCampaign) return Put(jdl, key, value);
  for (auto& block : jdl["clusters"]) Put(block, key, value);
}

json Edited(const json& jdl, const json& set) {
  json out = jdl;
  // The clusters first: what else is set counts for new ones, too.
  if (set.contains("clusters")) SetClusters(out, set["clusters"]);
  for (const auto& [key, value] : set.items())
    if (key != "clusters") SetOne(out, key, value);
  return out;
}

Reply Set(Context& context, const Request& request) {
  const auto body = request.Json();
  if (!body.is_object() || !body.contains("set") || !body["set"].is_object() || body["set"].empty())
    throw BadRequest("say what to change: {\"set\": {\"walltime\": 7200}}");
  GridInfo info;
  const auto before = context.Transact([&](db::Tx& tx) {
    auto campaign = LockOwn(tx, request);
    RequireNotCancelled(campaign, "change");
    info = LoadGridInfo(tx, context.config, campaign.user);
    return campaign;
  });
  const Change change = AdmitChange(context, info, before.jdl, Edited(before.jdl, body["set"]),
                                    before.nb_params, &request);
  CheckLimits(context, info, change.admitted.campaign, {}, {});
  auto answer = context.Transact([&](db::Tx& tx) {
    const auto campaign = LockOwn(tx, request);
    RequireNotCancelled(campaign, "change");
    RequireSpace(context.config, tx, campaign.user, 0, change.after.dump().size());
    StoreChange(tx, request, campaign, change, change.changes);
    return CampaignJson(tx, request, campaign.id);
  });
  answer["changes"] = change.changes;
  answer["notes"] = NotesOf(change.admitted);
  return Reply::Json(std::move(answer), 202);
}

}  // namespace

void AddSettingsRoutes(Router& router) { router.Patch("/campaigns/{id}", Set); }

}  // namespace cigri::api
