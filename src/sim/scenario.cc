#include "sim/scenario.h"

#include <algorithm>

#include "core/text.h"
#include "sim/read_parts.h"

namespace cigri::sim {
namespace {

using nlohmann::json;
using Rows = std::map<std::string, json>;

using Faults = std::vector<jdl::Fault>;

std::string Near(const std::string& word, const std::vector<std::string>& names) {
  const auto near = DidYouMean(word, names);
  return near ? "did you mean \"" + *near + "\"?" : "there are " + Join(names, ", ");
}

const policy::Preset* PresetNamed(const std::string& name) {
  for (const auto& preset : policy::Presets())
    if (preset.name == name) return &preset;
  return nullptr;
}

std::vector<std::string> PolicyChoices() {
  std::vector<std::string> words;
  for (int k = 0; k <= static_cast<int>(policy::PolicyKind::kFairshareSimple); ++k)
    words.push_back(ToString(static_cast<policy::PolicyKind>(k)));
  return words;
}

void UnknownPolicy(jdl::Document& doc, const std::string& path, const std::string& name) {
  FaultAt(doc, path, "there is no policy or preset \"" + jdl::Shown(name) + "\"",
          Near(name, PolicyNames()));
}

// The name of a policy is no preset: its key is another.
void UnknownPreset(jdl::Document& doc, const std::string& name) {
  std::vector<std::string> presets;
  for (const auto& preset : policy::Presets()) presets.push_back(preset.name);
  const auto policies = PolicyChoices();
  const bool policy = std::find(policies.begin(), policies.end(), name) != policies.end();
  FaultAt(
      doc, "policy.preset", "there is no preset \"" + jdl::Shown(name) + "\"",
      policy ? "it is a policy: \"policy\": {\"policy\": \"" + name + "\"}" : Near(name, presets));
}

// "policy": a word, or the rows of policy_settings, with "preset" for those it begins with.
Rows ReadRows(jdl::Document& doc) {
  if (!doc.root.contains("policy")) return PresetNamed("site-default")->rows;
  const json& v = doc.root["policy"];
  if (v.is_string()) {
    const std::string name = v.get<std::string>();
    if (name == kClairvoyant) return {{"policy", name}};
    if (const auto* preset = PresetNamed(name)) return preset->rows;
    const auto words = PolicyChoices();
    if (std::find(words.begin(), words.end(), name) == words.end())
      UnknownPolicy(doc, "policy", name);
    return {{"policy", name}};
  }
  Keys keys(doc, "policy", v);
  Rows rows;
  if (!v.is_object()) return rows;
  if (v.contains("preset")) {
    const auto* preset = v["preset"].is_string() ? PresetNamed(v["preset"]) : nullptr;
    if (preset != nullptr)
      rows = preset->rows;
    else
      UnknownPreset(doc,
                    v["preset"].is_string() ? v["preset"].get<std::string>() : v["preset"].dump());
  }
  for (const auto& [key, value] : v.items())
    if (key != "preset") rows[key] = value;
  return rows;
}

void ReadPolicy(jdl::Document& doc, const std::string& instead, Scenario& scenario,
                std::vector<jdl::Fault>& warnings) {
  Rows rows = ReadRows(doc);
  scenario.clairvoyant = instead == kClairvoyant;
  if (const auto it = rows.find("policy"); it != rows.end() && it->second == kClairvoyant) {
    scenario.clairvoyant = instead.empty();
    rows.erase(it);
  }
  auto parsed = policy::ParseConfig(rows);
  auto faults = parsed.faults;
  scenario.policy = parsed.config;
  if (!instead.empty() && !scenario.clairvoyant) {
    if (const auto named = PolicyNamed(parsed.config, instead))
      scenario.policy = *named;
    else
      UnknownPolicy(doc, "policy", instead);
  }
  for (const auto& fault : policy::ValidateConfig(scenario.policy)) faults.push_back(fault);
  for (const auto& fault : faults) FaultAt(doc, "policy." + fault.key, fault.message, fault.hint);
  for (const auto& odd : policy::LintConfig(scenario.policy))
    warnings.push_back({0, 0, "policy." + odd.key, odd.message, odd.hint});
}

// A cluster or campaign by its name in a list, nullptr when there is none.
json* ItemNamed(json& list, const std::string& name) {
  if (!list.is_array()) return nullptr;
  for (auto& item : list)
    if (item.is_object() && item.value("name", json()) == name) return &item;
  return nullptr;
}

void Set(jdl::Document& doc, const std::string& key, const std::string& value, Faults& faults) {
  json v = json::parse(value, nullptr, false);
  if (v.is_discarded()) v = value;
  json& root = doc.root;
  for (const char* list : {"clusters", "campaigns"}) {
    const std::string prefix = std::string(list) + ".";
    if (!StartsWith(key, prefix)) continue;
    const auto dot = key.rfind('.');
    json* item = dot > prefix.size()
                     ? ItemNamed(root[list], key.substr(prefix.size(), dot - prefix.size()))
                     : nullptr;
    if (item == nullptr)
      return faults.push_back({0, 0, "--set " + key,
                               std::string("names nothing in \"") + list + "\"",
                               "--set " + prefix + "NAME.KEY=VALUE"}),
             void();
    (*item)[key.substr(dot + 1)] = v;
    return;
  }
  const auto& known = policy::KnownKeys();
  std::vector<std::string> keys = {"name", "seed", "until", "cycle", "tick"};
  const bool of_scenario = std::find(keys.begin(), keys.end(), key) != keys.end();
  for (const auto& k : known) keys.push_back(k.key);
  if (std::find(keys.begin(), keys.end(), key) == keys.end())
    return faults.push_back({0, 0, "--set " + key, "unknown key", Near(key, keys)}), void();
  if (of_scenario) {
    root[key] = v;  // checked with all the others
    return;
  }
  json rows = json::object();
  for (const auto& [k, old] : ReadRows(doc)) rows[k] = old;
  rows[key] = v;
  root["policy"] = std::move(rows);
}

// The name of a cluster or campaign; `none` where it has none, or one that is refused later.
std::string NameOf(const json& item, const std::string& none) {
  const auto name = item.find("name");
  return name != item.end() && name->is_string() ? name->get<std::string>() : none;
}

// Whether a cluster is left that has what the campaign needs: its own list, its resource class.
bool MayRun(const json& campaign, const json& clusters) {
  if (campaign.contains("clusters") && campaign["clusters"].empty()) return false;
  const json needs = campaign.value("resource_class", json());
  return !needs.is_string() || std::any_of(clusters.begin(), clusters.end(), [&](const json& c) {
    return c.is_object() && c.value("resource_classes", json()).contains(needs.get<std::string>());
  });
}

// A campaign that may run nowhere else goes with its cluster, which is not in `clusters` any more.
void Forget(json& campaigns, const json& clusters, const std::string& cluster,
            Scenario& scenario) {
  for (std::size_t i = 0; i < campaigns.size();) {
    json& c = campaigns[i++];
    if (!c.is_object()) continue;
    for (const char* key : {"affinity", "resource_class", "class_units"})
      if (c.contains(key) && c[key].is_object()) c[key].erase(cluster);
    for (const char* key : {"clusters", "data_on", "verified_on"})
      if (c.contains(key) && c[key].is_array())
        c[key].erase(std::remove(c[key].begin(), c[key].end(), cluster), c[key].end());
    if (MayRun(c, clusters)) continue;
    const std::string gone = NameOf(c, "");
    for (json& other : campaigns)
      if (other.is_object() && other.contains("after") && other["after"].is_array())
        other["after"].erase(std::remove(other["after"].begin(), other["after"].end(), gone),
                             other["after"].end());
    scenario.notes.push_back("campaign " + NameOf(c, std::to_string(i)) + " may run on " + cluster +
                             " alone: left out");
    campaigns.erase(--i);
  }
}

void Without(jdl::Document& doc, const std::string& name, Scenario& scenario, Faults& faults) {
  json& list = doc.root["clusters"];
  std::vector<std::string> names;
  if (list.is_array())
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (!list[i].is_object()) continue;
      names.push_back(NameOf(list[i], "cluster" + std::to_string(i + 1)));
      if (names.back() != name) continue;
      list.erase(i);
      return Forget(doc.root["campaigns"], list, name, scenario);
    }
  faults.push_back({0, 0, "--without " + name, "there is no such cluster", Near(name, names)});
}

}  // namespace

