#include "tests/simulation/simulated_user.h"

#include <algorithm>
#include <iterator>

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
    AddSubmitRoutes(router_);
    AddSettingsRoutes(router_);
    AddControlRoutes(router_);
    AddTaskRoutes(router_);
    AddEventWriteRoutes(router_);
    AddReadRoutes(router_);
    AddDrainRoutes(router_);
  }

  api::Reply Ask(const std::string& method, const std::string& path, const std::string& flag = "",
                 const json& body = nullptr, const std::string& key = "") {
    api::Request request;
    if (!key.empty()) request.headers.emplace("idempotency-key", key);
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
  void Send(Order& order) {
    const auto reply = Ask("POST", order.path, "", order.body, order.key);
    if (reply.status < 300)
      order.campaign = reply.json.at("id");
    else if (reply.status < 500)
      site_.AddViolation("an order is refused: " + reply.json.dump());
  }
  void SetClusters(const std::string& campaign, const std::string& clusters) {
    Ask("PATCH", campaign, "", {{"set", {{"clusters", clusters}}}});
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

std::string PathOf(std::int64_t campaign) { return "/campaigns/" + std::to_string(campaign); }

// Few, since each campaign must end within the run.
constexpr std::size_t kMostOrders = 4;

// A campaign, or one task more for one that there is.
Order NewOrder(const Orders& orders) {
  Order order{.key = "order-" + std::to_string(orders.all.size())};
  const auto tasks = orders.Tasks();
  if (!tasks.empty() && world::Chance(60)) {
    order.path = PathOf(std::next(tasks.begin(), world::Random(tasks.size()))->first) + "/jobs";
    order.body = {"one more"};
    order.tasks = 1;
    return order;
  }
  order.path = "/campaigns";
  order.body = {
      {"name", order.key},
      {"params", {"a", "b"}},
      {"max_tries", 1000},
      {"clusters", {{"c1", {{"exec_file", "./job.sh"}}}, {"c2", {{"exec_file", "./job.sh"}}}}}};
  order.tasks = 2;
  return order;
}

}  // namespace

std::map<std::int64_t, int> Orders::Tasks() const {
  std::map<std::int64_t, int> tasks;
  for (const auto& order : all)
    if (order.campaign != 0) tasks[order.campaign] += order.tasks;
  return tasks;
}

bool Orders::Answered() const {
  return std::all_of(all.begin(), all.end(),
                     [](const Order& order) { return order.campaign != 0; });
}

SimulatedUser::SimulatedUser(std::string conninfo, SimulatedSite& site, const Config& config,
                             std::int64_t campaign, std::int64_t given_up, Orders& orders)
    : conninfo_(std::move(conninfo)),
      site_(site),
      config_(config),
      campaign_(campaign),
      given_up_(given_up),
      orders_(orders),
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
  while (!world::IsDead(process_)) {
    const bool calm = Faults::OfProcess().calm();
    world::SleepFor(std::chrono::milliseconds(calm ? 1000 : 300 + world::Random(3000)));
    std::vector<std::int64_t> campaigns{campaign_, given_up_}, ordered;
    for (const auto& [id, tasks] : orders_.Tasks()) campaigns.push_back(id), ordered.push_back(id);
    const auto campaign = PathOf(campaigns[world::Random(campaigns.size())]);
    const std::string cluster = world::Chance(50) ? "c1" : "c2";
    const auto unanswered = std::find_if(orders_.all.begin(), orders_.all.end(),
                                         [](const Order& order) { return order.campaign == 0; });
    const auto dice = calm ? 0 : world::Random(100);
    if (calm) {
      for (const char* each : {"c1", "c2"}) requests.EndDrain(each);
      if (unanswered != orders_.all.end()) requests.Send(*unanswered);
      for (const auto id : ordered) requests.SetClusters(PathOf(id), "c1,c2");
      for (const auto id : campaigns) {
        requests.Resume(PathOf(id));
        requests.Retry(PathOf(id));
      }
    } else if (dice < 15) {
      requests.Pause(campaign);
    } else if (dice < 35) {
      requests.Resume(campaign);
    } else if (dice < 50) {
      requests.EndAJob(campaign);
    } else if (dice < 60) {
      requests.Retry(campaign);
    } else if (dice < 64) {
      requests.Cancel(PathOf(given_up_));
    } else if (dice < 72) {
      requests.Drain(cluster, world::Chance(50));
    } else if (dice < 80) {
      requests.EndDrain(cluster);
    } else if (dice < 86 && !ordered.empty()) {
      requests.SetClusters(PathOf(ordered[world::Random(ordered.size())]), cluster);
    } else if (unanswered != orders_.all.end()) {
      requests.Send(*unanswered);
    } else if (orders_.all.size() < kMostOrders) {
      requests.Send(orders_.all.emplace_back(NewOrder(orders_)));
    }
  }
  ended_ = true;
}

}  // namespace cigri::test
