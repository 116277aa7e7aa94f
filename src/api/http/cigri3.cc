#include "api/http/cigri3.h"

#include "core/cigri3_keys.h"
#include "core/text.h"

namespace cigri::api {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using Keys = std::vector<const char*>;

const Keys kCampaign = {
    "id", "name", "user", "state", "has_events", "submission_time", "total_jobs", "finished_jobs"};
const Keys kPlacement = {"cluster_name", "active_jobs", "queued_jobs", "prologue_ok",
                         "epilogue_ok"};
const Keys kStats = {"average_jobs_duration", "stddev_jobs_duration", "jobs_throughput",
                     "remaining_time",        "failures_rate",        "resubmit_rate"};
const Keys kJob(std::begin(kCigri3JobKeys), std::end(kCigri3JobKeys));
// Of its table of jobs.
const Keys kFinished = {"id",         "campaign_id",     "param_id",   "batch_id",
                        "cluster_id", "collect_id",      "state",      "return_code",
                        "submission_time", "start_time", "stop_time",  "node_name",
                        "resources_used",  "remote_id",  "tag",        "runner_options"};
const Keys kCluster = {"id",
                       "name",
                       "api_url",
                       "api_auth_type",
                       "api_auth_header",
                       "api_chunk_size",
                       "api_limit",
                       "ssh_host",
                       "batch",
                       "resource_unit",
                       "power",
                       "properties",
                       "enabled",
                       "stress_factor",
                       "blacklisted",
                       "under_stress"};
const Keys kUsage = {"cluster_name",   "cluster_id",    "max_resources",
                     "used_resources", "used_by_cigri", "unavailable_resources"};
const Keys kEvent = {"id",           "class",     "code",    "job_id", "cluster_id",
                     "cluster_name", "date_open", "message", "parent", "state"};

// `from` with these keys only, in this order; those that it lacks are null. `links` stay.
ordered_json Only(const json& from, const Keys& keys) {
  ordered_json out = ordered_json::object();
  for (const char* key : keys) out[key] = from.value(key, json());
  if (from.contains("links")) out["links"] = from["links"];
  return out;
}

template <typename Shape>
ordered_json ItemsOf3(const json& page, Shape shape) {
  ordered_json out = ordered_json::object();
  out["items"] = ordered_json::array();
  for (const auto& item : page["items"]) out["items"].push_back(shape(item));
  for (const auto& [key, value] : page.items())
    if (key != "items") out[key] = value;
  return out;
}

// In CiGri 3 a campaign with failed tasks is alive until its events are closed; scripts that wait
// for `terminated` would take a part for the whole.
ordered_json CampaignOf3(const json& from) {
  ordered_json out = Only(from, kCampaign);
  if (out["state"] == "terminated" && out["has_events"] == true) out["state"] = "in_treatment";
  if (!from.contains("clusters")) return out;
  out["clusters"] = ordered_json::object();
  for (const auto& [id, placement] : from["clusters"].items())
    out["clusters"][id] = Only(placement, kPlacement);
  return out;
}

ordered_json Campaigns(const json& page) {
  ordered_json out = ItemsOf3(page, CampaignOf3);
  out["total"] = out["items"].size();
  return out;
}

ordered_json Job(const json& from) {
  ordered_json out = Only(from, kJob);
  out["nodb"] = false;
  return out;
}

// The numbers that CiGri 3 used for calls to the cluster: its defaults.
ordered_json ClusterOf3(const json& from) {
  ordered_json out = Only(from, kCluster);
  out["api_chunk_size"] = out["api_limit"] = 100;
  return out;
}

ordered_json UsageOf3(const json& snapshot) {
  ordered_json out = ordered_json::object();
  out["date"] = snapshot["date"];
  out["clusters"] = ordered_json::array();
  for (const auto& cluster : snapshot["clusters"]) out["clusters"].push_back(Only(cluster, kUsage));
  return out;
}

// CiGri 3 had an event for each failure, we have one with a count, which its clients do not show.
ordered_json EventOf3(const json& from) {
  ordered_json out = Only(from, kEvent);
  const std::int64_t n = from.value("count", std::int64_t{1});
  if (n < 2) return out;
  const std::string last = from.value("job_id", json()).is_null() ? "" : "; the job is the last";
  out["message"] = from.value("message", "") + " (" + std::to_string(n) + " times" + last + ")";
  return out;
}

ordered_json Token(const json& from) {
  ordered_json out = from;
  out["cluster_login"] = "Bearer " + from.value("cluster_login", "");
  return out;
}

// {"campaigns", "#", "jobs"} of /campaigns/12/jobs.
std::vector<std::string> PatternOf(const std::string& path) {
  std::vector<std::string> parts;
  for (auto& part : Split(path, '/'))
    if (!part.empty())
      parts.push_back(part.find_first_not_of("0123456789") == part.npos ? "#" : std::move(part));
  return parts;
}

std::optional<ordered_json> Shaped(const std::string& path, const json& body) {
  const std::string route = Join(PatternOf(path), "/");
  if (route == "campaigns") return Campaigns(body);
  if (route == "campaigns/#") return CampaignOf3(body);
  if (route == "campaigns/#/stats") return Only(body, kStats);
  if (route == "campaigns/#/events" || route == "events") return ItemsOf3(body, EventOf3);
  if (route == "events/#") return EventOf3(body);
  if (route == "jobs/#") return Job(body);
  if (route == "campaigns/#/jobs/finished")
    return ItemsOf3(body, [](const json& job) { return Only(job, kFinished); });
  if (route == "gridusage") return ItemsOf3(body, UsageOf3);
  if (route == "tokens") return ItemsOf3(body, Token);
  if (StartsWith(route, "clusters/")) return ClusterOf3(body);
  return std::nullopt;
}

bool IsEmptyPage(const json& body) { return body.contains("items") && body["items"].empty(); }

bool EndsWith(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.npos, end) == 0;
}

}  // namespace

bool IsOfCigri3(bool below_base, const Request& request) {
  return below_base && request.Header("x-cigri-api").empty() &&
         !StartsWith(request.Header("user-agent"), "Mozilla/");
}

void ShapeForCigri3(const Request& request, Reply& reply) {
  const bool jobs_page = EndsWith(request.path, "/jobs/finished");
  if (jobs_page && (reply.status == 403 || reply.status == 404)) {
    reply = Reply::Json({{"items", json::array()}});  // its gridclean dies of an error
    return;
  }
  if (request.method != "GET" || reply.status != 200 || !reply.json.is_object() ||
      !reply.text.empty() || reply.stream)
    return;
  if (EndsWith(request.path, "/events") && IsEmptyPage(reply.json)) {
    reply.status = 404;
    reply.json_text.clear();
    reply.json =
        ApiError(404, "Not found", "GET " + ValidUtf8(request.path) + " not found on this server")
            .Body();
    return;
  }
  const auto shaped = Shaped(request.path, reply.json);
  if (!shaped) return;
  const bool pretty = request.HasQuery("pretty") && request.Query("pretty") != "false";
  reply.text =
      shaped->dump(pretty ? 2 : -1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
  reply.content_type = "application/json";
}

}  // namespace cigri::api
