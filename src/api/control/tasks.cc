// Adds tasks to a campaign, retries its failed ones, and sends some before the others.
#include <sql/campaigns.h>
#include <sql/claims.h>
#include <sql/parameters.h>
#include <sql/tasks.h>

#include "api/control/settings.h"
#include "api/http/audit.h"
#include "api/http/router.h"
#include "api/read/campaigns.h"
#include "api/submit/batch_limits.h"
#include "api/submit/once.h"
#include "api/submit/submission.h"
#include "core/limits.h"
#include "core/pluralize.h"
#include "core/text.h"
#include "db/events.h"

namespace cigri::api {
namespace {

// CiGri's body: a JSON array of lines; numbers are fine, arrays are rows of values.
std::string LineOf(const nlohmann::json& item, const LockedCampaign& campaign) {
  if (item.is_array() && campaign.format == jdl::kFormatValues) {
    std::vector<std::string> values;
    for (const auto& value : item)
      values.push_back(value.is_string() ? value.get<std::string>() : value.dump());
    return jdl::EncodeValues(values);
  }
  if (item.is_number()) return item.dump();
  if (!item.is_string()) throw BadRequest("it must be a text");
  return item.get<std::string>();
}

constexpr std::size_t kMostFaults = 50;  // as of a JDL

jdl::Lines LinesOf(const nlohmann::json& body, const LockedCampaign& campaign) {
  if (!body.is_array() || body.empty())
    throw BadRequest("the body must be a JSON array of parameter lines, and not empty",
                     "like [\"a01 --in a01.csv\", \"a02 --in a02.csv\"]");
  jdl::Lines lines;
  std::vector<Fault> faults;
  std::int64_t first = 0;
  for (std::size_t i = 0; i < body.size(); ++i) {
    std::string problem;
    try {
      const std::string line = LineOf(body[i], campaign);
      problem = jdl::LineProblem(line);
      if (problem.empty() && campaign.format == jdl::kFormatValues)
        problem = jdl::ValuesProblem(line, campaign.columns.size());
      if (problem.empty()) lines.Add(line);
    } catch (const ApiError& e) {
      problem = e.what();
    }
    if (problem.empty()) continue;
    if (faults.empty()) first = static_cast<std::int64_t>(i) + 1;
    faults.push_back({0, 0, "[" + std::to_string(i) + "]", problem, ""});
    if (faults.size() == kMostFaults) break;
  }
  if (!faults.empty()) throw BadParameter(first, faults[0].message, faults);
  return lines;
}

// What is asked for, read and checked before anything is written.
struct Addition {
  LockedCampaign campaign;
  GridInfo info;
  std::optional<ParameterUpload> upload;  ///< else `lines`
  jdl::Lines lines;
  std::int64_t n() const { return upload ? upload->lines : lines.size(); }
};

void RequireTaker(const LockedCampaign& campaign) {
  RequireNotCancelled(campaign, "add tasks to");
  if (campaign.type == "test")
    throw BadRequest(
        "campaign " + std::to_string(campaign.id) + " is a test: it makes one job for each cluster",
        "submit a campaign without -t test");
}

// Nothing is locked meanwhile but the upload: this takes as long as there are parameters.
Addition ReadAddition(Context& context, const Request& request) {
  Addition found = context.Transact([&](db::Tx& tx) {
    Addition add{ReadOwn(tx, request), {}, {}, {}};
    const auto& campaign = add.campaign;
    RequireTaker(campaign);
    if (request.HasQuery("columns") && request.Query("columns") != Join(campaign.columns, ","))
      throw BadRequest("the columns are " + request.Query("columns") + ", those of campaign " +
                       std::to_string(campaign.id) + " are " +
                       (campaign.columns.empty() ? "none" : Join(campaign.columns, ",")));
    if (request.HasQuery("upload")) {
      add.upload = TakeUpload(tx, request);
      if (campaign.format == jdl::kFormatValues)
        RequireRows(tx, *add.upload, campaign.columns.size());
    }
    add.info = LoadGridInfo(tx, context.config, campaign.user);
    return add;
  });
  if (!found.upload) found.lines = LinesOf(request.Json(request.body.size()), found.campaign);
  return found;
}

std::int64_t StoreTasks(db::Tx& tx, const Request& request, const Addition& add) {
  if (!add.upload) return StoreBlocks(tx, add.campaign.user, add.lines.blocks());
  const ParameterUpload upload = TakeUpload(tx, request);
  if (upload.lines != add.upload->lines)
    throw ApiError(409, "Conflict", "the upload has grown meanwhile", "try again");
  tx.Exec(sql::kPublishUpload, upload.id);
  return upload.id;
}

// Rules run when tasks are added, too: what they change counts for what is not yet sent.
Reply AddTasks(Context& context, const Request& request) {
  const Addition add = ReadAddition(context, request);
  const auto& jdl = add.campaign.jdl;
  const Change change =
      AdmitChange(context, add.info, jdl, jdl, add.campaign.nb_params + add.n(), nullptr);
  jdl::Campaign sent = change.admitted.campaign;
  sent.format = add.campaign.format;
  sent.columns = add.campaign.columns;
  CheckLimits(context, add.info, sent, add.upload, add.lines);
  auto answer = context.Transact([&](db::Tx& tx) {
    if (!add.upload) RequireSpace(context.config, tx, add.campaign.user, request.body.size());
    const auto upload = StoreTasks(tx, request, add);
    const auto campaign = LockOwn(tx, request);
    RequireTaker(campaign);
    StoreChange(tx, request, campaign, change, {});
    tx.Exec(sql::kInsertSegment, campaign.id, campaign.ntasks, add.n(), upload);
    tx.Exec(sql::kGrowCampaign, campaign.id, add.n());
    NoteRequestKey(tx, request, campaign.id);
    Reopen(tx, campaign);
    LogEvent(tx, request, campaign.id, "TASKS_ADDED", Pluralize(add.n(), "task") + " added");
    Wake(tx, campaign.id);
    return CampaignJson(tx, request, campaign.id);
  });
  answer["notes"] = NotesOf(change.admitted);
  Reply reply = Reply::Json(answer, 201);
  reply.headers["Location"] = request.Link("/campaigns/" + std::to_string(add.campaign.id));
  return reply;
}

// {"failed": true}: every task whose tries are spent is retried, with all its tries.
Reply Retry(Context& context, const Request& request) {
  const auto body = request.Json();
  if (!body.is_object() || body.value("failed", nlohmann::json()) != true)
    throw BadRequest("say what is to be tried again: {\"failed\": true}");
  const auto most = RetryMost(context, request, std::nullopt);
  return context.Transact([&](db::Tx& tx) {
    const auto campaign = LockOwn(tx, request);
    RequireNotCancelled(campaign, "retry tasks of");
    db::CloseEvents(tx, request.caller.user, {.campaign_id = campaign.id, .classes = {"job"}});
    CloseHoldEvents(tx, request, campaign.id);
    const auto n = most + RetryRest(tx, campaign, std::nullopt);
    AddAudit(tx, "retried", "campaign " + std::to_string(campaign.id), {{"tasks", n}});
    LogEvent(tx, request, campaign.id, "RETRIED",
             Pluralize(n, "failed task") + " to be tried again");
    Wake(tx, campaign.id);
    return Reply::Json(
        {{"status", 202}, {"tasks", n}, {"message", Pluralize(n, "task") + " to be tried again"}},
        202);
  });
}

std::vector<std::int64_t> TasksToBoost(const Request& request) {
  const auto body = request.Json();
  const auto tasks = body.is_object() ? body.value("tasks", nlohmann::json()) : nlohmann::json();
  if (!tasks.is_array() || tasks.empty())
    throw BadRequest("say which tasks go first: {\"tasks\": [4, 10]}");
  constexpr std::size_t kMost = limits::kBoostedTasks.value;  // each has rows until it is sent
  if (tasks.size() > kMost)
    throw BadRequest(Pluralize(tasks.size(), "task") + " are too many to be boosted at once",
                     "at most " + std::to_string(kMost));
  std::vector<std::int64_t> idxs;
  for (const auto& task : tasks) {
    if (!task.is_number_unsigned() || task.get<std::int64_t>() < 0)
      throw BadRequest("\"tasks\" has " + task.dump() + ", which is no number of a task");
    idxs.push_back(task.get<std::int64_t>());
  }
  return idxs;
}

// FBS-13. {"tasks": [4, 10]}: those that wait are sent before the others of their campaign.
Reply Boost(Context& context, const Request& request) {
  const auto idxs = TasksToBoost(request);
  return context.Transact([&](db::Tx& tx) {
    const auto campaign = LockOwn(tx, request);
    RequireNotCancelled(campaign, "boost tasks of");
    const auto last = *std::max_element(idxs.begin(), idxs.end());
    if (last >= campaign.ntasks)
      throw NotFound("task " + std::to_string(last) + " of campaign " +
                     std::to_string(campaign.id));
    std::vector<std::int64_t> taken;
    for (const auto& row : tx.Exec(sql::kTakeFromCursor, campaign.id, idxs))
      taken.push_back(row.idx);
    tx.Exec(sql::kPassBoosted, std::vector{campaign.id});
    const auto n = tx.One(sql::kBoostTasks, campaign.id, taken, idxs).n;
    if (n == 0)
      throw ApiError(409, "Conflict", "none of these tasks waits to be sent",
                     "gridstat " + std::to_string(campaign.id) + " -f shows where they are");
    AddAudit(tx, "boosted", "campaign " + std::to_string(campaign.id), {{"tasks", n}});
    const auto message = Pluralize(n, "task") + " to be sent before the others";
    LogEvent(tx, request, campaign.id, "BOOSTED", message);
    Wake(tx, campaign.id);
    return Reply::Json({{"status", 202}, {"tasks", n}, {"message", message}}, 202);
  });
}

}  // namespace

void AddTaskRoutes(Router& router) {
  router.Post("/campaigns/{id}/jobs", [](Context& context, const Request& request) {
    return Once(context, request, AddTasks);
  });
  router.Post("/campaigns/{id}/retry", Retry);
  router.Post("/campaigns/{id}/boost", Boost);
}

}  // namespace cigri::api
