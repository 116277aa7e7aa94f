#include "sim/read_parts.h"

#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

#include "core/text.h"
#include "sim/random.h"
#include "sim/swf.h"

namespace cigri::sim {
namespace {

using nlohmann::json;
constexpr double kMuch = 1e9;
constexpr auto kInfinite = std::numeric_limits<double>::infinity();

std::optional<double> SpanOf(const json& v) {
  if (v.is_number()) return v.get<double>();
  if (v.is_string()) return ParseSpan(v.get<std::string>());
  return std::nullopt;
}

void ReadList(Keys& keys, const std::string& key, const json& values, Law& out) {
  out.kind = Law::Kind::kList;
  out.list.clear();
  for (const auto& v : values) {
    const auto span = SpanOf(v);
    if (!span || !(*span >= 0)) return keys.Fault(key, "must be a list of times, 0 or more");
    out.list.push_back(*span);
  }
  if (out.list.empty()) keys.Fault(key, "is an empty list");
}

void ReadLawObject(Keys& keys, const std::string& key, const json& v, Law& out) {
  Keys law(keys.doc(), keys.PathOf(key), v);
  std::string word = "constant";
  law.Word("law", word, {"constant", "uniform", "exponential", "lognormal", "list"});
  if (word == "constant") {
    law.Seconds("value", out.a);
  } else if (word == "uniform") {
    out.kind = Law::Kind::kUniform;
    law.Seconds("min", out.a);
    law.Seconds("max", out.b);
    if (out.b < out.a) law.Fault("max", "is less than min");
  } else if (word == "exponential") {
    out.kind = Law::Kind::kExponential;
    law.Seconds("mean", out.a);
  } else if (word == "lognormal") {
    out.kind = Law::Kind::kLognormal;
    out.b = 1;
    law.Seconds("median", out.a);
    law.Number("sigma", out.b, 0, 10);
  } else if (const json* values = law.Find("values")) {
    ReadList(law, "values", *values, out);
  } else {
    law.Fault("values", "is missing", "\"values\": [60, 90, \"1 h\"]");
  }
  law.Done();
}

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
    one.Seconds("every", load.every_s);
    ReadLaw(one, "duration", load.duration);
    one.Whole("slots", load.slots, 1, c.slots);
    one.Seconds("from", load.from);
    one.Seconds("until", load.until);
    if (load.every_s <= 0 && load.jobs.empty() && !one.Has("swf"))
      one.Fault("every", "is missing", "\"every\": \"10 min\", or \"swf\": \"FILE\"");
    one.Done();
    c.local.push_back(std::move(load));
  }
}

