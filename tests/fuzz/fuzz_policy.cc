// Any bytes as the settings of a policy: a JSON object of rows of policy_settings.
#include <nlohmann/json.hpp>

#include "fuzz/need.h"
#include "policy/config.h"

namespace {

using namespace cigri::policy;
using cigri::fuzz::Need;
using nlohmann::json;

void Try(std::string_view text) {
  const json all = json::parse(text, nullptr, false);
  if (!all.is_object()) return;
  std::map<std::string, json> rows;
  for (const auto& [key, value] : all.items()) rows[key] = value;
  const auto parsed = ParseConfig(rows);
  const auto faults = ValidateConfig(parsed.config);
  LintConfig(parsed.config);
  if (!parsed.faults.empty() || !faults.empty()) return;
  // What is taken is stored, and read again.
  const auto again = ParseConfig(ToRows(parsed.config));
  Need(again.faults.empty() && ToRows(again.config) == ToRows(parsed.config));
}

}  // namespace

CIGRI_FUZZ_TARGET(Try)
