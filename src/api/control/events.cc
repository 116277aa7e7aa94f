// Closing and writing events, and asking for jobs to be killed.
#include "db/events.h"

#include <sql/batches.h>
#include <sql/clusters.h>
#include <sql/events.h>
#include <sql/grid.h>
#include <sql/jobs.h>
#include <sql/kills.h>

#include "api/control/campaign_lock.h"
#include "api/http/audit.h"
#include "api/http/router.h"
#include "api/submit/submission.h"
#include "core/pluralize.h"

namespace cigri::api {
namespace {

using nlohmann::json;

Reply Closed(std::int64_t events, std::int64_t tasks) {
  return Reply::Json({{"status", 202},
                      {"message", Pluralize(events, "event") + " closed, " +
                                      Pluralize(tasks, "task") + " to be tried again"},
                      {"closed", events},
                      {"tasks", tasks}},
                     202);
}

// Closes open events of a campaign; with ?resubmit the tasks that wait for them are retried.
Reply CloseIn(Context& context, const Request& request, std::optional<std::int64_t> event) {
  const bool retry = request.Flag("resubmit");
  const auto most = retry ? RetryMost(context, request, event) : 0;
  return context.Transact([&](db::Tx& tx) {
    const auto campaign = LockOwn(tx, request);
    if (retry) RequireNotCancelled(campaign, "retry tasks of");
    db::EventFilter filter{.campaign_id = campaign.id};
    if (event) filter.ids = {*event};
    const auto events = db::CloseEvents(tx, request.caller.user, filter);
    const auto tasks = retry ? most + RetryRest(tx, campaign, event) : 0;
    AddAudit(tx, "closed",
             event ? "event " + std::to_string(*event) : "campaign " + std::to_string(campaign.id),
             {{"campaign", campaign.id}, {"events", events}, {"tasks_retried", tasks}});
    Wake(tx, campaign.id);
    return Closed(static_cast<std::int64_t>(events), tasks);
  });
}

Reply CloseAll(Context& context, const Request& request) {
  return CloseIn(context, request, std::nullopt);
}

Reply CloseOne(Context& context, const Request& request) {
  const auto of = context.Transact([&](db::Tx& tx) {
    const auto rows = tx.Exec(sql::kCampaignOfEvent, request.Id());
    if (rows.empty()) throw NotFound("event " + std::to_string(request.Id()));
    return rows[0].campaign_id;
  });
  if (of) {
    Request of_campaign = request;
    of_campaign.captures["id"] = std::to_string(*of);
    return CloseIn(context, of_campaign, request.Id());
  }
  RequireOperator(request);  // of a cluster, or of the grid
  return context.Transact([&](db::Tx& tx) {
    const auto closed =
        db::CloseEvents(tx, request.caller.user, {.ids = std::vector{request.Id()}});
    AddAudit(tx, "closed", "event " + std::to_string(request.Id()), {{"events", closed}});
    tx.Exec(sql::kNotifyWake);
    return Closed(static_cast<std::int64_t>(closed), 0);
  });
}

std::optional<std::int64_t> NumberIn(const json& body, const char* key) {
  if (!body.contains(key) || body[key].is_null()) return std::nullopt;
  if (!body[key].is_number_integer())
    throw BadRequest(std::string("\"") + key + "\" must be a number");
  return body[key].get<std::int64_t>();
}

std::string TextIn(const json& body, const char* key) {
  const auto value = body.value(key, json(""));
  if (!value.is_string()) throw BadRequest(std::string("\"") + key + "\" must be a text");
  return value.get<std::string>();
}

bool IsCode(const std::string& code) {
  return code.size() >= 3 && code.size() <= 41 && code[0] >= 'A' && code[0] <= 'Z' &&
         code.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == code.npos;
}

// An event of a job belongs to its campaign, its cluster and its task, and ends the job, as in
// CiGri 3: the task then waits for its user.
void MarkJob(db::Tx& tx, const Request& request, db::Event* event) {
  const auto batches = tx.Exec(sql::kBatchOfJob, *event->job_id);
  if (batches.empty())
    throw BadRequest("job " + std::to_string(*event->job_id) + " does not exist",
                     "gridstat -c CAMPAIGN -f lists the jobs of a campaign");
  event->campaign_id = batches[0].campaign_id;
  event->cluster_id = batches[0].cluster_id;
  event->idx = batches[0].idx;
  event->fingerprint = "job " + std::to_string(*event->job_id);
  const auto owner = tx.Exec(sql::kJobOwner, *event->job_id);
  if (!owner.empty() && owner[0].alive)
    tx.Exec(sql::kRequestKill, *event->job_id, request.caller.user);
}

// CiGri: {"class", "code", "cluster_id" or "job_id" (or "campaign_id"), "message"}.
Reply WriteEvent(Context& context, const Request& request) {
  const auto body = request.Json();
  if (!body.is_object()) throw BadRequest("the body must be an event as a JSON object");
  const std::string cls = TextIn(body, "class"), code = TextIn(body, "code");
  if (cls != "cluster" && cls != "job" && cls != "campaign" && cls != "notify" && cls != "log")
    throw BadRequest("\"" + cls + "\" is no class of events",
                     "classes are cluster, job, campaign, notify and log");
  if (!IsCode(code)) throw BadRequest("\"" + code + "\" is no event code", "like MANUAL_EVENT");
  const auto campaign = NumberIn(body, "campaign_id"), cluster = NumberIn(body, "cluster_id"),
             job = NumberIn(body, "job_id");
  if (!campaign && !cluster && !job)
    throw BadRequest("an event needs a cluster_id, a job_id or a campaign_id");
  return context.Transact([&](db::Tx& tx) {
    db::Event event{.cls = cls,
                    .code = code,
                    .message = TextIn(body, "message"),
                    .campaign_id = campaign,
                    .cluster_id = cluster,
                    .job_id = job};
    if (cluster && tx.Exec(sql::kClusterAuth, *cluster).empty())
      throw BadRequest("cluster " + std::to_string(*cluster) + " does not exist",
                       "gridclusters lists them");
    if (job) MarkJob(tx, request, &event);
    const auto id = db::RaiseEvent(tx, event);
    AddAudit(tx, "added", "event " + std::to_string(id), body);
    tx.Exec(sql::kNotifyWake);
    json answer = body;
    answer["id"] = id;
    answer["state"] = "open";
    answer["links"] = {LinkJson(request, "self", "/events/" + std::to_string(id))};
    return Reply::Json(answer, 201);
  });
}

// {"ack": "I look into it"}: the caller has taken the incident on; null: nobody has.
Reply Acknowledge(Context& context, const Request& request) {
  const auto body = request.Json();
  if (!body.is_object() || !body.contains("ack") || body.size() != 1 ||
      !(body["ack"].is_string() || body["ack"].is_null()))
    throw BadRequest("the body must be {\"ack\": text} or {\"ack\": null}");
  std::optional<std::string> by, note;
  if (body["ack"].is_string()) by = request.caller.user, note = body["ack"].get<std::string>();
  return context.Transact([&](db::Tx& tx) {
    if (tx.Exec(sql::kAcknowledgeEvent, request.Id(), by, note).empty())
      throw NotFound("open event " + std::to_string(request.Id()) + " of the grid");
    AddAudit(tx, "acknowledged", "event " + std::to_string(request.Id()), body);
    return Reply::Json({{"id", request.Id()}, {"acked_by", by ? json(*by) : json()}});
  });
}

// Nikita kills what is asked for, until the cluster confirms; a job on its way is killed on
// arrival.
Reply KillJob(Context& context, const Request& request) {
  const std::string name = "job " + std::to_string(request.Id());
  return context.Transact([&](db::Tx& tx) {
    const auto rows = tx.Exec(sql::kJobOwner, request.Id());
    if (rows.empty()) throw NotFound(name);
    RequireOwner(request, rows[0].grid_user, name);
    if (!rows[0].alive) throw ApiError(409, "Conflict", name + " has already ended");
    tx.Exec(sql::kRequestKill, request.Id(), request.caller.user);
    AddAudit(tx, "killed", name, {{"user", rows[0].grid_user}});
    tx.Exec(sql::kNotifyWake);
    return Reply::Json(
        {{"status", 202}, {"title", "Accepted"}, {"message", name + " is being killed"}}, 202);
  });
}

}  // namespace

void AddEventWriteRoutes(Router& router) {
  router.Delete("/campaigns/{id}/events", CloseAll);
  router.Delete("/events/{id}", CloseOne);
  router.Post("/events", WriteEvent, Access::kOperator);
  router.Patch("/events/{id}", Acknowledge, Access::kOperator);
  router.Delete("/jobs/{id}", KillJob);
}

}  // namespace cigri::api