void ReadMode(Keys& keys, ClusterSpec& c) {
  std::string mode = "open";
  keys.Word("mode", mode, {"open", "limited", "observe"});
  c.mode = FromString<ClusterMode>(mode).value_or(ClusterMode::kOpen);
  keys.Whole("limit", c.limited, 0, 1'000'000'000);
  if (c.mode == ClusterMode::kLimited && c.limited < 0)
    keys.Fault("limit", "is missing: how many jobs a limited cluster takes");
  keys.Whole("max_running", c.max_running, 0, 1'000'000'000);
}

ClusterSpec ReadCluster(Keys& keys, const std::string& folder) {
  ClusterSpec c;
  keys.Word("name", c.name);
  keys.Whole("slots", c.slots, 1, 100'000'000);
  c.nodes = 1;
  keys.Whole("nodes", c.nodes, 1, c.slots);
  keys.Number("speed", c.speed, 1e-6, 1e6);
  keys.Seconds("submit", c.submit_s);
  keys.Seconds("see", c.see_s);
  keys.Word("job_ratio", c.ratio,
            {"none", "slow-start", "adaptive", "adaptive-2009", "adaptive-down-exponential-up"});
  keys.Seconds("queue_s", c.queue_s);
  keys.Whole("max_waiting", c.max_waiting, 0, 100'000'000);
  if (c.max_waiting < 0) c.max_waiting = std::max(1, c.slots / 2);
  ReadMode(keys, c);
  keys.Number("failures", c.failures, 0, 1);
  keys.Number("slow_jobs", c.slow, 0, 1);
  keys.Number("slow_factor", c.slow_factor, 1, 1e9);
  if (keys.Has("life")) ReadLaw(keys, "life", c.life.emplace());
  keys.Seconds("swallows", c.swallow_s);
  keys.Seconds("node_fails_every", c.node_mtbf_s);
  keys.Seconds("node_repair", c.node_repair_s);
  ReadWindows(keys, "down", c.down);
  ReadWindows(keys, "closed", c.closed);
  keys.Bool("preempts", c.preempts);
  ReadLocal(keys, folder, c);
  return c;
}

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
  keys.Bool("replicas", c.replicas);
  keys.Seconds("at", c.at);
  keys.Whole("tasks", c.tasks, 1, 1'000'000'000);
  ReadLaw(keys, "duration", c.duration);
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
  ReadNumbers(keys, "licences", c.licences);
  keys.Names("clusters", c.clusters);
  ReadNumbers(keys, "affinity", c.affinity);
  keys.Names("data_on", c.data_on);
  keys.Names("proven_on", c.proven_on);
  return c;
}

// "count" copies, each `every` after the one before.
void Repeat(Keys& keys, const CampaignSpec& c, Scenario& scenario) {
  int count = 1;
  keys.Whole("count", count, 1, 1'000'000);
  Law every;
  ReadLaw(keys, "every", every);
  double at = c.at;
  for (int i = 0; i < count; ++i) {
    CampaignSpec one = c;
    if (count > 1) one.name += "-" + std::to_string(i + 1);
    one.at = at;
    at += every.At(Key(scenario.seed, Draw::kArrival, scenario.campaigns.size()), i);
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

std::vector<std::string> NamesOf(const std::map<std::string, int>& map) {
  std::vector<std::string> names;
  for (const auto& [name, n] : map) names.push_back(name);
  return names;
}

}  // namespace

std::optional<std::string> FileText(Keys& keys, const std::string& key, const std::string& folder) {
  std::string name;
  keys.Word(key, name);
  if (name.empty()) return std::nullopt;
  const std::string path = name.front() == '/' || folder.empty() ? name : folder + "/" + name;
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (in) text << in.rdbuf();
  if (!in || in.bad()) {
    keys.Fault(key, "cannot read " + path, "the path is looked for beside the scenario");
    return std::nullopt;
  }
  return text.str();
}

void ReadLaw(Keys& keys, const std::string& key, Law& out) {
  const json* v = keys.Find(key);
  if (v == nullptr) return;
  if (v->is_array()) return ReadList(keys, key, *v, out);
  if (v->is_object()) return ReadLawObject(keys, key, *v, out);
  keys.Seconds(key, out.a);
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

void ReadCampaigns(jdl::Document& doc, const std::string& folder, Scenario& scenario) {
  const json& list = doc.root.value("campaigns", json());
  if (!list.is_array() || list.empty())
    return FaultAt(
        doc, "campaigns", "must be a list of at least one campaign",
        "\"campaigns\": [{\"user\": \"alice\", \"tasks\": 100, \"duration\": \"10 min\"}]");
  for (std::size_t i = 0; i < list.size(); ++i) {
    Keys keys(doc, "campaigns[" + std::to_string(i) + "]", list[i]);
    CampaignSpec c = ReadCampaign(keys);
    const bool named = !c.name.empty();
    if (!named) c.name = "campaign" + std::to_string(i + 1);
    CheckNames(keys, "clusters", c.clusters, scenario);
    CheckNames(keys, "data_on", c.data_on, scenario);
    CheckNames(keys, "proven_on", c.proven_on, scenario);
    CheckNames(keys, "affinity", NamesOf(c.affinity), scenario);
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
    keys.Done();
  }
}

void ReadUsage(jdl::Document& doc, Scenario& scenario) {
  if (!doc.root.contains("usage")) return;
  const json& list = doc.root["usage"];
  if (!list.is_array())
    return FaultAt(doc, "usage", "must be a list",
                   "[{\"user\": \"alice\", \"slot_s\": 3600, \"ago\": \"2 d\"}]");
  for (std::size_t i = 0; i < list.size(); ++i) {
    Keys keys(doc, "usage[" + std::to_string(i) + "]", list[i]);
    policy::Usage u;
    std::string campaign;
    double ago = 0;
    keys.Word("campaign", campaign);
    keys.Word("user", u.user);
    keys.Word("project", u.project);
    keys.Seconds("ago", ago);
    keys.Seconds("length", u.length);
    keys.Number("slot_s", u.slot_seconds, 0, 1e18);
    u.start = -ago;
    for (std::size_t c = 0; c < scenario.campaigns.size(); ++c)
      if (!campaign.empty() && scenario.campaigns[c].name == campaign)
        u.campaign = static_cast<std::int64_t>(c) + 1;
    keys.Done();
    scenario.usage.push_back(std::move(u));
  }
}

}  // namespace cigri::sim
