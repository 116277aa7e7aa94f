// "clusters" of a scenario file.
#include <limits>

#include "sim/read_parts.h"
#include "sim/swf.h"

namespace cigri::sim {
namespace {

using nlohmann::json;
constexpr auto kInfinite = std::numeric_limits<double>::infinity();

void ReadWindows(Keys& keys, const std::string& key, std::vector<Window>& out) {
  const json* list = keys.Find(key);
  if (list == nullptr) return;
  if (!list->is_array())
    return keys.Fault(key, "must be a list", "[{\"from\": 0, \"until\": \"1 h\"}]");
  for (std::size_t i = 0; i < list->size(); ++i) {
    Keys one(keys.doc(), keys.PathOf(key) + "[" + std::to_string(i) + "]", (*list)[i]);
    Window w{0, kInfinite};
    one.Seconds("from", w.from);
    one.Seconds("until", w.until);
    if (w.until <= w.from) one.Fault("until", "is not after from");
    one.Done();
    out.push_back(w);
  }
}

// How many times as many jobs, by hour or weekday.
void ReadFactors(Keys& keys, const std::string& key, std::size_t n, std::vector<double>& out) {
  const json* list = keys.Find(key);
  if (list == nullptr) return;
  bool good = list->is_array() && list->size() == n;
  double sum = 0;
  for (std::size_t i = 0; good && i < n; ++i) {
    good = (*list)[i].is_number() && (*list)[i].get<double>() >= 0;
    if (good) out.push_back((*list)[i].get<double>()), sum += out.back();
  }
  if (good && sum > 0) return;
  out.clear();
  keys.Fault(key, "must be a list of " + std::to_string(n) + " numbers, 0 or more, not all 0",
             key == "hours" ? "from midnight on: 0 = no jobs in that hour, 2 = twice as many"
                            : "from Monday on: 0 = no jobs on that day, 2 = twice as many");
}

void ReadClasses(Keys& keys, ClusterSpec& c) {
  const std::string key = "resource_classes";
  const json* classes = keys.Find(key);
  if (classes == nullptr) return;
  if (!classes->is_object())
    return keys.Fault(key, "must be an object of units", "{\"GPUs\": 8}");
  for (const auto& [name, units] : classes->items()) {
    if (units.is_number_integer() && units >= 0 && units <= kMostUnits)
      c.resource_classes.emplace_back(name, units.get<int>());
    else
      keys.Fault(key + "." + name, "must be a whole number, 0 to " + std::to_string(kMostUnits));
  }
}

void ReadNeeds(Keys& keys, const ClusterSpec& c, ClassUnits& out) {
  std::string name;
  int units = 1;
  keys.Word("resource_class", name);
  keys.Whole("class_units", units, 1, kMostUnits);
  if (name.empty() && keys.Has("class_units"))
    keys.Fault("class_units", "needs a resource_class");
  if (name.empty()) return;
  out = {ClassOf(c, name), units};
  if (out.of == 0)
    return keys.Fault("resource_class",
                      "the cluster has no resource class \"" + jdl::Shown(name) + "\"",
                      "resource_classes of the cluster says what it has");
  if (const int total = c.resource_classes[static_cast<std::size_t>(out.of) - 1].second;
      units > total)
    keys.Fault("class_units", "the cluster has " + std::to_string(total) + " of " + name);
}

void ReadLocal(Keys& keys, const std::string& folder, ClusterSpec& c) {
  const json* list = keys.Find("local");
  if (list == nullptr) return;
  if (!list->is_array()) return keys.Fault("local", "must be a list of loads");
  for (std::size_t i = 0; i < list->size(); ++i) {
    Keys one(keys.doc(), keys.PathOf("local") + "[" + std::to_string(i) + "]", (*list)[i]);
    LocalLoad load;
    if (const auto text = FileText(one, "swf", folder)) {
      const Swf swf = ReadSwf(*text);
      for (const auto& fault : swf.faults) one.Fault("swf", "line " + fault);
      load.jobs = LocalJobs(swf, c.slots);
    }
    ReadDistribution(one, "every", load.every);
    ReadFactors(one, "hours", 24, load.hours);
    ReadFactors(one, "weekdays", 7, load.weekdays);
    ReadDistribution(one, "duration", load.duration);
    ReadDistribution(one, "slots", load.slots, Unit::kSlots);
    ReadNeeds(one, c, load.needs);
    for (auto& job : load.jobs) job.needs = load.needs;
    one.Seconds("from", load.from);
    one.Seconds("until", load.until);
    if (load.every.Mean() <= 0 && load.jobs.empty() && !one.Has("swf"))
      one.Fault("every", "is missing", "\"every\": \"10 min\", or \"swf\": \"FILE\"");
    one.Done();
    c.local.push_back(std::move(load));
  }
}

void ReadMode(Keys& keys, ClusterSpec& c) {
  std::string mode = "unlimited";
  keys.Word("mode", mode, {"unlimited", "limited", "observe"});
  c.mode = FromString<ClusterMode>(mode).value_or(ClusterMode::kUnlimited);
  keys.Whole("limit", c.limited, 0, 1'000'000'000);
  if (c.mode == ClusterMode::kLimited && c.limited < 0)
    keys.Fault("limit", "is missing: how many jobs a limited cluster takes");
  keys.Whole("max_running", c.max_running, 0, 1'000'000'000);
}

ClusterSpec ReadCluster(Keys& keys, const std::string& folder) {
  ClusterSpec c;
  keys.Word("name", c.name);
  keys.Whole("slots", c.slots, 1, 100'000'000);
  ReadClasses(keys, c);
  c.nodes = 1;
  keys.Whole("nodes", c.nodes, 1, c.slots);
  keys.Whole("bad_nodes", c.bad_nodes, 0, c.nodes);
  keys.Seconds("bad_after", c.bad_after_s);
  keys.Whole("overstates", c.overstates, 0, 100'000'000);
  keys.Number("speed", c.speed, 1e-6, 1e6);
  keys.Seconds("submit", c.submit_s);
  keys.Seconds("see", c.see_s);
  ReadDistribution(keys, "boot", c.boot);
  keys.Bytes("bandwidth", c.bandwidth);
  keys.Word("job_ratio", c.ratio,
            {"none", "slow-start", "adaptive", "adaptive-2009", "adaptive-down-exponential-up"});
  keys.Seconds("queue_s", c.queue_s);
  keys.Whole("max_waiting", c.max_waiting, 0, 100'000'000);
  if (c.max_waiting < 0) c.max_waiting = std::max(1, c.slots / 2);
  ReadMode(keys, c);
  keys.Number("failures", c.failures, 0, 1);
  keys.Number("slow_jobs", c.slow, 0, 1);
  keys.Number("slow_factor", c.slow_factor, 1, 1e9);
  if (keys.Has("life")) ReadDistribution(keys, "life", c.life.emplace());
  keys.Seconds("swallows", c.swallow_s);
  keys.Seconds("node_fails_every", c.node_mtbf_s);
  keys.Seconds("node_repair", c.node_repair_s);
  ReadWindows(keys, "down", c.down);
  ReadWindows(keys, "closed", c.closed);
  keys.Bool("preempts", c.preempts);
  ReadLocal(keys, folder, c);
  return c;
}

}  // namespace

int ClassOf(const ClusterSpec& cluster, const std::string& name) {
  for (std::size_t i = 0; i < cluster.resource_classes.size(); ++i)
    if (cluster.resource_classes[i].first == name) return static_cast<int>(i) + 1;
  return 0;
}

void ReadClusters(jdl::Document& doc, const std::string& folder, Scenario& scenario) {
  const json& list = doc.root.value("clusters", json());
  if (!list.is_array() || list.empty())
    return FaultAt(doc, "clusters", "must be a list of at least one cluster",
                   "\"clusters\": [{\"name\": \"luke\", \"slots\": 100}]");
  for (std::size_t i = 0; i < list.size(); ++i) {
    Keys keys(doc, "clusters[" + std::to_string(i) + "]", list[i]);
    ClusterSpec c = ReadCluster(keys, folder);
    if (c.name.empty()) c.name = "cluster" + std::to_string(i + 1);
    int count = 1;
    double step = 0;
    keys.Whole("count", count, 1, 100'000);
    keys.Number("speed_step", step, 0, 1e6);
    keys.Done();
    for (int n = 1; n <= count; ++n) {
      ClusterSpec one = c;
      if (count > 1) one.name += "-" + std::to_string(n);
      one.speed += step * (n - 1);
      for (const auto& other : scenario.clusters)
        if (other.name == one.name)
          keys.Fault("name", "there are two clusters \"" + one.name + "\"");
      scenario.clusters.push_back(std::move(one));
    }
  }
}

}  // namespace cigri::sim
