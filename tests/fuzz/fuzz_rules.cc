// Any bytes as the Lua of an admission rule, run as the child runs it (rules/evaluate.h), without
// the child: no rights are given up, and what its limits end (a C function of Lua that does not
// return) is a finding here. The rule takes part as one in force and as one that only warns.
#include <nlohmann/json.hpp>

#include "fuzz/need.h"
#include "rules/evaluate.h"

namespace {

using cigri::fuzz::Need;
using nlohmann::json;

void Run(std::string_view code, const char* mode) {
  cigri::rules::Limits limits;
  limits.instructions = 20'000;
  limits.memory_bytes = 1u << 20;
  const json campaign = {{"id", 7},
                         {"user", "ann"},
                         {"jobs", 500},
                         {"name", "fuzz"},
                         {"priority", 4},
                         {"clusters", {{"c1", {{"walltime", 7200}, {"type", "best-effort"}}}}}};
  const json request = {
      {"rules", json::array({{{"id", 1}, {"name", "fuzz"}, {"code", code}, {"mode", mode}}})},
      {"campaign", campaign},
      {"user", {{"name", "ann"}, {"campaigns", 3}}},
      {"grid", {{"clusters", {{"c1", {{"slots", 8}}}}}}},
      {"limits", cigri::rules::ToJson(limits)}};
  json last, told;
  cigri::rules::Evaluate(request, [&](const json& line) {
    if (line.contains("ran")) told = line;
    last = line;
  });
  Need(told.contains("ms"));
  if (!last.contains("campaign")) {
    Need(std::string_view(mode) == "enforce" &&
         (told.contains("rejected") || told.contains("fault")));
    return;
  }
  // No rule changes whose a campaign is, and one that warns changes nothing.
  const json& after = last["campaign"];
  for (const char* key : {"id", "user", "jobs"}) Need(after.at(key) == campaign.at(key));
  if (std::string_view(mode) == "warn") Need(after == campaign);
  after.dump();  // throws on what is not UTF-8
}

void Try(std::string_view text) {
  // The request comes as JSON, which is UTF-8.
  const auto code = json(text).dump(-1, ' ', false, json::error_handler_t::replace);
  const auto valid = json::parse(code).get<std::string>();
  Run(valid, "enforce");
  Run(valid, "warn");
}

}  // namespace

CIGRI_FUZZ_TARGET(Try)
