#include "core/retry.h"

#include <nlohmann/json.hpp>

#include "core/text.h"

namespace cigri {
namespace {

constexpr std::pair<std::string_view, RetryAction> kActions[] = {
    {"retry", RetryAction::kRetry},
    {"retry_elsewhere", RetryAction::kRetryElsewhere},
    {"more_walltime", RetryAction::kMoreWalltime},
    {"more_memory", RetryAction::kMoreMemory},
    {"limit", RetryAction::kLimit},
    {"stop", RetryAction::kStop}};
constexpr std::pair<std::string_view, RetryAction> kJdlActions[] = {
    {"RETRY", RetryAction::kRetry},
    {"EXIT", RetryAction::kStop},
    {"RETRY_ELSEWHERE", RetryAction::kRetryElsewhere},
    {"RETRY_MORE_WALLTIME", RetryAction::kMoreWalltime},
    {"RETRY_MORE_MEMORY", RetryAction::kMoreMemory}};

// Linear in the text, whatever a user writes: `*` only at the two ends.
bool Fits(std::string_view pattern, std::string_view text) {
  if (pattern.empty() || pattern == "*") return true;
  const bool open_begin = pattern.front() == '*', open_end = pattern.back() == '*';
  const auto word = pattern.substr(open_begin ? 1 : 0,
                                   pattern.size() - (open_begin ? 1 : 0) - (open_end ? 1 : 0));
  const auto at = text.find(word);
  if (open_begin && open_end) return at != text.npos;
  if (open_begin)
    return text.size() >= word.size() && text.substr(text.size() - word.size()) == word;
  if (open_end) return at == 0;
  return text == word;
}

std::string TextIn(const nlohmann::json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

std::optional<int> NumberIn(const nlohmann::json& object, const char* key) {
  const auto it = object.find(key);
  if (it == object.end() || !it->is_number_integer()) return std::nullopt;
  return it->get<int>();
}

}  // namespace

std::optional<RetryAction> RetryActionOf(std::string_view word) {
  for (const auto& [name, action] : kActions)
    if (word == name) return action;
  return std::nullopt;
}

std::optional<RetryAction> JdlActionOf(std::string_view word) {
  const std::string lower = Lower(word);
  for (const auto& [name, action] : kJdlActions)
    if (lower == Lower(name)) return action;
  return std::nullopt;
}

const std::vector<std::string>& JdlActions() {
  static const std::vector<std::string> words = [] {
    std::vector<std::string> out;
    for (const auto& [name, action] : kJdlActions) out.emplace_back(name);
    return out;
  }();
  return words;
}

bool Matches(const RetryRule& rule, const FailedEnd& end) {
  return Fits(rule.on_exit_code, end.exit_code) &&
         (Fits(rule.on_status_reason, end.code) || Fits(rule.on_status_reason, end.exit_class)) &&
         Fits(rule.on_reason, end.message);
}

RetrySettings ReadRetry(const nlohmann::json& retry) {
  RetrySettings out;
  if (!retry.is_object()) return out;
  if (const auto it = retry.find("budgets"); it != retry.end() && it->is_object()) {
    out.infrastructure = NumberIn(*it, "infrastructure");
    out.preemption = NumberIn(*it, "preemption");
    out.our_kill = NumberIn(*it, "our_kill");
  }
  const auto rules = retry.find("evaluateOnExit");
  if (rules == retry.end() || !rules->is_array()) return out;
  for (const auto& rule : *rules) {
    if (!rule.is_object()) continue;
    const auto action = JdlActionOf(TextIn(rule, "action"));
    if (!action) continue;
    out.rules.push_back({TextIn(rule, "onExitCode"), TextIn(rule, "onStatusReason"),
                         TextIn(rule, "onReason"), *action});
  }
  return out;
}

}  // namespace cigri
