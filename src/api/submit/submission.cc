#include "api/submit/submission.h"

#include <sql/campaigns.h>
#include <sql/grid.h>
#include <sql/parameters.h>
#include <sql/placements.h>

#include <ctime>
#include <map>

#include "api/submit/batch_limits.h"
#include "core/text.h"
#include "jdl/files.h"

namespace cigri::api {
namespace {

// A test campaign makes one job for each cluster; the others are never created.
std::int64_t TasksOf(const jdl::Campaign& campaign, std::int64_t parameters) {
  if (campaign.type != "test") return parameters;
  return std::min(parameters, static_cast<std::int64_t>(campaign.clusters.size()));
}

std::string AllNotes(const std::string& user, const Admitted& admitted) {
  auto notes = NotesJson("admission rules", admitted.changes);
  for (auto& note : NotesJson(user, admitted.notes)) notes.push_back(std::move(note));
  return notes.dump();
}

std::optional<std::int64_t> StoreParameters(db::Tx& tx, const std::string& user,
                                            const jdl::Campaign& campaign,
                                            const Parameters& parameters) {
  if (parameters.upload) {
    tx.Exec(sql::kPublishUpload, parameters.upload->id);
    return parameters.upload->id;
  }
  if (campaign.source == jdl::Source::kParams)
    return StoreBlocks(tx, user, campaign.params.blocks());
  return std::nullopt;  // "nb_jobs": the parameter is the index
}

std::int64_t InsertCampaign(db::Tx& tx, const std::string& user, const Admitted& admitted,
                            const Parameters& parameters, std::optional<std::int64_t> upload) {
  const jdl::Campaign& c = admitted.campaign;
  return tx
      .One(sql::kInsertCampaign, user, c.name, c.type, admitted.share_project, c.priority,
           c.sla_group, parameters.n, parameters.first_task, c.format, c.columns,
           jdl::ToJson(c).dump(), c.max_tries, c.max_replicas, c.lost_after_s,
           AllNotes(user, admitted), upload)
      .id;
}

}  // namespace

nlohmann::json NotesJson(const std::string& who, const std::vector<std::string>& texts) {
  auto notes = nlohmann::json::array();
  for (const auto& text : texts)
    notes.push_back({{"at", std::time(nullptr)}, {"by", who}, {"text", ValidUtf8(text)}});
  return notes;
}

void Wake(db::Tx& tx, std::int64_t campaign) {
  tx.Exec(sql::kNotifyWake);
  tx.Exec(sql::kNotifyProgressOf, std::to_string(campaign));
}

void StoreClusters(db::Tx& tx, std::int64_t campaign, const jdl::Campaign& what,
                   const GridInfo& info) {
  auto classes = ResourceClassesOf(tx, info, what);
  for (const auto& s : what.clusters) {
    const ClusterTarget& cluster = info.clusters.at(s.name);
    const auto slots = jdl::ParseResources(s.resources, cluster.resource_unit);
    tx.Exec(sql::kPutCampaignCluster, campaign, cluster.id, s.exec_file,
            jdl::WithCampaignId(s.exec_directory, campaign), s.setup, s.resources,
            std::max(1, slots.n), s.properties, s.walltime_s, s.project, s.best_effort, s.job_types,
            Join(s.prologue, "\n"), Join(s.epilogue, "\n"), s.prologue_walltime_s,
            s.epilogue_walltime_s, s.max_jobs, s.test_mode, s.options.dump(), cluster.login,
            jdl::CommonInputs(s.options, what.columns), classes[s.name].request,
            std::max(1, classes[s.name].units));
  }
  tx.Exec(sql::kInsertPlacements, campaign);
}

namespace {

// "3 after 2 after 3" when `campaign` would wait for its own end; else "".
std::string RingOf(db::Tx& tx, std::int64_t campaign, const std::vector<std::int64_t>& after) {
  std::map<std::int64_t, std::int64_t> before;  // what is waited for -> one that waits for it
  for (const auto& row : tx.Exec(sql::kWaitsFor, after)) before.emplace(row.id, row.before);
  if (before.count(campaign) == 0) return "";
  std::string ring = std::to_string(campaign);
  for (auto id = before.at(campaign); id != 0 && id != campaign; id = before.at(id))
    ring = std::to_string(id) + " after " + ring;
  return std::to_string(campaign) + " after " + ring;
}

}  // namespace

void RequireAfter(db::Tx& tx, const jdl::Campaign& campaign, std::optional<std::int64_t> id) {
  const std::pair<const char*, const std::vector<std::int64_t>&> kKeys[] = {
      {"after", campaign.after}, {"after_any", campaign.after_any}};
  for (const auto& [key, ids] : kKeys) {
    if (ids.empty()) continue;
    const auto missing = tx.Exec(sql::kMissingCampaigns, ids);
    if (!missing.empty())
      RequireNoFaults(
          {{0, 0, key, "there is no campaign " + missing[0].id, "gridstat lists them"}});
    if (!id) continue;  // nobody waits for a new one
    tx.Exec(sql::kLockChains);
    if (const auto ring = RingOf(tx, *id, ids); !ring.empty())
      RequireNoFaults({{0, 0, key, "the campaign would wait for its own end: " + ring,
                        "leave one of these out"}});
  }
}

void TakeTaskIds(db::Tx& tx, Parameters& parameters) {
  parameters.first_task = tx.One(sql::kTakeTaskIds, parameters.n).first;
}

std::int64_t StoreCampaign(db::Tx& tx, const std::string& user, const GridInfo& info,
                           const Admitted& admitted, const Parameters& parameters) {
  const jdl::Campaign& campaign = admitted.campaign;
  RequireAfter(tx, campaign);
  const auto upload = StoreParameters(tx, user, campaign, parameters);
  const auto id = InsertCampaign(tx, user, admitted, parameters, upload);
  StoreClusters(tx, id, campaign, info);
  tx.Exec(sql::kInsertSegment, id, 0, parameters.n, upload);
  tx.Exec(sql::kInsertCursor, id, TasksOf(campaign, parameters.n));
  Wake(tx, id);
  return id;
}

}  // namespace cigri::api
