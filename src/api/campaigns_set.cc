// PATCH /campaigns/N {"set": {...}}: other settings for what is not yet sent.
#include <sql/api.h>

#include <algorithm>

#include "api/campaign_lock.h"
#include "api/read_campaigns.h"
#include "api/router.h"
#include "api/submission.h"
#include "core/text.h"
#include "jdl/keys.h"

namespace cigri::api {
namespace {

using nlohmann::json;

// What a campaign is made of cannot be changed, only how it runs.
const std::vector<std::string> kFixed = {"jobs_type",  "params", "nb_jobs",
                                         "param_file", "format", "columns"};
// Another command, place or size deserves another ten jobs on each cluster: holds are lifted.
const std::vector<std::string> kLiftsHolds = {"exec_file", "exec_directory", "setup",
                                              "resources", "properties",     "walltime"};

bool Has(const std::vector<std::string>& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

void Put(json& to, const std::string& key, const json& value) {
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

// "clusters/alpha/walltime 3600 -> 7200"
std::vector<std::string> Differences(const json& before, const json& after) {
  std::vector<std::string> list;
  for (const auto& step : json::diff(before, after)) {
    const json::json_pointer at(step["path"].get<std::string>());
    const std::string path = step["path"].get<std::string>().substr(1);
    const std::string was = before.contains(at) ? before[at].dump() : "default";
    list.push_back(path + " " + was + " -> " +
                   (step.contains("value") ? step["value"].dump() : "default"));
  }
  return list;
}

bool LiftsHolds(const json& before, const json& after) {
  for (const auto& step : json::diff(before, after))
    for (const auto& part : Split(step["path"].get<std::string>(), '/'))
      if (Has(kLiftsHolds, part)) return true;
  return false;
}

struct Change {
  json before;
  Facts facts;
  Admitted admitted;
};

// Reads, edits, checks and admits; nothing is locked meanwhile.
Change Prepare(Context& context, const Request& request, const json& set) {
  Change change;
  std::int64_t jobs = 0;
  context.Transact([&](db::Tx& tx) {
    const auto campaign = LockOwn(tx, request);
    RequireNotCancelled(campaign, "change");
    change.before = campaign.jdl;
    jobs = campaign.nb_params;
    change.facts = LoadFacts(tx, context.config, campaign.user);
  });
  auto read = jdl::FromJson(Edited(change.before, set), change.facts.defaults);
  RequireNoFaults(read.faults);
  change.admitted = Admit(context, change.facts, std::move(read.campaign), jobs);
  return change;
}

void StoreSettings(db::Tx& tx, const Request& request, std::int64_t id, const Change& change,
                   const json& after, const std::vector<std::string>& changes) {
  const jdl::Campaign& c = change.admitted.campaign;
  RequireAfter(tx, c);
  auto notes = NotesJson(request.caller.user, changes);
  for (auto& note : NotesJson("admission rules", change.admitted.changes)) notes.push_back(note);
  tx.Exec(sql::api::kSetCampaign, id, c.name, c.project, c.priority, c.sla_group, c.max_tries,
          c.max_replicas, c.lost_after_s, after.dump(), notes.dump());
  std::vector<std::int64_t> clusters;
  for (const auto& s : c.clusters) clusters.push_back(change.facts.clusters.at(s.name).id);
  tx.Exec(sql::api::kDropCampaignClusters, id, db::Array(clusters));
  StoreClusters(tx, id, c, change.facts);
  if (LiftsHolds(change.before, after)) tx.Exec(sql::api::kCloseHolds, id, request.caller.user);
  LogEvent(tx, request, id, "SETTINGS_CHANGED", Join(changes, "; "));
  Wake(tx, id);
}

Reply Set(Context& context, const Request& request) {
  const auto body = request.Json();
  if (!body.is_object() || !body.contains("set") || !body["set"].is_object() || body["set"].empty())
    throw BadRequest("say what to change: {\"set\": {\"walltime\": 7200}}");
  const Change change = Prepare(context, request, body["set"]);
  json after = jdl::ToJson(change.admitted.campaign);
  // Where the parameters come from is not in what was edited.
  if (change.before.contains("nb_jobs")) after["nb_jobs"] = change.before["nb_jobs"];
  const auto changes = Differences(change.before, after);
  auto answer = context.Transact([&](db::Tx& tx) {
    const auto campaign = LockOwn(tx, request);
    RequireNotCancelled(campaign, "change");
    if (campaign.jdl != change.before)
      throw ApiError(409, "Conflict", "somebody else has changed the campaign meanwhile",
                     "try again");
    if (!changes.empty()) StoreSettings(tx, request, campaign.id, change, after, changes);
    return CampaignJson(tx, request, campaign.id);
  });
  answer["changes"] = changes;
  answer["notes"] = change.admitted.changes;
  for (const auto& note : change.admitted.notes) answer["notes"].push_back(note);
  return Reply::Json(std::move(answer), 202);
}

}  // namespace

void AddSettingsRoutes(Router& router) { router.Patch("/campaigns/{id}", Set); }

}  // namespace cigri::api
