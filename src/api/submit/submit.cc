// POST /campaigns: reads, admits and stores a campaign; a dry run only shows what it would be.

#include <sys/resource.h>

#include <algorithm>
#include <future>
#include <optional>
#include <thread>

#include "api/http/router.h"
#include "api/read/campaigns.h"
#include "api/submit/batch_limits.h"
#include "api/submit/once.h"
#include "api/submit/param_file.h"
#include "api/submit/resource_fit.h"
#include "api/submit/submission.h"
#include "api/submit/token_notes.h"
#include "api/submit/turns.h"
#include "core/cigri3_keys.h"
#include "core/text.h"

namespace cigri::api {
namespace {

constexpr std::int64_t kPreview = 3;  ///< commands that a dry run shows

jdl::Options OptionsOf(const Config& config, const Request& request) {
  jdl::Options options;
  options.may_read_files = config.GetBool("API_READ_PARAM_FILES", false);
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

void LeaveOutputAsInCigri3(jdl::Campaign& campaign) {
  for (auto& cluster : campaign.clusters)
    if (!StartsWith(cluster.setup, kCigri3OutputSetup))
      cluster.setup = std::string(kCigri3OutputSetup) + "\n" + cluster.setup;
}

struct SubmissionContext {
  GridInfo info;
  Parameters parameters;
  std::vector<std::string> first;  ///< the first uploaded lines
};

SubmissionContext LoadSubmissionContext(Context& context, const Request& request) {
  return context.Transact([&](db::Tx& tx) {
    SubmissionContext submission{LoadGridInfo(tx, context.config, request.caller.user), {}, {}};
    if (!request.HasQuery("upload")) return submission;
    submission.parameters.upload = TakeUpload(tx, request);
    submission.parameters.n = submission.parameters.upload->lines;
    submission.first = FirstLines(tx, submission.parameters.upload->id, kPreview);
    return submission;
  });
}

struct ReadSubmission {
  SubmissionContext context;
  jdl::Result jdl;
};

// Long texts take turns, half of the cores at most: whoever sends them without end delays another
// user's texts by no more than one.
ReadSubmission ReadJdl(Context& context, const Request& request) {
  constexpr std::size_t kLong = 32 << 10;
  static Turns turns(std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / 2));
  const bool is_long = request.body.size() >= kLong;
  std::optional<Turns::Turn> turn;
  if (is_long) turn.emplace(turns, request.caller.user);
  auto submission = LoadSubmissionContext(context, request);
  auto result =
      jdl::Parse(request.body, submission.info.defaults, OptionsOf(context.config, request));
  RequireNoFaults(result.faults);
  return {std::move(submission), std::move(result)};
}

// A client that says `values` and sends something else gets an error with the place, whichever
// block it is in.
void CheckRows(Context& context, const jdl::Campaign& campaign,
               const SubmissionContext& submission) {
  if (campaign.format != jdl::kFormatValues || !submission.parameters.upload) return;
  context.Transact(
      [&](db::Tx& tx) { RequireRows(tx, *submission.parameters.upload, campaign.columns.size()); });
}

// Why a cluster would not take the campaign's jobs as things are; "" when it would.
std::string WhyNot(const ClusterTarget& cluster, const jdl::Slots& slots) {
  if (!cluster.enabled) return "disabled by the operators";
  if (cluster.drained) return "drained: " + cluster.drain_reason;
  if (cluster.mode == "observe") return "in observation: nothing is sent there";
  if (cluster.max_resources && slots.n > *cluster.max_resources)
    return "a job takes " + std::to_string(slots.n) + " resources, the cluster has " +
           std::to_string(*cluster.max_resources);
  return cluster.failing ? "it does not answer at present" : "";
}

nlohmann::json ClustersJson(const GridInfo& info, const jdl::Campaign& campaign) {
  auto list = nlohmann::json::array();
  for (const auto& s : campaign.clusters) {
    const ClusterTarget& cluster = info.clusters.at(s.name);
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

std::vector<std::string> FirstParameters(const jdl::Campaign& campaign,
                                         const SubmissionContext& submission) {
  if (submission.parameters.upload) return submission.first;
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

Reply DryRun(const SubmissionContext& submission, const Admitted& admitted) {
  return Reply::Json(
      {{"jdl", jdl::WithWalltimesAsText(jdl::ToJson(admitted.campaign))},
       {"changes", admitted.changes},
       {"notes", admitted.notes},
       {"clusters", ClustersJson(submission.info, admitted.campaign)},
       {"commands", Commands(admitted.campaign, FirstParameters(admitted.campaign, submission))},
       {"total_jobs", submission.parameters.n}});
}

std::size_t SizeOf(const jdl::Lines& lines) {
  std::size_t bytes = 0;
  for (const auto& block : lines.blocks()) bytes += block.size();
  return bytes;
}

Reply Store(Context& context, const Request& request, SubmissionContext& submission,
            const Admitted& admitted) {
  const std::string& user = request.caller.user;
  Parameters& parameters = submission.parameters;
  // In a transaction of its own: who submits waits for nobody else's commit.
  const auto take_ids = [&](db::Tx& tx) { TakeTaskIds(tx, parameters); };
  auto answer = context.Transact(take_ids, [&](db::Tx& tx) {
    if (parameters.upload && TakeUpload(tx, request).lines != parameters.n)
      throw ApiError(409, "Conflict", "the upload has grown meanwhile", "try again");
    const bool inlined = admitted.campaign.source == jdl::Source::kParams;
    RequireSpace(context.config, tx, user, inlined ? SizeOf(admitted.campaign.params) : 0,
                 jdl::ToJson(admitted.campaign).dump().size());
    const auto id = StoreCampaign(tx, user, submission.info, admitted, parameters);
    NoteRequestKey(tx, request, id);
    return CampaignJson(tx, request, id);
  });
  answer["notes"] = admitted.changes;
  for (const auto& note : admitted.notes) answer["notes"].push_back(note);
  answer["clusters_state"] = ClustersJson(submission.info, admitted.campaign);
  Reply reply = Reply::Json(answer, 201);
  reply.headers["Location"] =
      request.Link("/campaigns/" + std::to_string(answer["id"].get<std::int64_t>()));
  return reply;
}

Reply AnswerSubmission(Context& context, const Request& request) {
  auto [submission, read] = ReadJdl(context, request);
  if (read.campaign.source == jdl::Source::kFile) ReadParamFile(request.caller.user, &read);
  if (request.of_cigri3) LeaveOutputAsInCigri3(read.campaign);
  OverrideType(request, read.campaign);
  CheckRows(context, read.campaign, submission);
  RequireMayGive(request, submission.info, jdl::kPriorityNormal, read.campaign.priority);
  RequireMember(submission.info, read.campaign, {}, request.caller.is_operator);
  if (!submission.parameters.upload) submission.parameters.n = read.campaign.count;
  Admitted admitted =
      Admit(context, submission.info, std::move(read.campaign), submission.parameters.n);
  if (!request.Flag("dry_run")) RequireFit(submission.info, admitted.campaign);
  for (auto& note : LeaveOutUnable(context, submission.info, admitted.campaign))
    admitted.notes.push_back(std::move(note));
  CheckLimits(context, submission.info, admitted.campaign, submission.parameters.upload,
              admitted.campaign.params);
  for (const auto& warning : read.warnings) admitted.notes.push_back(NoteOf(warning));
  for (auto& note : TokenNotes(submission.info, admitted.campaign, submission.parameters.n))
    admitted.notes.push_back(std::move(note));
  return request.Flag("dry_run") ? DryRun(submission, admitted)
                                 : Store(context, request, submission, admitted);
}

// In a thread that lets readers go first, like the session that stores it; so do the rules, its
// children.
Reply Submit(Context& context, const Request& request) {
  const auto answer = [&] {
    setpriority(PRIO_PROCESS, 0, kNiceOfSubmissions);  // of this thread
    const ActingFor acting(request.caller.user, request.caller.source, request.id);
    return Once(context, request, AnswerSubmission);
  };
  return std::async(std::launch::async, answer).get();
}

}  // namespace

void AddSubmitRoutes(Router& router) { router.Post("/campaigns", Submit); }

}  // namespace cigri::api
