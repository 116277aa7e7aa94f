// Reasons for messages: the stable word of a code, its numbers by name, one message, one action.
#pragma once
#include <array>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "policy/model.h"

namespace cigri::policy {

/// "SERVED_BEFORE": what tables and tools store. Never renamed.
std::string_view ToString(Code code);
std::optional<Code> CodeFrom(std::string_view word);
const std::vector<Code>& AllCodes();

/// What Reason::numbers mean for a code; "" ends the list.
std::array<std::string_view, 3> NumberNames(Code code);

enum class Reader { kUser, kOperator };

/// Renders reasons lazily: a decision makes thousands, users read few. Keeps names only.
class ReasonTexts {
 public:
  explicit ReasonTexts(const Snapshot& snapshot);
  /// One message for the user.
  std::string Text(const Reason& reason) const;
  /// What this reader may do about it, "" = nothing but wait. Users cannot change the policy.
  std::string Action(const Reason& reason, Reader reader = Reader::kUser) const;
  /// {"limit": 10, ...}, detail and other included when they say something.
  static nlohmann::json Numbers(const Reason& reason);

 private:
  std::string Fill(std::string_view pattern, const Reason& reason) const;
  std::unordered_map<std::int64_t, std::string> clusters_;
};

}  // namespace cigri::policy
