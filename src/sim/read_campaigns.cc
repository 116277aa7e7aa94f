// "campaigns" of a scenario file.
#include "core/text.h"
#include "policy/campaign_scheduler.h"
#include "sim/random.h"
#include "sim/read_parts.h"
#include "sim/swf.h"

namespace cigri::sim {
namespace {

using nlohmann::json;
constexpr double kMuch = 1e9;

void ReadNumbers(Keys& keys, const std::string& key, std::map<std::string, int>& out) {
  const json* v = keys.Find(key);
  if (v == nullptr) return;
  if (!v->is_object()) return keys.Fault(key, "must be an object {\"name\": number}");
  for (const auto& [name, n] : v->items()) {
    if (!n.is_number_integer() || n.get<double>() < 0 || n.get<double>() > kMuch)
      keys.Fault(key + "." + name, "must be a whole number, 0 or more");
    else
      out[name] = n.get<int>();
  }
}

void ReadPriority(Keys& keys, CampaignSpec& c) {
  const json* v = keys.Find("priority");
  if (v == nullptr) return;
  const auto level = jdl::ParsePriority(v->is_string() ? v->get<std::string>() : v->dump());
  if (!level) return keys.Fault("priority", "must be 0 to 9, or a name: low, normal, high...");
  c.priority = std::min(9, *level);
  if (*level > 9) c.cls = "urgent";
}

CampaignSpec ReadCampaign(Keys& keys) {
  CampaignSpec c;
  keys.Word("name", c.name);
  keys.Word("user", c.user);
  keys.Word("project", c.project);
  ReadPriority(keys, c);
  keys.Word("class", c.cls);
  keys.Word("sla_group", c.sla_group);
  std::string type = "default";
  keys.Word("type", type, {"default", "test"});
  c.test = type == "test";
  keys.Word("scheduler", c.scheduler, policy::SelectableSchedulers());
  keys.Bool("replicas", c.replicas);
  keys.Seconds("at", c.at);
  keys.Whole("tasks", c.tasks, 1, 1'000'000'000);
  ReadDistribution(keys, "duration", c.duration);
  ReadDistribution(keys, "input", c.input, Unit::kBytes);
  ReadDistribution(keys, "output", c.output, Unit::kBytes);
  ReadDistribution(keys, "transfer", c.transfer);
  keys.Whole("slots", c.slots, 1, 100'000'000);
  keys.Number("weight", c.weight, 0, kMuch);
  keys.Whole("tries", c.tries, 1, 1000);
  keys.Number("failures", c.failures, 0, 1);
  keys.Whole("max_jobs", c.max_jobs, 0, 1'000'000'000);
  double walltime = 0;
  keys.Seconds("walltime", walltime);
  c.walltime_s = static_cast<int>(std::min(walltime, kMuch));
  keys.Seconds("known_duration", c.need_s);
  keys.Seconds("prologue", c.prologue_s);
  keys.Seconds("affinity_wait", c.affinity_wait_s);
  keys.Number("start_rate", c.start_rate, 0, kMuch);
  keys.Seconds("min_duration", c.min_duration_s);
  keys.Seconds("deadline", c.deadline);
  if (c.min_duration_s > 0 && !keys.Has("swf") && c.duration.Mean() <= c.min_duration_s)
    keys.Fault("min_duration", "its jobs are shorter: none would ever be believed");
  ReadNumbers(keys, "licences", c.licences);
  keys.Names("clusters", c.clusters);
  ReadNumbers(keys, "affinity", c.affinity);
  keys.Names("data_on", c.data_on);
  keys.Names("verified_on", c.verified_on);
  return c;
}

// "count" copies, each `every` after the one before.
void Repeat(Keys& keys, const CampaignSpec& c, Scenario& scenario) {
  int count = 1;
  keys.Whole("count", count, 1, 1'000'000);
  Distribution every;
  ReadDistribution(keys, "every", every);
  double at = c.at;
  for (int i = 0; i < count; ++i) {
    CampaignSpec one = c;
    if (count > 1) one.name += "-" + std::to_string(i + 1);
    one.at = at;
    at += every.At(Key(scenario.seed, Variate::kArrival, scenario.campaigns.size()), i);
    scenario.campaigns.push_back(std::move(one));
  }
}

void CheckNames(Keys& keys, const std::string& key, const std::vector<std::string>& names,
                const Scenario& scenario) {
  std::vector<std::string> known;
  for (const auto& c : scenario.clusters) known.push_back(c.name);
  for (const auto& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const auto near = DidYouMean(name, known);
    keys.Fault(key, "there is no cluster \"" + jdl::Shown(name) + "\"",
               near ? "did you mean \"" + *near + "\"?" : "there are " + Join(known, ", "));
  }
}

/// Places of the campaigns read so far by their names, and by the names of items that are several.
using Known = std::map<std::string, std::vector<int>>;

// Only what stands before it: so nothing waits for itself in the end.
void ReadAfter(Keys& keys, const Known& known, std::vector<int>& out) {
  std::vector<std::string> wanted, names;
  keys.Names("after", wanted);
  for (const auto& [name, places] : known) names.push_back(name);
  for (const auto& name : wanted) {
    if (const auto it = known.find(name); it != known.end()) {
      out.insert(out.end(), it->second.begin(), it->second.end());
      continue;
    }
    const auto near = DidYouMean(name, names);
    keys.Fault("after", "no campaign \"" + jdl::Shown(name) + "\" stands before it",
               near ? "did you mean \"" + *near + "\"?" : "");
  }
}

// A value for all clusters, or an object of one for each; `is_good` says which values count.
template <typename Good>
std::map<std::string, json> ByCluster(Keys& keys, const std::string& key, const Scenario& scenario,
                                      const std::string& must, Good is_good) {
  std::map<std::string, json> out;
  const json* v = keys.Find(key);
  if (v == nullptr) return out;
  if (v->is_object()) {
    std::vector<std::string> names;
    for (const auto& [name, value] : v->items()) names.push_back(name), out[name] = value;
    CheckNames(keys, key, names, scenario);
  } else {
    for (const auto& c : scenario.clusters) out[c.name] = *v;
  }
  if (std::all_of(out.begin(), out.end(), [&](const auto& one) { return is_good(one.second); }))
    return out;
  keys.Fault(key, "must be " + must + ", or an object of one for each cluster", "{\"luke\": ...}");
  return {};
}

// TECH-21, FAIR-21. A class without an object is asked for on all clusters of the campaign, or on
// those that have it when it names none.
void ReadNeeds(Keys& keys, const Scenario& scenario, CampaignSpec& c) {
  const json* given = keys.Find("resource_class");
  const auto names = ByCluster(keys, "resource_class", scenario, "the name of a resource class",
                               [](const json& v) { return v.is_string(); });
  auto units = ByCluster(keys, "class_units", scenario,
                         "a whole number, 1 to " + std::to_string(kMostUnits),
                         [](const json& v) {
                           return v.is_number_integer() && v >= 1 && v <= kMostUnits;
                         });
  if (given == nullptr && keys.Has("class_units"))
    keys.Fault("class_units", "needs a resource_class");
  const bool everywhere = given != nullptr && given->is_string();
  std::vector<std::string> able;
  for (const auto& cluster : scenario.clusters) {
    const auto name = names.find(cluster.name);
    const bool listed = c.clusters.empty() || std::find(c.clusters.begin(), c.clusters.end(),
                                                        cluster.name) != c.clusters.end();
    if (name == names.end() || !listed) continue;
    const int of = ClassOf(cluster, name->second.get<std::string>());
    const int wanted = units.count(cluster.name) != 0 ? units[cluster.name].get<int>() : 1;
    const int total =
        of == 0 ? 0 : cluster.resource_classes[static_cast<std::size_t>(of) - 1].second;
    if (total >= wanted) {
      c.needs[cluster.name] = {of, wanted};
      able.push_back(cluster.name);
    } else if (!everywhere || !c.clusters.empty()) {
      const std::string what = of == 0 ? "no resource class " : std::to_string(total) + " of ";
      keys.Fault(of == 0 ? "resource_class" : "class_units",
                 cluster.name + " has " + what + "\"" +
                     jdl::Shown(name->second.get<std::string>()) + "\"");
    }
  }
  if (!everywhere || !c.clusters.empty()) return;
  c.clusters = able;
  if (able.empty())
    keys.Fault("resource_class",
               "no cluster has so much of \"" + jdl::Shown(given->get<std::string>()) + "\"",
               "\"resource_classes\": {\"" + jdl::Shown(given->get<std::string>()) +
                   "\": 8} of a cluster says what it has");
}

std::vector<std::string> NamesOf(const std::map<std::string, int>& map) {
  std::vector<std::string> names;
  for (const auto& [name, n] : map) names.push_back(name);
  return names;
}

}  // namespace

void ReadCampaigns(jdl::Document& doc, const std::string& folder, Scenario& scenario) {
  const json& list = doc.root.value("campaigns", json());
  if (!list.is_array() || list.empty())
    return FaultAt(
        doc, "campaigns", "must be a list of at least one campaign",
        "\"campaigns\": [{\"user\": \"alice\", \"tasks\": 100, \"duration\": \"10 min\"}]");
  Known known;
  for (std::size_t i = 0; i < list.size(); ++i) {
    Keys keys(doc, "campaigns[" + std::to_string(i) + "]", list[i]);
    CampaignSpec c = ReadCampaign(keys);
    const bool named = !c.name.empty();
    if (!named) c.name = "campaign" + std::to_string(i + 1);
    CheckNames(keys, "clusters", c.clusters, scenario);
    ReadNeeds(keys, scenario, c);
    CheckNames(keys, "data_on", c.data_on, scenario);
    CheckNames(keys, "verified_on", c.verified_on, scenario);
    CheckNames(keys, "affinity", NamesOf(c.affinity), scenario);
    ReadAfter(keys, known, c.after);
    const std::size_t first = scenario.campaigns.size();
    double gap = 0;
    keys.Seconds("group_within", gap);
    if (const auto text = FileText(keys, "swf", folder)) {
      const Swf swf = ReadSwf(*text);
      for (const auto& fault : swf.faults) keys.Fault("swf", "line " + fault);
      if (!named) c.name = "swf";
      for (auto& one : Campaigns(swf, c, gap)) scenario.campaigns.push_back(std::move(one));
      if (swf.skipped > 0)
        scenario.notes.push_back(std::to_string(swf.skipped) +
                                 " jobs of the trace have no run time or no processors: left out");
    } else {
      if (c.user.empty()) c.user = "user";
      Repeat(keys, c, scenario);
    }
    std::vector<int> places;
    for (std::size_t place = first; place < scenario.campaigns.size(); ++place) {
      places.push_back(static_cast<int>(place));
      known[scenario.campaigns[place].name] = {static_cast<int>(place)};
    }
    known[c.name] = places;
    keys.Done();
  }
}

}  // namespace cigri::sim
