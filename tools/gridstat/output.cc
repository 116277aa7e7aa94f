#include "tools/gridstat/output.h"

#include <cstdio>
#include <thread>

#include "tools/common/result_sinks.h"
#include "tools/gridstat/streams.h"

namespace cigri::gridstat {
namespace {

using nlohmann::json;

constexpr int kPollMs = 10'000;
constexpr std::chrono::milliseconds kPause{500};

// A job that has not ended: "running", "launching" ...
bool IsLive(const json& state) { return state != "terminated" && state != "event"; }

// The attempt that stands for its task: its success, else its last one that a cluster knows.
std::string JobOfTask(tools::Api& api, const GridstatOptions& o) {
  const std::string what = "task " + std::to_string(*o.task) + " of campaign " + o.campaign;
  const json task = tools::Expect(
      api.Get("/campaigns/" + o.campaign + "/tasks/" + std::to_string(*o.task)), "show " + what);
  std::string job;
  for (const auto& attempt : task["execution"]) {
    if (!attempt["cigri_job_id"].is_number() || attempt["remote_id"].is_null()) continue;
    job = attempt["cigri_job_id"].dump();
    if (attempt["state"] == "terminated") break;
  }
  if (job.empty())
    throw Fatal(kExitNo, what + " has printed nothing: it has not been on a cluster yet",
                "gridstat -c " + o.campaign + " --task " + std::to_string(*o.task) + " --why");
  return "/jobs/" + job;
}

// Until the campaign is over, each task once, as it ends.
int FollowCampaign(tools::Api& api, const GridstatOptions& o) {
  tools::ResultFanout sinks;
  sinks.Add(std::make_unique<tools::ResultPrinter>(
      o.tag, [] {}, false));
  tools::ResultStream stream(api, std::stoll(o.campaign), {!o.err, o.err, o.in_order});
  FollowResults(api, o, stream, sinks);
  if (sinks.unread() == 0) return kExitOk;
  throw Fatal(kExitNo, "the output of " + std::to_string(sinks.unread()) +
                           " tasks cannot be read; " + sinks.why_unread());
}

// The state is asked for first: what a job prints before its end is then read after it.
int FollowJob(tools::Api& api, const std::string& path, const GridstatOptions& o) {
  const std::string from = path + (o.err ? "/stderr" : "/stdout") + "?raw=1&offset=";
  std::size_t offset = 0;
  for (;;) {
    const json job = tools::Expect(api.Get(path), "follow job " + path.substr(6));
    offset += CopyOut(api, from + std::to_string(offset), "read the output of a job");
    if (!IsLive(job["state"])) return kExitOk;
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace

void FollowResults(tools::Api& api, const GridstatOptions& o, tools::ResultStream& stream,
                   tools::ResultSink& sink) {
  const std::string path = "/campaigns/" + o.campaign + "/progress?wait=" + std::to_string(kPollMs);
  std::string token;
  for (bool over = false; !over && sink.WantsMore();) {
    const json progress = tools::Expect(api.Get(path + "&seen=" + http::PercentEncode(token),
                                                std::chrono::milliseconds(kPollMs + 20'000)),
                                        "follow campaign " + o.campaign);
    token = progress.value("token", "");
    over = progress.value("over", false);
    stream.Fetch(sink, over);
  }
}

int CampaignOutput(tools::Api& api, const GridstatOptions& o) {
  if (o.task) return JobOutput(api, JobOfTask(api, o), o);
  if (o.follow) return FollowCampaign(api, o);
  CopyOut(api, "/campaigns/" + o.campaign + "/output?stream=" + (o.err ? "stderr" : "stdout"),
          "read the output of campaign " + o.campaign);
  return kExitOk;
}

int JobOutput(tools::Api& api, const std::string& path, const GridstatOptions& o) {
  if (o.follow) return FollowJob(api, path, o);
  CopyOut(api, path + (o.err ? "/stderr" : "/stdout") + "?raw=1",
          "read the output of job " + path.substr(6));
  return kExitOk;
}

}  // namespace cigri::gridstat
