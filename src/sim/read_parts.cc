// Parts that a scenario file has in several places.
#include "sim/read_parts.h"

#include <fstream>
#include <sstream>

namespace cigri::sim {
namespace {

using nlohmann::json;

std::optional<double> DurationIn(const json& v) {
  if (v.is_number()) return v.get<double>();
  if (v.is_string()) return ParseDuration(v.get<std::string>());
  return std::nullopt;
}

void ReadList(Keys& keys, const std::string& key, const json& values, Distribution& out) {
  out.kind = Distribution::Kind::kList;
  out.list.clear();
  for (const auto& v : values) {
    const auto duration = DurationIn(v);
    if (!duration || !(*duration >= 0))
      return keys.Fault(key, "must be a list of times, 0 or more");
    out.list.push_back(*duration);
  }
  if (out.list.empty()) keys.Fault(key, "is an empty list");
}

void ReadDistributionObject(Keys& keys, const std::string& key, const json& v, Distribution& out) {
  Keys distribution(keys.doc(), keys.PathOf(key), v);
  std::string word = "constant";
  distribution.Word("distribution", word,
                    {"constant", "uniform", "exponential", "lognormal", "list"});
  if (word == "constant") {
    distribution.Seconds("value", out.a);
  } else if (word == "uniform") {
    out.kind = Distribution::Kind::kUniform;
    distribution.Seconds("min", out.a);
    distribution.Seconds("max", out.b);
    if (out.b < out.a) distribution.Fault("max", "is less than min");
  } else if (word == "exponential") {
    out.kind = Distribution::Kind::kExponential;
    distribution.Seconds("mean", out.a);
  } else if (word == "lognormal") {
    out.kind = Distribution::Kind::kLognormal;
    out.b = 1;
    distribution.Seconds("median", out.a);
    distribution.Number("sigma", out.b, 0, 10);
  } else if (const json* values = distribution.Find("values")) {
    ReadList(distribution, "values", *values, out);
  } else {
    distribution.Fault("values", "is missing", "\"values\": [60, 90, \"1 h\"]");
  }
  distribution.Done();
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
    keys.Fault(key, "cannot read " + path, "the path is looked for next to the scenario");
    return std::nullopt;
  }
  return text.str();
}

void ReadDistribution(Keys& keys, const std::string& key, Distribution& out) {
  const json* v = keys.Find(key);
  if (v == nullptr) return;
  if (v->is_array()) return ReadList(keys, key, *v, out);
  if (v->is_object()) return ReadDistributionObject(keys, key, *v, out);
  keys.Seconds(key, out.a);
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
