#include "api/control/settings.h"

#include <sql/campaigns.h>

#include <algorithm>

#include "api/submit/submission.h"
#include "core/text.h"

namespace cigri::api {
namespace {

using nlohmann::json;

// Another command, place or size deserves another ten jobs on each cluster: holds are lifted.
const std::vector<std::string> kLiftsHolds = {"exec_file", "exec_directory", "setup",
                                              "resources", "properties",     "walltime"};

// Of a setup of a megabyte the note, the event and the answer need no more than its begin.
std::string Brief(const json& value) {
  constexpr std::size_t kMost = 500;
  const std::string text = OneLine(value);
  return text.size() <= kMost ? text : text.substr(0, WholeCharacters(text, kMost)) + "...";
}

// "clusters/alpha/walltime 3600 -> 7200"
std::vector<std::string> Differences(const json& before, const json& after) {
  std::vector<std::string> list;
  for (const auto& step : json::diff(before, after)) {
    const json::json_pointer at(step["path"].get<std::string>());
    const std::string path = step["path"].get<std::string>().substr(1);
    const std::string was = before.contains(at) ? Brief(before[at]) : "default";
    list.push_back(path + " " + was + " -> " +
                   (step.contains("value") ? Brief(step["value"]) : "default"));
  }
  return list;
}

bool LiftsHolds(const json& before, const json& after) {
  for (const auto& step : json::diff(before, after))
    for (const auto& part : Split(step["path"].get<std::string>(), '/'))
      if (std::find(kLiftsHolds.begin(), kLiftsHolds.end(), part) != kLiftsHolds.end()) return true;
  return false;
}

}  // namespace

Change AdmitChange(Context& context, GridInfo info, json before, const json& edited,
                   std::int64_t jobs, const Request* by) {
  Change change;
  change.before = std::move(before);
  change.info = std::move(info);
  auto read = jdl::FromJson(edited, change.info.defaults);
  RequireNoFaults(read.faults);
  const int present = change.before.value("priority", jdl::kPriorityNormal);
  const int asked = read.campaign.priority;
  if (by != nullptr) RequireMayGive(*by, change.info, present, asked);
  const auto had = jdl::FromJson(change.before, change.info.defaults).campaign;
  RequireMember(change.info, read.campaign, had, by != nullptr && by->caller.is_operator);
  change.admitted = Admit(context, change.info, std::move(read.campaign), jobs);
  if (by != nullptr && by->caller.is_operator && asked != present)
    change.admitted.campaign.priority = asked;
  change.after = jdl::ToJson(change.admitted.campaign);
  // Where the parameters come from is not in what was edited.
  if (change.before.contains("nb_jobs")) change.after["nb_jobs"] = change.before["nb_jobs"];
  change.changes = Differences(change.before, change.after);
  return change;
}

void StoreChange(db::Tx& tx, const Request& request, const LockedCampaign& campaign,
                 const Change& change, const std::vector<std::string>& asked_for) {
  if (campaign.jdl != change.before)
    throw ApiError(409, "Conflict", "somebody else has changed the campaign meanwhile",
                   "try again");
  if (change.changes.empty()) return;
  const jdl::Campaign& c = change.admitted.campaign;
  RequireAfter(tx, c, campaign.id);
  auto notes = NotesJson(request.caller.user, asked_for);
  for (auto& note : NotesJson("admission rules", change.admitted.changes)) notes.push_back(note);
  tx.Exec(sql::kSetCampaign, campaign.id, c.name, change.admitted.share_project, c.priority,
          c.sla_group, c.max_tries, c.max_replicas, c.lost_after_s, change.after.dump(),
          notes.dump());
  std::vector<std::int64_t> clusters;
  for (const auto& s : c.clusters) clusters.push_back(change.info.clusters.at(s.name).id);
  tx.Exec(sql::kLeaveClusters, campaign.id, clusters);
  StoreClusters(tx, campaign.id, c, change.info);
  // It is another program now.
  if (LiftsHolds(change.before, change.after)) {
    CloseHoldEvents(tx, request, campaign.id);
    RenewCanaries(tx, campaign);
  }
  LogEvent(tx, request, campaign.id, "SETTINGS_CHANGED", Join(change.changes, "; "));
  Wake(tx, campaign.id);
}

json NotesOf(const Admitted& admitted) {
  json notes = admitted.changes;
  for (const auto& note : admitted.notes) notes.push_back(note);
  return notes;
}

}  // namespace cigri::api
