#include "tests/simulation/simulated_user.h"

#include "api/admin/admin.h"
#include "api/http/router.h"
#include "api/read/read.h"
#include "tests/simulation/faults.h"
#include "tests/simulation/scheduler.h"
#include "tests/simulation/sessions.h"

namespace cigri::test {
namespace {

using nlohmann::json;

class Requests {
 public:
  Requests(const std::string& conninfo, SimulatedSite& site, const Config& config)
      : site_(site), context_(config, conninfo, 1) {
    AddControlRoutes(router_);
    AddTaskRoutes(router_);
    AddEventWriteRoutes(router_);
    AddReadRoutes(router_);
    AddDrainRoutes(router_);
  }

  api::Reply Ask(const std::string& method, const std::string& path, const std::string& flag = "",
                 const json& body = nullptr) {
    api::Request request;
    request.method = method;
    request.path = path;
    if (!flag.empty()) request.query.emplace(flag, "1");
    if (!body.is_null()) request.body = body.dump();
    request.content_type = "application/json";
    request.caller.user = "alice";
    request.caller.is_operator = true;
    auto reply = router_.Dispatch(context_, request);
    world::Trace(method + " " + path + (flag.empty() ? "" : "?" + flag) + " -> " +
                 std::to_string(reply.status));
    if (reply.status == 500) site_.AddViolation("the API has an internal error: " + path);
    return reply;
  }

  void Pause(const std::string& campaign) { Ask("DELETE", campaign, "hold"); }
  void Resume(const std::string& campaign) { Ask("DELETE", campaign, "resume"); }
  void Cancel(const std::string& campaign) { Ask("DELETE", campaign); }
  void Retry(const std::string& campaign) {
    Ask("POST", campaign + "/retry", "", {{"failed", true}});
  }
  // One that may have ended meanwhile.
  void EndAJob(const std::string& campaign) {
    std::vector<std::int64_t> jobs;
    const auto answer = Ask("GET", campaign + "/jobs");
    if (answer.status != 200) return;
    for (const auto& job : answer.json.at("items"))
      if (job.at("cigri_job_id").is_number()) jobs.push_back(job.at("cigri_job_id"));
    if (!jobs.empty()) Ask("DELETE", "/jobs/" + std::to_string(jobs[world::Random(jobs.size())]));
  }
  // Once it is answered, nothing is sent there any more.
  void Drain(const std::string& cluster, bool kill) {
    const json body{{"cluster", cluster}, {"reason", "work on it"}, {"kill", kill}};
    if (Ask("POST", "/admin/drain", "", body).status == 200) site_.SetDrained(cluster, true);
  }
  void EndDrain(const std::string& cluster) {
    site_.SetDrained(cluster, false);
    Ask("POST", "/admin/resume", "", {{"cluster", cluster}});
  }

 private:
  SimulatedSite& site_;
  api::Context context_;
  api::Router router_;
};

}  // namespace

SimulatedUser::SimulatedUser(std::string conninfo, SimulatedSite& site, const Config& config,
                             std::int64_t campaign, std::int64_t given_up)
    : conninfo_(std::move(conninfo)),
      site_(site),
      config_(config),
      campaign_(campaign),
      given_up_(given_up),
      process_(world::NewProcess("user")) {
  const world::Enter enter(process_);
  thread_ = std::thread([this] { Main(); });
}

SimulatedUser::~SimulatedUser() {
  sessions::Kill(process_);
  thread_.join();
}

void SimulatedUser::Main() {
  Requests requests(conninfo_, site_, config_);
  const auto path = [](std::int64_t campaign) { return "/campaigns/" + std::to_string(campaign); };
  while (!world::IsDead(process_)) {
    const bool calm = Faults::OfProcess().calm();
    world::SleepFor(std::chrono::milliseconds(calm ? 1000 : 300 + world::Random(3000)));
    const auto campaign = path(world::Chance(50) ? campaign_ : given_up_);
    const std::string cluster = world::Chance(50) ? "c1" : "c2";
    const auto dice = calm ? 0 : world::Random(100);
    if (calm) {
      for (const char* each : {"c1", "c2"}) requests.EndDrain(each);
      for (const auto id : {campaign_, given_up_}) {
        requests.Resume(path(id));
        requests.Retry(path(id));
      }
    } else if (dice < 20) {
      requests.Pause(campaign);
    } else if (dice < 45) {
      requests.Resume(campaign);
    } else if (dice < 60) {
      requests.EndAJob(campaign);
    } else if (dice < 70) {
      requests.Retry(campaign);
    } else if (dice < 75) {
      requests.Cancel(path(given_up_));
    } else if (dice < 85) {
      requests.Drain(cluster, world::Chance(50));
    } else {
      requests.EndDrain(cluster);
    }
  }
  ended_ = true;
}

}  // namespace cigri::test