std::vector<std::string> PolicyNames() {
  auto names = PolicyChoices();
  for (const auto& preset : policy::Presets()) names.push_back(preset.name);
  names.emplace_back(kClairvoyant);
  return names;
}

std::optional<policy::PolicyConfig> PolicyNamed(const policy::PolicyConfig& base,
                                                const std::string& name) {
  if (const auto* preset = PresetNamed(name)) return policy::ParseConfig(preset->rows).config;
  const auto words = PolicyChoices();
  const auto it = std::find(words.begin(), words.end(), name);
  if (it == words.end()) return std::nullopt;
  policy::PolicyConfig config = base;
  config.policy = static_cast<policy::PolicyKind>(it - words.begin());
  return config;
}

double DefaultCycle(const std::vector<CampaignSpec>& campaigns) {
  constexpr double kMany = 100'000, kPart = 360, kLeast = 1, kMost = 60;
  double tasks = 0, seconds = 0;
  for (const auto& c : campaigns) {
    tasks += static_cast<double>(c.tasks);
    seconds += static_cast<double>(c.tasks) * c.duration.Mean();
  }
  return tasks > kMany ? std::clamp(seconds / tasks / kPart, kLeast, kMost) : kLeast;
}

ReadResult ReadScenario(std::string_view text, const std::string& folder, const Edits& edits) {
  ReadResult result;
  jdl::Document doc = jdl::Read(text);
  if (doc.whole && doc.faults.empty()) {
    if (doc.root.is_object()) {
      for (const auto& name : edits.without) Without(doc, name, result.scenario, result.faults);
      for (const auto& [key, value] : edits.set) Set(doc, key, value, result.faults);
    }
    Scenario& s = result.scenario;
    Keys keys(doc, "", doc.root);
    keys.Word("name", s.name);
    std::int64_t seed = 1;
    keys.Whole("seed", seed, 0, std::int64_t{1} << 53);
    s.seed = static_cast<std::uint64_t>(seed);
    keys.Seconds("until", s.until);
    keys.Seconds("cycle", s.cycle_s);
    keys.Seconds("tick", s.tick_s, 0.001);
    for (const char* key : {"policy", "clusters", "campaigns", "usage"}) keys.Find(key);
    if (doc.root.is_object()) {
      ReadPolicy(doc, edits.policy, s, result.warnings);
      ReadClusters(doc, folder, s);
      ReadCampaigns(doc, folder, s);
      if (!keys.Has("cycle")) s.cycle_s = DefaultCycle(s.campaigns);
      ReadUsage(doc, s);
      if (s.clairvoyant)
        for (auto& cluster : s.clusters) cluster.see_s = 0;
    }
    keys.Done();
  }
  for (auto& fault : jdl::Placed(doc.faults, text, true)) result.faults.push_back(std::move(fault));
  return result;
}

}  // namespace cigri::sim
