// POST /admin/whatif: when campaigns would end, as things are and after a change. A child simulates
// the grid's last decision twice (gridsim), with little time, memory and priority.
#include <sql/plans.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <mutex>

#include "api/admin/admin.h"
#include "core/text.h"
#include "process/run.h"

namespace cigri::api {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr auto kMostTime = std::chrono::seconds(10);  // of each of the two
constexpr char kMostMemory[] = "--as=536870912";      // bytes, as prlimit takes them
// Of larger campaigns it takes fewer tasks, each as much longer: some 2 s.
constexpr char kMostTasks[] = "100000";
constexpr std::int64_t kMostSnapshotBytes = 8 << 20;  // of the stored decision
constexpr double kOldest_s = 300;  // there is one every 10 s while campaigns are alive
constexpr std::size_t kMostChanges = 100;
constexpr int kMostSlots = 1'000'000;

// ---- what the grid is like now

// The last stored decision, as GET /admin/plans/history has it. Throws 409 when it says nothing of
// now.
json LastDecision(Context& context) {
  return context.Read([](db::Tx& tx) {
    const auto newest = tx.First(sql::kNewestSnapshot);
    if (!newest || newest->age_s > kOldest_s)
      throw ApiError(409, "Conflict", "no campaign is in treatment: there is nothing to simulate");
    if (newest->bytes > kMostSnapshotBytes)
      throw ApiError(409, "Conflict", "the grid is too large to simulate it here",
                     "gridsim --from-history does, in its own time");
    json history = PlansHistory(tx, newest->at, newest->at + 1e-3, 1);
    if (history["items"].empty())
      throw ApiError(409, "Conflict", "the last decision is of another version of the grid",
                     "ask again in a minute");
    return history;
  });
}

// ---- what is to change

using SlotsByCluster = std::map<std::string, int>;

// What our jobs could use of each cluster: what its own users hold stays theirs, as for gridsim.
SlotsByCluster SlotsNow(const json& decision) {
  SlotsByCluster slots;
  for (const auto& c : decision["items"][0]["snapshot"]["clusters"]) {
    const int max = c.value("max", 0);
    slots[c.value("name", "")] = std::min(max, c.value("free", 0) + c.value("running_slots", 0));
  }
  return slots;
}

void MustKnow(const SlotsByCluster& clusters, const std::string& name) {
  if (clusters.count(name) != 0) return;
  std::vector<std::string> names;
  for (const auto& [known, n] : clusters) names.push_back(known);
  const auto near = DidYouMean(name, names);
  throw BadRequest("there is no cluster \"" + name + "\" in the last decision",
                   near ? "did you mean \"" + *near + "\"?" : "there are: " + Join(names, ", "));
}

// The options of gridsim that make the change. Throws 400.
std::vector<std::string> ChangeOf(const json& body, const SlotsByCluster& clusters) {
  std::vector<std::string> options;
  const json without = body.value("without", json::array()),
             more = body.value("slots", json::object());
  if (!without.is_array() || !more.is_object() || without.size() + more.size() > kMostChanges)
    throw BadRequest("\"without\" is a list of clusters, \"slots\" an object",
                     R"({"without": ["luke"], "slots": {"leia": 16}, "policy": "usage"})");
  for (const auto& name : without) {
    if (!name.is_string()) throw BadRequest("\"without\" is a list of names of clusters");
    MustKnow(clusters, name);
    options.insert(options.end(), {"--without", name});
  }
  for (const auto& [name, n] : more.items()) {
    MustKnow(clusters, name);
    if (!n.is_number_integer() || n < -kMostSlots || n > kMostSlots)
      throw BadRequest("\"slots\" of " + name + " must be a whole number: so many more");
    const int slots = clusters.at(name) + n.get<int>();
    if (slots < 1)
      throw BadRequest(name + " has " + std::to_string(clusters.at(name)) + " slots for our jobs",
                       "\"without\" leaves it out");
    options.insert(options.end(),
                   {"--set", "clusters." + name + ".slots=" + std::to_string(slots)});
  }
  if (const auto policy = OptionalText(body, "policy"); policy && !policy->empty())
    options.insert(options.end(), {"--policy", *policy});
  if (options.empty()) throw BadRequest("nothing is to change", "possible: without, slots, policy");
  return options;
}

// ---- the simulation

std::string Gridsim() {
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* place : {"gridsim", "../bin/gridsim", "../../bin/gridsim"})
    if (access((here / place).c_str(), X_OK) == 0) return here / place;
  throw ApiError(503, "Unavailable", "gridsim is not installed next to the API",
                 "it is in the package cigri-client; in a checkout: ninja -C build gridsim");
}

