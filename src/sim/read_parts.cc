// Parts that a scenario file has in several places.
#include "sim/read_parts.h"

#include <fstream>
#include <sstream>

namespace cigri::sim {
namespace {

using nlohmann::json;

constexpr double kMost = 1e18;

struct UnitWords {
  const char* one;   // "must be ..."
  const char* list;  // "must be a list of ..."
  const char* hint;  // of a list
  const char* mean;  // of a number that a distribution has
  double least;
};
const UnitWords& WordsOf(Unit unit) {
  static constexpr UnitWords kWords[] = {
      {"a time", "times, 0 or more", "[60, 90, \"1 h\"]", "a time, as \"10 min\"", 0},
      {"a whole number, 1 or more", "whole numbers, 1 or more", "[1, 1, 4, 16]", "a number, as 4",
       1},
      {"a number of bytes", "numbers of bytes, 0 or more", "[2000, \"200 MB\", \"1.5 GB\"]",
       "a number of bytes, as \"200 MB\"", 0}};
  return kWords[static_cast<std::size_t>(unit)];
}

// One number of a distribution; a fault when it is none.
void ReadValue(Keys& keys, const std::string& key, double& out, Unit unit) {
  if (unit == Unit::kSeconds) return keys.Seconds(key, out);
  if (unit == Unit::kBytes) return keys.Bytes(key, out);
  keys.Number(key, out, 0, kMost);
}

std::optional<double> ValueIn(const json& v, Unit unit) {
  const bool whole = unit == Unit::kSlots;
  if (whole ? v.is_number_integer() : v.is_number()) return v.get<double>();
  if (unit == Unit::kSeconds && v.is_string()) return ParseDuration(v.get<std::string>());
  if (unit == Unit::kBytes && v.is_string()) return ParseBytes(v.get<std::string>());
  return std::nullopt;
}

void ReadList(Keys& keys, const std::string& key, const json& values, Distribution& out,
              Unit unit) {
  out.kind = Distribution::Kind::kList;
  out.list.clear();
  const UnitWords& words = WordsOf(unit);
  if (!values.is_array() || values.empty())
    return keys.Fault(key, std::string("must be a list of ") + words.list, words.hint);
  for (const auto& v : values) {
    const auto value = ValueIn(v, unit);
    if (!value || !(*value >= words.least && *value <= kMost))
      return keys.Fault(key, std::string("must be a list of ") + words.list, words.hint);
    out.list.push_back(*value);
  }
}

// The numbers of one kind of distribution, the first two as Distribution has them.
struct Parameter {
  const char* key;
  double least, most;  // of a plain number; 0, 0: in the unit of the distribution
  bool needed;
};
struct Form {
  const char* word;
  Distribution::Kind kind;
  std::vector<Parameter> parameters;
};
const std::vector<Form>& Forms() {
  using Kind = Distribution::Kind;
  static const std::vector<Form> kForms = {
      {"constant", Kind::kConstant, {{"value", 0, 0, false}}},
      {"uniform", Kind::kUniform, {{"min", 0, 0, false}, {"max", 0, 0, false}}},
      {"exponential", Kind::kExponential, {{"mean", 0, 0, true}}},
      {"lognormal", Kind::kLognormal, {{"median", 0, 0, true}, {"sigma", 0, 10, false}}},
      {"weibull", Kind::kWeibull, {{"scale", 0, 0, true}, {"shape", 0.1, 100, true}}}};
  return kForms;
}

void ReadParameter(Keys& keys, const Parameter& p, double& out, Unit unit) {
  if (p.needed && !keys.Has(p.key))
    return keys.Fault(p.key, "is missing",
                      p.most > 0 ? "a number, as 0.7" : WordsOf(unit).mean);
  if (p.most > 0)
    keys.Number(p.key, out, p.least, p.most);
  else
    ReadValue(keys, p.key, out, unit);
}

void ReadDistributionObject(Keys& keys, const std::string& key, const json& v, Distribution& out,
                            Unit unit) {
  Keys distribution(keys.doc(), keys.PathOf(key), v);
  std::vector<std::string> words = {"list"};
  for (const auto& form : Forms()) words.emplace_back(form.word);
  std::string word = distribution.Has("distribution") ? "" : "constant";
  distribution.Word("distribution", word, words);
  out = Distribution::Constant(1);
  if (word.empty()) return;
  for (const auto& form : Forms()) {
    if (word != form.word) continue;
    out = {form.kind, 0, form.kind == Distribution::Kind::kUniform ? 0.0 : 1.0, {}};
    ReadParameter(distribution, form.parameters[0], out.a, unit);
    if (form.parameters.size() > 1) ReadParameter(distribution, form.parameters[1], out.b, unit);
  }
  if (word == "uniform" && out.b < out.a) distribution.Fault("max", "is less than min");
  if (word == "list") {
    const json* values = distribution.Find("values");
    ReadList(distribution, "values", values == nullptr ? json() : *values, out, unit);
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

void ReadDistribution(Keys& keys, const std::string& key, Distribution& out, Unit unit) {
  const json* v = keys.Find(key);
  if (v == nullptr) return;
  if (v->is_array()) return ReadList(keys, key, *v, out, unit);
  if (v->is_object()) return ReadDistributionObject(keys, key, *v, out, unit);
  out = Distribution::Constant(out.a);
  if (unit != Unit::kSlots) return ReadValue(keys, key, out.a, unit);
  if (const auto value = ValueIn(*v, unit); value && *value >= 1 && *value <= kMost)
    out.a = *value;
  else
    keys.Fault(key, std::string("must be ") + WordsOf(unit).one,
               R"(4, [1, 1, 4], or {"distribution": "uniform", "min": 1, "max": 16})");
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
