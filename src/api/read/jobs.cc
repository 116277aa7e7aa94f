// Jobs: the paged list of a campaign, one task, one job.
#include <sql/batches.h>
#include <sql/jobs.h>
#include <sql/tasks.h>

#include "api/http/router.h"
#include "api/read/tasks.h"

namespace cigri::api {
namespace {

using nlohmann::json;

constexpr std::int64_t kPage = 100, kMostPage = 10'000;

template <typename T>
json TextOrNull(const std::optional<T>& value) {
  return value ? json(*value) : json();
}
json TextOrNull(const std::string& text) { return text.empty() ? json() : json(text); }

// What users are shown of an end next to the raw status that CiGri shows.
void AddEnd(json& job, const Attempt& a) {
  const auto how = Decode(a.wait_status);
  job["exit"] = a.wait_status && how.signal == 0 ? json(how.exit) : json();
  job["signal"] = how.signal != 0 ? json(how.signal) : json();
  job["code"] = TextOrNull(a.code);
  job["exit_class"] = TextOrNull(a.exit_class);
  job.update(MeasuredJson(a));
}

/// One line of gridstat -f. `line` is null for those who may not see parameters.
json JobLine(const Request& request, const CampaignInfo& info, const Attempt& a,
             const std::string* line) {
  const std::string id = std::to_string(info.first_task_id + a.idx);
  json job = {{"id", info.first_task_id + a.idx},
              {"index", a.idx},
              {"name", line ? json(ParamName(info, *line)) : json()},
              {"parameters", line ? json(ParamText(info, *line, ' ')) : json()},
              {"cluster", TextOrNull(a.cluster)},
              {"cigri_job_id", TextOrNull(a.job_id)},
              {"remote_id", TextOrNull(a.remote_id)},
              {"state", a.state},
              {"needs_attention", a.needs_attention},
              {"counted", a.counted},
              {"started", TextOrNull(a.started)},
              {"ended", TextOrNull(a.ended)},
              {"href", request.Link("/campaigns/" + std::to_string(info.id) + "/jobs/" + id)}};
  AddEnd(job, a);
  return job;
}

json JobLines(db::Tx& tx, const Request& request, const CampaignInfo& info,
              const std::vector<std::int64_t>& idxs) {
  ParamReader params;
  std::map<std::int64_t, std::string> lines;
  const bool shown = MayRead(request, info.user);
  if (shown) lines = params.Read(tx, info.id, idxs);
  json items = json::array();
  for (const auto& a : AttemptsOf(tx, info.id, idxs))
    items.push_back(JobLine(request, info, a, shown ? &lines[a.idx] : nullptr));
  return items;
}

std::int64_t TotalOf(db::Tx& tx, std::int64_t campaign) {
  return tx.One(sql::kTaskCount, campaign).n;
}

// CiGri's words for a page beyond the end, next to an empty list that needs no special case.
json WithMessage(json page) {
  if (!page["items"].empty()) return page;
  page["title"] = "No jobs found";
  page["message"] = "No more jobs";
  return page;
}

// A page is a range of tasks with all their attempts: offset, limit and total count tasks, so any
// page of ten million costs the same.
json Page(db::Tx& tx, const Request& request) {
  const auto info = InfoOf(tx, request.Id());
  const auto limit = request.QueryInt("limit", kPage, 1, kMostPage);
  const auto offset = request.QueryInt("offset", 0, 0, std::int64_t{1} << 40);
  const auto total = TotalOf(tx, info.id);
  std::vector<std::int64_t> idxs;
  for (auto i = offset; i < std::min(total, offset + limit); ++i) idxs.push_back(i);
  return WithMessage(PageJson(request, "/campaigns/" + std::to_string(info.id) + "/jobs",
                              JobLines(tx, request, info, idxs), total, offset, limit));
}

// Of one state: pages follow the index of the last task shown (?after=), which `next` names.
json PageOfState(db::Tx& tx, const Request& request) {
  const auto info = InfoOf(tx, request.Id());
  const auto limit = request.QueryInt("limit", kPage, 1, kMostPage);
  const auto after = request.QueryInt("after", -1, -1, std::int64_t{1} << 40);
  const auto idxs = NextTasks(tx, info.id, WhichOf(request.Query("state")), after, limit);
  const std::string to = "/campaigns/" + std::to_string(info.id) +
                         "/jobs?state=" + request.Query("state") +
                         "&limit=" + std::to_string(limit);
  auto links = json::array({LinkJson(request, "self", to + "&after=" + std::to_string(after))});
  if (static_cast<std::int64_t>(idxs.size()) == limit)
    links.push_back(LinkJson(request, "next", to + "&after=" + std::to_string(idxs.back())));
  return WithMessage({{"items", JobLines(tx, request, info, idxs)},
                      {"limit", limit},
                      {"links", std::move(links)}});
}

std::string StateOfTask(const std::vector<Attempt>& attempts) {
  for (const auto& a : attempts)
    if (a.counted) return "done";
  return attempts.back().needs_attention ? "needs_attention" : attempts.back().state;
}

json TaskJson(db::Tx& tx, const Request& request, const CampaignInfo& info, std::int64_t idx) {
  if (idx < 0 || idx >= TotalOf(tx, info.id))
    throw NotFound("task " + std::to_string(idx) + " of campaign " + std::to_string(info.id));
  const auto attempts = AttemptsOf(tx, info.id, {idx});
  const auto items = JobLines(tx, request, info, {idx});
  const std::string self = "/campaigns/" + std::to_string(info.id);
  return {
      {"id", info.first_task_id + idx},
      {"index", idx},
      {"name", items[0]["name"]},
      {"parameters", items[0]["parameters"]},
      {"state", StateOfTask(attempts)},
      {"execution", items},
      {"links", json::array({LinkJson(request, "self",
                                      self + "/jobs/" + std::to_string(info.first_task_id + idx)),
                             LinkJson(request, "parent", self)})}};
}

// CiGri's columns of a job, those it never wrote left out.
json JobJson(db::Tx& tx, const Request& request, std::int64_t job) {
  const auto batches = tx.Exec(sql::kBatchOfJob, job);
  if (batches.empty()) throw NotFound("job " + std::to_string(job));
  const auto b = batches[0];
  const auto campaign = b.campaign_id, idx = b.idx;
  const auto info = InfoOf(tx, campaign);
  json out = {
      {"id", job},
      {"campaign_id", campaign},
      {"grid_user", info.user},
      {"index", idx},
      {"param_id", idx < 0 ? json(0) : json(info.first_task_id + idx)},
      {"batch_id", b.id},
      {"cluster_id", b.cluster_id},
      {"cluster_name", b.cluster},
      {"kind", b.kind},
      {"resources_used", TextOrNull(b.resources)},
      {"state", "launching"},
      {"submission_time", DateOrNull(b.created)},
      {"return_code", nullptr},
      {"start_time", nullptr},
      {"stop_time", nullptr},
      {"node_name", nullptr},
      {"remote_id", nullptr},
      {"message", TextOrNull(b.error)},
      {"tag", idx < 0 ? json(b.kind) : json()},
      {"grid_tag", b.tag},
      {"links",
       json::array({LinkJson(request, "self", "/jobs/" + std::to_string(job)),
                    LinkJson(request, "parent", "/campaigns/" + std::to_string(campaign))})}};
  const auto rows = tx.Exec(sql::kShowJob, job, campaign, idx);
  const std::string batch_state = b.state;
  if (rows.empty() && (batch_state == "refused" || batch_state == "abandoned"))
    out["state"] = batch_state;
  if (!rows.empty()) {
    const auto row = rows[0];
    Attempt a;
    a.wait_status = row.wait_status;
    a.code = row.code.value_or("");
    a.exit_class = row.exit_class.value_or("");
    a.cpu_s = row.cpu_s;
    a.peak_mb = row.peak_mb;
    a.read_mb = row.read_mb;
    a.written_mb = row.written_mb;
    a.transfer_s = row.transfer_s;
    AddEnd(out, a);
    out.update({{"state", row.state},
                {"remote_id", TextOrNull(row.remote_id)},
                {"attempt", row.attempt},
                {"return_code", TextOrNull(a.wait_status)},
                {"submission_time", DateOrNull(row.submitted)},
                {"start_time", DateOrNull(row.started)},
                {"stop_time", DateOrNull(row.ended)},
                {"node_name", TextOrNull(row.node)},
                {"message", TextOrNull(row.message)},
                {"counted", row.counted}});
  }
  if (MayRead(request, info.user)) {
    ParamReader params;
    if (idx >= 0) out["param"] = ParamText(info, params.Read(tx, campaign, {idx})[idx], ' ');
  } else {
    out["message"] = nullptr;
  }
  return out;
}

json JobOfRemote(db::Tx& tx, const Request& request) {
  const std::string cluster = request.Query("cluster"), id = request.Query("id");
  if (cluster.empty() || id.empty())
    throw BadRequest("a remote job is named by ?cluster=NAME&id=REMOTE_ID");
  if (const auto live = tx.First(sql::kLiveJobOfRemoteId, cluster, id))
    return JobJson(tx, request, live->job_id);
  if (const auto ended = tx.First(sql::kEndedJobOfRemoteId, cluster, id))
    return JobJson(tx, request, ended->job_id);
  throw NotFound("job " + id + " of cluster " + cluster);
}

// CiGri 3's columns of a job, and how it ended.
json FinishedJob(const CampaignInfo& info, const Attempt& a, const std::string& line) {
  json job = {{"id", TextOrNull(a.job_id)},
              {"campaign_id", info.id},
              {"param_id", a.idx < 0 ? 0 : info.first_task_id + a.idx},
              {"index", a.idx},
              {"parameters", a.idx < 0 ? json() : json(ParamText(info, line, ' '))},
              {"batch_id", TextOrNull(a.batch_id)},
              {"cluster_id", TextOrNull(a.cluster_id)},
              {"cluster", TextOrNull(a.cluster)},
              {"state", a.state},
              {"return_code", TextOrNull(a.wait_status)},
              {"submission_time", DateOrNull(a.submitted)},
              {"start_time", DateOrNull(a.started)},
              {"stop_time", DateOrNull(a.ended)},
              {"node_name", TextOrNull(a.node)},
              {"remote_id", TextOrNull(a.remote_id)},
              {"tag", a.idx < 0 ? json(a.kind) : json()}};
  AddEnd(job, a);
  return job;
}

// CiGri answered all of them at once; ten million are walked by `next`.
json Finished(db::Tx& tx, const Request& request) {
  const auto info = OwnInfo(tx, request, request.Id());
  const auto limit = request.QueryInt("limit", 1000, 1, kMostPage);
  const auto after = request.QueryInt("after", -1, -1, std::int64_t{1} << 40);
  const auto idxs = NextTasks(tx, info.id, Which::kEnded, after, limit);
  json items = json::array();
  ParamReader params;
  auto lines = params.Read(tx, info.id, idxs);
  std::vector<std::int64_t> with_prologues = idxs;
  if (after < 0) with_prologues.insert(with_prologues.begin(), -1);
  for (const auto& a : AttemptsOf(tx, info.id, with_prologues))
    if (a.HasEnded()) items.push_back(FinishedJob(info, a, lines[a.idx]));
  const std::string to =
      "/campaigns/" + std::to_string(info.id) + "/jobs/finished?limit=" + std::to_string(limit);
  auto links = json::array({LinkJson(request, "self", to + "&after=" + std::to_string(after))});
  if (static_cast<std::int64_t>(idxs.size()) == limit)
    links.push_back(LinkJson(request, "next", to + "&after=" + std::to_string(idxs.back())));
  return {{"items", std::move(items)}, {"limit", limit}, {"links", std::move(links)}};
}

}  // namespace

void AddJobReadRoutes(Router& router) {
  router.Get("/campaigns/{id}/jobs", [](Context& context, const Request& request) {
    return Reply::Json(context.Read([&](db::Tx& tx) {
      return request.HasQuery("state") ? PageOfState(tx, request) : Page(tx, request);
    }));
  });
  router.Get("/campaigns/{id}/jobs/finished", [](Context& context, const Request& request) {
    return Reply::Json(context.Read([&](db::Tx& tx) { return Finished(tx, request); }));
  });
  // P is the id of the parameter, as the list shows it.
  router.Get("/campaigns/{id}/jobs/{p}", [](Context& context, const Request& request) {
    return Reply::Json(context.Read([&](db::Tx& tx) {
      const auto info = InfoOf(tx, request.Id());
      return TaskJson(tx, request, info, request.Id("p") - info.first_task_id);
    }));
  });
  router.GetLive("/campaigns/{id}/tasks/{index}", [](Context& context, const Request& request) {
    return Reply::Json(context.Read([&](db::Tx& tx) {
      return TaskJson(tx, request, InfoOf(tx, request.Id()), request.Id("index"));
    }));
  });
  router.Get("/jobs/remote", [](Context& context, const Request& request) {
    return Reply::Json(context.Read([&](db::Tx& tx) { return JobOfRemote(tx, request); }));
  });
  router.Get("/jobs/{id}", [](Context& context, const Request& request) {
    return Reply::Json(
        context.Read([&](db::Tx& tx) { return JobJson(tx, request, request.Id()); }));
  });
}

}  // namespace cigri::api
