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

std::string PathOf(std::int64_t campaign) { return "/campaigns/" + std::to_string(campaign); }
std::string PathOf(const std::string& cluster) { return "/admin/clusters/" + cluster; }

}  // namespace

class UserRequests {
 public:
  UserRequests(const std::string& conninfo, SimulatedSite& site, const Config& config)
      : site_(site), context_(config, conninfo, 1) {
    AddSubmitRoutes(router_);
    AddSettingsRoutes(router_);
    AddControlRoutes(router_);
    AddTaskRoutes(router_);
    AddEventWriteRoutes(router_);
    AddReadRoutes(router_);
    AddDrainRoutes(router_);
    AddClusterAdminRoutes(router_);
    AddPolicyRoutes(router_);
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
  void CloseEvents(const std::string& campaign) { Ask("DELETE", campaign + "/events"); }
  void Retry(const std::string& campaign) {
    Ask("POST", campaign + "/retry", "", {{"failed", true}});
  }
  // Of those that there may be.
  void Boost(const std::string& campaign) {
    Ask("POST", campaign + "/boost", "", {{"tasks", {world::Random(3), world::Random(6)}}});
  }
  void Send(Order& order) {
    const auto reply = Ask("POST", order.path, "", order.body, order.key);
    if (reply.status < 300)
      order.campaign = reply.json.at("id");
    else if (reply.status < 500)
      site_.AddViolation("an order is refused: " + reply.json.dump());
  }
  bool HasEnded(const std::string& campaign) {
    const auto answer = Ask("GET", campaign);
    return answer.status == 200 && answer.json.at("state") == "terminated";
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
    if (Ask("POST", "/admin/drain", "", body).status == 200)
      site_.SetClosed(cluster, "drained", true);
  }
  void EndDrain(const std::string& cluster) {
    site_.SetClosed(cluster, "drained", false);
    Ask("POST", "/admin/resume", "", {{"cluster", cluster}});
  }
  // As after a drain.
  void Observe(const std::string& cluster) {
    if (Set(PathOf(cluster), {{"mode", "observe"}}) == 200)
      site_.SetClosed(cluster, "observed", true);
  }
  void EndObserve(const std::string& cluster, const json& mode = {{"mode", "unlimited"}}) {
    site_.SetClosed(cluster, "observed", false);
    Set(PathOf(cluster), mode);
  }
  int Set(const std::string& path, const json& settings) {
    const auto reply = Ask("PATCH", path, "", settings);
    if (reply.status == 400)
      site_.AddViolation(path + " refuses " + settings.dump() + ": " + reply.json.dump());
    return reply.status;
  }

 private:
  SimulatedSite& site_;
  api::Context context_;
  api::Router router_;
};

namespace {

// What operators and users set, and how it is taken back. Whatever is set, every task succeeds when
// it is.
struct Setting {
  json set, reset;
};
using Settings = std::vector<Setting>;

const Settings kOfClusters{{{{"max_running", 1}}, {{"max_running", nullptr}}},
                           {{{"max_waiting", 1}}, {{"max_waiting", nullptr}}},
                           {{{"max_calls_per_min", 60}}, {{"max_calls_per_min", nullptr}}}};

const Settings kOfPolicy{
    {{{"policy", "fifo"}}, {{"policy", nullptr}}},
    {{{"policy", "usage"}}, {{"policy", nullptr}}},
    {{{"policy", "stride"}}, {{"policy", nullptr}}},
    {{{"policy", "lottery"}}, {{"policy", nullptr}}},
    {{{"quotas", json::array({{{"scope", "user"}, {"name", "alice"}, {"slots", 1}}})}},
     {{"quotas", nullptr}}},
    {{{"start_rates", json::array({{{"scope", "user"}, {"name", "alice"}, {"per_minute", 30}}})}},
     {{"start_rates", nullptr}}}};

const Settings kOfCampaigns{
    {{{"set", {{"priority", 1}}}}, {{"set", {{"priority", 4}}}}},
    {{{"set", {{"priority", 0}}}}, {{"set", {{"priority", 4}}}}},
    {{{"set", {{"max_jobs_total", 1}}}}, {{"set", {{"max_jobs_total", 1000}}}}},
    {{{"set", {{"walltime", 1800}}}}, {{"set", {{"walltime", 3600}}}}}};

// Few, since each campaign must end within the run.
constexpr std::size_t kMostOrders = 4;

std::string NewKey(const Orders& orders) { return "order-" + std::to_string(orders.all.size()); }

Order OneMore(const Orders& orders, std::int64_t campaign, bool last = false) {
  Order order{.path = PathOf(campaign) + "/jobs", .key = NewKey(orders), .body = {"one more"}};
  order.tasks = 1;
  order.last = last;
  return order;
}

// A campaign, or one task more for one that there is.
Order NewOrder(const Orders& orders) {
  const auto tasks = orders.Tasks();
  if (!tasks.empty() && world::Chance(60))
    return OneMore(orders, std::next(tasks.begin(), world::Random(tasks.size()))->first);
  Order order{.key = NewKey(orders)};
  order.path = "/campaigns";
  json there = {{"exec_file", "./job.sh"}};
  auto name = order.key;
  if (world::Chance(40)) {
    name += kWithScripts;
    there["prologue"] = {"./before.sh"}, there["epilogue"] = {"./after.sh"};
  }
  if (world::Chance(50)) there["temporal_grouping"] = 8;
  const bool copies = world::Chance(40);
  if (copies) name += kWithCopies;
  order.body = {{"name", name},
                {"params", {"a", "b"}},
                {"finalize", copies},
                {"max_tries", 1000},
                {"clusters", {{"c1", there}, {"c2", there}}}};
  order.tasks = 2;
  return order;
}

template <typename T>
const T& OneOf(const std::vector<T>& all) {
  return all[world::Random(all.size())];
}

void SetAny(UserRequests& requests, const std::string& path, const Settings& settings) {
  requests.Set(path, OneOf(settings).set);
}

// False: the grid could not, and must be asked again.
bool Reset(UserRequests& requests, const std::vector<std::int64_t>& campaigns) {
  bool done = true;
  const auto all = [&](const std::string& path, const Settings& settings) {
    for (const auto& setting : settings) done = requests.Set(path, setting.reset) < 500 && done;
  };
  for (const char* cluster : {"c1", "c2"}) all(PathOf(cluster), kOfClusters);
  all("/admin/policy", kOfPolicy);
  for (const auto id : campaigns) all(PathOf(id), kOfCampaigns);
  return done;
}

// What an act may concern.
struct Choice {
  std::string given_up, campaign, cluster, ordered;  // ordered: "" while there is none
  Orders& orders;
};

void SendOrder(UserRequests& requests, const Choice& choice) {
  auto& orders = choice.orders;
  if (Order* unanswered = orders.Unanswered())
    requests.Send(*unanswered);
  else if (orders.all.size() < kMostOrders)
    requests.Send(orders.all.emplace_back(NewOrder(orders)));
}

// What a user does, and how often. Of a campaign that was ordered there is nothing to change before
// one is.
struct Deed {
  unsigned weight;
  void (*act)(UserRequests&, const Choice&);
};
const Deed kDeeds[] = {
    {15, [](UserRequests& r, const Choice& c) { r.Pause(c.campaign); }},
    {20, [](UserRequests& r, const Choice& c) { r.Resume(c.campaign); }},
    {15, [](UserRequests& r, const Choice& c) { r.EndAJob(c.campaign); }},
    {10, [](UserRequests& r, const Choice& c) { r.Retry(c.campaign); }},
    {8, [](UserRequests& r, const Choice& c) { r.Boost(c.campaign); }},
    {4, [](UserRequests& r, const Choice& c) { r.Cancel(c.given_up); }},
    {8, [](UserRequests& r, const Choice& c) { r.Drain(c.cluster, world::Chance(50)); }},
    {8, [](UserRequests& r, const Choice& c) { r.EndDrain(c.cluster); }},
    {4, [](UserRequests& r, const Choice& c) { r.Observe(c.cluster); }},
    {3, [](UserRequests& r, const Choice& c) { r.EndObserve(c.cluster); }},
    {2,
     [](UserRequests& r, const Choice& c) {
       r.EndObserve(c.cluster, {{"mode", "limited"}, {"mode_limit", 1}});
     }},
    {7, [](UserRequests& r, const Choice& c) { SetAny(r, PathOf(c.cluster), kOfClusters); }},
    {8, [](UserRequests& r, const Choice&) { SetAny(r, "/admin/policy", kOfPolicy); }},
    {6,
     [](UserRequests& r, const Choice& c) {
       c.ordered.empty() ? SendOrder(r, c) : SetAny(r, c.ordered, kOfCampaigns);
     }},
    {6,
     [](UserRequests& r, const Choice& c) {
       c.ordered.empty() ? SendOrder(r, c) : r.SetClusters(c.ordered, c.cluster);
     }},
    {24, SendOrder}};

}  // namespace

std::map<std::int64_t, int> Orders::Tasks() const {
  std::map<std::int64_t, int> tasks;
  for (const auto& order : all)
    if (order.campaign != 0) tasks[order.campaign] += order.tasks;
  return tasks;
}

bool Orders::Complete() const {
  return Tasks().empty() ||
         std::any_of(all.begin(), all.end(), [](const Order& o) { return o.last; });
}

Order* Orders::Unanswered() {
  const auto found =
      std::find_if(all.begin(), all.end(), [](const Order& order) { return order.campaign == 0; });
  return found == all.end() ? nullptr : &*found;
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

void SimulatedUser::Calm(UserRequests& requests, bool& reset) {
  std::vector<std::int64_t> ordered;
  for (const auto& [id, tasks] : orders_.Tasks()) ordered.push_back(id);
  for (const char* each : {"c1", "c2"}) requests.EndDrain(each), requests.EndObserve(each);
  if (!reset) reset = Reset(requests, ordered);
  if (Order* unanswered = orders_.Unanswered())
    requests.Send(*unanswered);
  else if (!orders_.Complete() && requests.HasEnded(PathOf(ordered.front())))
    requests.Send(orders_.all.emplace_back(OneMore(orders_, ordered.front(), true)));
  for (const auto id : ordered) requests.SetClusters(PathOf(id), "c1,c2");
  ordered.insert(ordered.end(), {campaign_, given_up_});
  for (const auto id : ordered) {
    requests.CloseEvents(PathOf(id));  // also of a prologue that failed
    requests.Resume(PathOf(id));
    requests.Retry(PathOf(id));
  }
}

void SimulatedUser::Act(UserRequests& requests) {
  std::vector<std::string> campaigns{PathOf(campaign_), PathOf(given_up_)}, ordered;
  for (const auto& [id, tasks] : orders_.Tasks()) ordered.push_back(PathOf(id));
  campaigns.insert(campaigns.end(), ordered.begin(), ordered.end());
  Choice choice{PathOf(given_up_), OneOf(campaigns), world::Chance(50) ? "c1" : "c2", "", orders_};
  if (!ordered.empty()) choice.ordered = OneOf(ordered);
  unsigned sum = 0;
  for (const auto& deed : kDeeds) sum += deed.weight;
  auto dice = world::Random(sum);
  for (const auto& deed : kDeeds) {
    if (dice < deed.weight) return deed.act(requests, choice);
    dice -= deed.weight;
  }
}

void SimulatedUser::Main() {
  UserRequests requests(conninfo_, site_, config_);
  bool reset = false;
  while (!world::IsDead(process_)) {
    const bool calm = Faults::OfProcess().calm();
    world::SleepFor(std::chrono::milliseconds(calm ? 1000 : 300 + world::Random(3000)));
    calm ? Calm(requests, reset) : Act(requests);
  }
  ended_ = true;
}

}  // namespace cigri::test
