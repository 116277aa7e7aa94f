#include "core/states.h"

namespace cigri {

template <>
const std::vector<std::string_view>& EnumNames<CampaignState>() {
  static const std::vector<std::string_view> words{"in_treatment", "paused", "cancelled",
                                                   "terminated"};
  return words;
}
template <>
const std::vector<std::string_view>& EnumNames<BatchKind>() {
  static const std::vector<std::string_view> words{"task", "replica", "test", "prologue",
                                                   "epilogue"};
  return words;
}
template <>
const std::vector<std::string_view>& EnumNames<BatchState>() {
  static const std::vector<std::string_view> words{"intended", "recorded", "refused", "in_doubt",
                                                   "abandoned"};
  return words;
}
template <>
const std::vector<std::string_view>& EnumNames<JobState>() {
  static const std::vector<std::string_view> words{"launching", "submitted",  "remote_waiting",
                                                   "running",   "terminated", "event"};
  return words;
}
template <>
const std::vector<std::string_view>& EnumNames<ExitClass>() {
  static const std::vector<std::string_view> words{"none", "program", "infrastructure",
                                                   "preemption", "our_kill"};
  return words;
}
template <>
const std::vector<std::string_view>& EnumNames<ClusterMode>() {
  static const std::vector<std::string_view> words{"observe", "limited", "unlimited"};
  return words;
}

namespace {
template <typename Enum>
std::string_view Word(Enum value) {
  return EnumNames<Enum>().at(static_cast<std::size_t>(value));
}
}  // namespace

std::string_view ToString(CampaignState s) { return Word(s); }
std::string_view ToString(BatchKind s) { return Word(s); }
std::string_view ToString(BatchState s) { return Word(s); }
std::string_view ToString(JobState s) { return Word(s); }
std::string_view ToString(ExitClass s) { return Word(s); }
std::string_view ToString(ClusterMode s) { return Word(s); }

template <typename Enum>
std::optional<Enum> FromString(std::string_view word) {
  const auto& words = EnumNames<Enum>();
  for (std::size_t i = 0; i < words.size(); ++i)
    if (words[i] == word) return static_cast<Enum>(i);
  return std::nullopt;
}
template std::optional<CampaignState> FromString<CampaignState>(std::string_view);
template std::optional<BatchKind> FromString<BatchKind>(std::string_view);
template std::optional<BatchState> FromString<BatchState>(std::string_view);
template std::optional<JobState> FromString<JobState>(std::string_view);
template std::optional<ExitClass> FromString<ExitClass>(std::string_view);
template std::optional<ClusterMode> FromString<ClusterMode>(std::string_view);

}  // namespace cigri
