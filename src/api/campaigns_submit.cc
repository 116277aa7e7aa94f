// POST /campaigns: reading, admitting and storing a campaign, or only saying what it would be.

#include "api/carried.h"
#include "api/read_campaigns.h"
#include "api/router.h"
#include "api/submission.h"
#include "api/token_notes.h"
#include "core/text.h"

namespace cigri::api {
namespace {

constexpr std::int64_t kPreview = 3;  ///< commands that a dry run shows

jdl::Options OptionsOf(const Request& request) {
  jdl::Options options;
  options.uploaded = request.HasQuery("upload");
  options.format = request.Query("format");
  if (request.HasQuery("columns") && !request.Query("columns").empty())
    options.columns = Split(request.Query("columns"), ',');
  return options;
}

// ?type= overrides jobs_type; `normal` is CiGri's word for the default.
void OverrideType(const Request& request, jdl::Campaign& campaign) {
  if (!request.HasQuery("type")) return;
  const std::string type = request.Query("type");
  if (type != "test" && type != "default" && type != "normal")
    throw BadRequest("\"" + type + "\" is no type of campaign", "write test or default");
  campaign.type = type == "test" ? "test" : "default";
}

struct Known {
  Facts facts;
  Parameters parameters;
  std::vector<std::string> first;  ///< the first uploaded lines
};

Known Look(Context& context, const Request& request) {
  return context.Transact([&](db::Tx& tx) {
    Known known{LoadFacts(tx, context.config, request.caller.user), {}, {}};
    if (!request.HasQuery("upload")) return known;
    known.parameters.draft = TakeDraft(tx, request);
    known.parameters.n = known.parameters.draft->lines;
    known.first = FirstLines(tx, known.parameters.draft->id, kPreview);
    return known;
  });
}

// A client that says `values` and sends something else is told where, whichever block it is in.
void CheckRows(Context& context, const jdl::Campaign& campaign, const Known& known) {
  if (campaign.format != jdl::kFormatValues || !known.parameters.draft) return;
  context.Transact(
      [&](db::Tx& tx) { RequireRows(tx, *known.parameters.draft, campaign.columns.size()); });
}

// Why a cluster would not take the campaign's jobs as things are; "" when it would.
std::string WhyNot(const ClusterFacts& cluster, const jdl::Slots& slots) {
  if (!cluster.enabled) return "disabled by the operators";
  if (cluster.drained) return "drained: " + cluster.drain_reason;
  if (cluster.mode == "observe") return "in observation: nothing is sent there";
  if (cluster.max_resources && slots.n > *cluster.max_resources)
    return "a job takes " + std::to_string(slots.n) + " resources, the cluster has " +
           std::to_string(*cluster.max_resources);
  return cluster.failing ? "it does not answer at present" : "";
}

nlohmann::json ClustersJson(const Facts& facts, const jdl::Campaign& campaign) {
  auto list = nlohmann::json::array();
  for (const auto& s : campaign.clusters) {
    const ClusterFacts& cluster = facts.clusters.at(s.name);
    const auto slots = jdl::ParseResources(s.resources, cluster.resource_unit);
    const std::string why = WhyNot(cluster, slots);
    const bool starts = why.empty() && cluster.free_resources.value_or(0) >= slots.n;
    list.push_back({{"name", s.name},
                    {"state", cluster.State()},
                    {"matched", why.empty()},
                    {"why", why},
                    {"slots", slots.n},
                    {"expected_start", starts ? nlohmann::json(0) : nlohmann::json()}});
  }
  return list;
}

std::vector<std::string> FirstParameters(const jdl::Campaign& campaign, const Known& known) {
  if (known.parameters.draft) return known.first;
  if (campaign.source == jdl::Source::kParams) return campaign.params.First(kPreview);
  std::vector<std::string> indexes;
  for (std::int64_t i = 0; i < std::min(kPreview, campaign.count); ++i)
    indexes.push_back(std::to_string(i));
  return indexes;
}

nlohmann::json Commands(const jdl::Campaign& campaign, const std::vector<std::string>& lines) {
  auto commands = nlohmann::json::array();
  for (std::size_t i = 0; i < lines.size() && i < kPreview; ++i)
    commands.push_back(jdl::CommandLine(campaign.clusters.front().exec_file, campaign.format,
                                        campaign.columns, lines[i], static_cast<std::int64_t>(i)));
  return commands;
}

Reply DryRun(const Known& known, const Admitted& admitted) {
  return Reply::Json(
      {{"jdl", jdl::ToJson(admitted.campaign)},
       {"changes", admitted.changes},
       {"notes", admitted.notes},
       {"clusters", ClustersJson(known.facts, admitted.campaign)},
       {"commands", Commands(admitted.campaign, FirstParameters(admitted.campaign, known))},
       {"total_jobs", known.parameters.n}});
}

Reply Store(Context& context, const Request& request, Known& known, const Admitted& admitted) {
  const std::string& user = request.caller.user;
  auto answer = context.Transact([&](db::Tx& tx) {
    if (known.parameters.draft && TakeDraft(tx, request).lines != known.parameters.n)
      throw ApiError(409, "Conflict", "the upload has grown meanwhile", "try again");
    const auto id = StoreCampaign(tx, user, known.facts, admitted, known.parameters);
    return CampaignJson(tx, request, id);
  });
  answer["notes"] = admitted.changes;
  for (const auto& note : admitted.notes) answer["notes"].push_back(note);
  answer["clusters_state"] = ClustersJson(known.facts, admitted.campaign);
  Reply reply = Reply::Json(answer, 201);
  reply.headers["Location"] =
      request.Link("/campaigns/" + std::to_string(answer["id"].get<std::int64_t>()));
  return reply;
}

Reply Submit(Context& context, const Request& request) {
  Known known = Look(context, request);
  auto read = jdl::Parse(request.body, known.facts.defaults, OptionsOf(request));
  RequireNoFaults(read.faults);
  OverrideType(request, read.campaign);
  CheckRows(context, read.campaign, known);
  RequireMayGive(request, known.facts, jdl::kPriorityNormal, read.campaign.priority);
  if (!known.parameters.draft) known.parameters.n = read.campaign.count;
  Admitted admitted = Admit(context, known.facts, std::move(read.campaign), known.parameters.n);
  RequireCarried(context, known.facts, admitted.campaign, known.parameters.draft,
                 admitted.campaign.params);
  for (const auto& warning : read.warnings) admitted.notes.push_back(NoteOf(warning));
  for (auto& note : TokenNotes(known.facts, admitted.campaign, known.parameters.n))
    admitted.notes.push_back(std::move(note));
  return request.Flag("dry_run") ? DryRun(known, admitted)
                                 : Store(context, request, known, admitted);
}

}  // namespace

void AddSubmitRoutes(Router& router) { router.Post("/campaigns", Submit); }

}  // namespace cigri::api
