#include "rules/evaluate.h"

#include <chrono>

#include "rules/sandbox.h"

namespace cigri::rules {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

// Who a campaign is, and how many jobs it has: a rule reads these, and cannot change them.
constexpr const char* kFrozen[] = {"id", "user", "jobs"};

Limits LimitsOf(const json& j) {
  Limits limits;
  limits.instructions = j.value("instructions", limits.instructions);
  limits.memory_bytes = j.value("memory_bytes", limits.memory_bytes);
  limits.cpu_ms = j.value("cpu_ms", limits.cpu_ms);
  return limits;
}

void RestoreFrozen(const json& before, json* after, std::vector<std::string>* notes) {
  for (const char* key : kFrozen) {
    const json was = before.contains(key) ? before[key] : json();
    const json is = after->contains(key) ? (*after)[key] : json();
    if (was == is) continue;
    notes->push_back(std::string("it may not change ") + key);
    if (before.contains(key))
      (*after)[key] = was;
    else
      after->erase(key);
  }
}

std::string Shown(const json& value) {
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > 200) text = text.substr(0, 197) + "...";
  return text;
}

// Runs one rule on `campaign`; the line about it. Changes take hold only in enforce mode.
json RunOne(const json& rule, const json& request, json* campaign) {
  const auto start = Clock::now();
  const bool enforced = rule.at("mode") == "enforce";
  Sandbox box(LimitsOf(request.at("limits")));
  Sandbox::Result result = box.Run(rule.at("code").get_ref<const std::string&>(), *campaign,
                                   request.at("user"), request.at("grid"));
  json line{{"changes", json::array()}};
  if (result.rejected) {
    line["rejected"] = *result.rejected;
  } else if (result.fault) {
    line["fault"] = *result.fault;
  } else {
    RestoreFrozen(*campaign, &result.campaign, &result.notes);
    line["changes"] = Changes(*campaign, result.campaign);
    if (enforced) *campaign = std::move(result.campaign);
  }
  line["notes"] = result.notes;
  line["ms"] = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  return line;
}

}  // namespace

void Evaluate(const json& request, const std::function<void(const json&)>& say) {
  json campaign = request.at("campaign");
  int i = 0;
  for (const json& rule : request.at("rules")) {
    say({{"rule", i}});
    json line = RunOne(rule, request, &campaign);
    line["ran"] = i++;
    say(line);
    if (rule.at("mode") == "enforce" && (line.contains("rejected") || line.contains("fault")))
      return;
  }
  say({{"campaign", campaign}});
}

std::vector<std::string> Changes(const json& before, const json& after) {
  std::vector<std::string> lines;
  for (const json& step : json::diff(before, after)) {
    const std::string path = step.at("path");
    const std::string op = step.at("op");
    const auto old = [&] { return Shown(before.at(json::json_pointer(path))); };
    if (op == "add") lines.push_back(path + " set to " + Shown(step.at("value")));
    if (op == "remove") lines.push_back(path + " " + old() + " removed");
    if (op == "replace") lines.push_back(path + " " + old() + " -> " + Shown(step.at("value")));
  }
  return lines;
}

json ToJson(const Limits& limits) {
  return {{"instructions", limits.instructions},
          {"memory_bytes", limits.memory_bytes},
          {"cpu_ms", limits.cpu_ms},
          {"address_space_bytes", limits.address_space_bytes}};
}

}  // namespace cigri::rules
