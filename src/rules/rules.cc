#include "rules/rules.h"

#include "core/text.h"
#include "rules/sandbox.h"
#include "rules/shipped_rules.h"

namespace cigri::rules {
namespace {

constexpr std::pair<Mode, std::string_view> kModes[] = {
    {Mode::kEnforce, "enforce"}, {Mode::kWarn, "warn"}, {Mode::kOff, "off"}};

// "-- title: ..." among the first comment lines; "" when there is none.
std::string Heading(const std::string& code, const std::string& key) {
  const std::string prefix = "-- " + key + ": ";
  for (const std::string& line : Split(code, '\n')) {
    if (!StartsWith(line, "--")) break;
    if (StartsWith(line, prefix)) return std::string(Trim(line.substr(prefix.size())));
  }
  return "";
}

}  // namespace

std::string_view ToString(Mode mode) {
  for (const auto& [value, word] : kModes)
    if (value == mode) return word;
  return "";
}

std::optional<Mode> ModeFromString(std::string_view word) {
  for (const auto& [value, text] : kModes)
    if (text == word) return value;
  return std::nullopt;
}

std::optional<std::string> CompileFault(const std::string& code) {
  constexpr std::size_t kMost = 64u << 10;
  if (code.size() > kMost) return "a rule may have 64 kB at most";
  if (!IsValidUtf8(code)) return "it is not UTF-8";
  return Sandbox(Limits{}).Compile(code);
}

std::vector<ShippedRule> ShippedRules() {
  std::vector<ShippedRule> rules;
  for (const auto& shipped : kShipped) {
    ShippedRule rule;
    rule.name = ReplaceAll(shipped.name, "_", "-");
    rule.code = shipped.code;
    rule.title = Heading(rule.code, "title");
    rule.priority = std::stoi(Heading(rule.code, "priority"));
    rule.mode = ModeFromString(Heading(rule.code, "mode")).value();
    rules.push_back(std::move(rule));
  }
  return rules;
}

}  // namespace cigri::rules
