// What becomes of a task after one of its jobs has failed: the actions, and the rules of a JDL
// (key `retry`, docs/jdl.md). The words are those of cloud batch services.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cigri {

/// Fingerprint of the event SUBMIT_REFUSED when the refusal is the cluster's failure: the updator
/// closes it after a while, and the campaign tries again.
inline constexpr char kClusterFault[] = "cluster fault";

enum class RetryAction { kRetry, kRetryElsewhere, kMoreWalltime, kMoreMemory, kLimit, kStop };

/// Of a word in error_classes.action: "retry_elsewhere".
std::optional<RetryAction> RetryActionOf(std::string_view word);
/// Of an action in a JDL, in any case: RETRY, EXIT, RETRY_ELSEWHERE, RETRY_MORE_WALLTIME,
/// RETRY_MORE_MEMORY.
std::optional<RetryAction> JdlActionOf(std::string_view word);
const std::vector<std::string>& JdlActions();

/// A rule of `retry.evaluateOnExit`. Patterns may begin and end with `*`; "" matches anything.
struct RetryRule {
  std::string on_exit_code;      ///< "137", "1*"; "signal 9"
  std::string on_status_reason;  ///< an event code or an exit class: "WALLTIME", "preemption"
  std::string on_reason;         ///< of the message: "*No space left*"
  RetryAction action = RetryAction::kRetry;
};

/// A failed job, in the words of the rules.
struct FailedEnd {
  std::string exit_code, code, exit_class, message;
};
bool Matches(const RetryRule& rule, const FailedEnd& end);

/// Key `retry` of a stored JDL, but for `attempts`, which is its max_tries.
struct RetrySettings {
  /// Ends by each cause at which a task is given up; not given: the grid's own limits.
  std::optional<int> infrastructure, preemption, our_kill;
  std::vector<RetryRule> rules;  ///< the first that matches decides
};
/// `retry` as the JDL stores it; what is no setting in it is left out.
RetrySettings ReadRetry(const nlohmann::json& retry);

}  // namespace cigri
