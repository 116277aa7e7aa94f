// Key `retry` of a JDL: how often a task may fail by each cause, and what its ends mean.
#include <algorithm>

#include "core/retry.h"
#include "core/text.h"
#include "jdl/check.h"
#include "jdl/values.h"

namespace cigri::jdl {
namespace {

using nlohmann::json;

constexpr std::size_t kMostRules = 20, kLongestPattern = 200;
const std::vector<std::string> kRetryKeys = {"attempts", "budgets", "evaluateOnExit"};
const std::vector<std::string> kBudgets = {"infrastructure", "preemption", "our_kill"};
const std::vector<std::string> kPatterns = {"onExitCode", "onStatusReason", "onReason"};

// Nothing here is read by CiGri 3: a key that nobody knows is a mistake, not a leftover.
void RefuseOtherKeys(Document& doc, const json& object, const std::string& path,
                     const std::vector<std::string>& known) {
  for (const auto& [key, value] : object.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const auto near = DidYouMean(key, known);
    doc.FaultAtKey(Join2(path, key), "is not known here",
                   near ? "did you mean \"" + *near + "\"?" : "possible: " + Join(known, ", "));
  }
}

// `*` in the middle is refused: the rules are matched in linear time.
std::string PatternIn(Document& doc, const json& rule, const std::string& path,
                      const std::string& key) {
  const auto found = Find(rule, path, key);
  if (found && found.value->is_number_integer()) return std::to_string(found.value->get<int>());
  const auto text = ReadText(doc, found);
  if (!text) return "";
  if (text->size() > kLongestPattern)
    doc.Fault(found.path, "is longer than " + std::to_string(kLongestPattern) + " bytes");
  else if (text->size() > 2 && text->find('*', 1) < text->size() - 1)
    doc.Fault(found.path, "has a * in the middle", "a * may stand first and last");
  return *text;
}

json RuleIn(Document& doc, const json& rule, const std::string& path) {
  if (!rule.is_object()) {
    doc.Fault(path, "must be an object", R"(write {"onExitCode": "137", "action": "RETRY"})");
    return nullptr;
  }
  auto keys = kPatterns;
  keys.emplace_back("action");
  RefuseOtherKeys(doc, rule, path, keys);
  json out = json::object();
  for (const auto& key : kPatterns)
    if (auto text = PatternIn(doc, rule, path, key); !text.empty()) out[key] = std::move(text);
  if (out.empty()) doc.Fault(path, "matches nothing", "give one of " + Join(kPatterns, ", "));
  const auto action = ReadText(doc, Find(rule, path, "action"));
  if (!action || !JdlActionOf(*action))
    doc.Fault(Join2(path, "action"),
              action ? "\"" + Shown(*action) + "\" is no action" : "is missing",
              "one of: " + Join(JdlActions(), ", "));
  else
    out["action"] = *action;
  return out;
}

json RulesIn(Document& doc, const Found& found) {
  json out = json::array();
  if (!found.value->is_array() || found.value->size() > kMostRules) {
    doc.Fault(found.path, "must be an array of at most " + std::to_string(kMostRules) + " rules");
    return out;
  }
  for (std::size_t i = 0; i < found.value->size(); ++i)
    out.push_back(RuleIn(doc, (*found.value)[i], Join2(found.path, std::to_string(i))));
  return out;
}

json BudgetsIn(Document& doc, const Found& found) {
  json out = json::object();
  if (!found.value->is_object()) {
    doc.Fault(found.path, "must be an object", R"(write {"preemption": 5})");
    return out;
  }
  RefuseOtherKeys(doc, *found.value, found.path, kBudgets);
  for (const auto& key : kBudgets)
    if (const auto n = ReadWhole(doc, Find(*found.value, found.path, key), 1, 1000)) out[key] = *n;
  return out;
}

}  // namespace

void CheckRetry(Document& doc, Campaign& campaign) {
  const auto retry = Find(doc.root, "", "retry");
  if (!retry) return;
  if (!retry.value->is_object()) {
    doc.Fault("retry", "must be an object", R"(write {"attempts": 3})");
    return;
  }
  RefuseOtherKeys(doc, *retry.value, "retry", kRetryKeys);
  const auto attempts = Find(*retry.value, "retry", "attempts");
  if (attempts && Find(doc.root, "", "max_tries"))
    doc.Fault(attempts.path, "says the same as max_tries", "give one of them");
  else if (const auto n = ReadWhole(doc, attempts, 1, 1000))
    campaign.max_tries = static_cast<int>(*n);
  json out = json::object();
  if (const auto budgets = Find(*retry.value, "retry", "budgets"))
    out["budgets"] = BudgetsIn(doc, budgets);
  if (const auto rules = Find(*retry.value, "retry", "evaluateOnExit"))
    out["evaluateOnExit"] = RulesIn(doc, rules);
  if (!out.empty()) campaign.retry = std::move(out);
}

}  // namespace cigri::jdl