struct Simulated {
  json report;
  std::vector<std::string> notes;
};

Simulated Simulate(const std::string& decision, const std::vector<std::string>& options) {
  process::Command command{.argv = {"nice", "-n", "19", "prlimit", kMostMemory, Gridsim(),
                                    "--history", "-", "--coarse", kMostTasks, "--json"},
                           .input = decision,
                           .environment = process::Environment{"PATH=/usr/bin:/bin"},
                           .time_limit = kMostTime,
                           .output_limit = 32u << 20,
                           .errors_kept = 65536};
  command.argv.insert(command.argv.end(), options.begin(), options.end());
  const auto ended = process::Run(command);
  Simulated out;
  std::string said;
  for (const auto& line : Split(ended.err, '\n')) {
    if (StartsWith(line, "note: "))
      out.notes.push_back(line.substr(6));
    else if (said.empty() && !line.empty() && !StartsWith(line, "warning: "))
      said = line;
  }
  if (ended.outcome == process::Outcome::kExited && ended.code == kExitBadInput)
    throw BadRequest("the changed grid cannot be simulated: " + said);
  if (ended.outcome == process::Outcome::kExited && ended.code == kExitNo)
    throw ApiError(409, "Conflict", "there is nothing to simulate: " + said);
  if (!ended.Succeeded())
    throw ApiError(503, "Unavailable",
                   "the simulation gave no result: " + process::HowItEnded(command, ended) +
                       (said.empty() ? "" : " (" + said + ")"),
                   "gridsim --from-history has no limit of time and memory");
  out.report = json::parse(ended.out);
  return out;
}

// ---- the answer

json EndOf(const json& campaign, double at) {
  const double over = campaign["over"];
  return over < 0 ? json() : json(at + over);
}

json SumOf(const json& report, double at) {
  return {{"ends", at + report["makespan_s"].get<double>()},
          {"utilisation", report["utilisation"]},
          {"wait_mean_s", report["wait_mean_s"]},
          {"share_error", report["share_error"]},
          {"lost_slot_s", report["lost_slot_s"]}};
}

json Compare(const Simulated& now, const Simulated& then, double at) {
  std::map<std::string, json> ends;
  for (const auto& c : then.report["campaigns"]) ends[c["campaign"]] = EndOf(c, at);
  json campaigns = json::array();
  for (const auto& c : now.report["campaigns"]) {
    const std::string id = c["campaign"];
    campaigns.push_back({{"campaign", std::stoll(id)},
                         {"user", c["user"]},
                         {"ends_now", EndOf(c, at)},
                         {"ends_then", ends.count(id) != 0 ? ends[id] : json()}});
  }
  auto notes = now.notes;
  for (const auto& note : then.notes)
    if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
  return {{"at", at},
          {"now", SumOf(now.report, at)},
          {"then", SumOf(then.report, at)},
          {"campaigns", std::move(campaigns)},
          {"notes", notes}};
}

Reply SimulateWhatIf(Context& context, const Request& request) {
  static std::mutex one;
  const std::unique_lock lock(one, std::try_to_lock);
  if (!lock.owns_lock())
    throw ApiError(503, "Unavailable", "somebody else simulates just now",
                   "ask again in some seconds");
  const json body = ObjectBody(request, {"without", "slots", "policy"});
  const json decision = LastDecision(context);
  const auto change = ChangeOf(body, SlotsNow(decision));
  const std::string text = OneLine(decision);
  return Reply::Json(
      Compare(Simulate(text, {}), Simulate(text, change), decision["items"][0]["at"]));
}

}  // namespace

void AddSimulateRoutes(Router& router) {
  router.Post("/admin/whatif", SimulateWhatIf, Access::kOperator);
}

}  // namespace cigri::api
