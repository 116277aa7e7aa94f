#include "policy/forecast/job_ratio.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace cigri::policy {
namespace {

constexpr std::pair<RatioRule, std::string_view> kWords[] = {
    {RatioRule::kSlowStart, "slow-start"},
    {RatioRule::kAdaptive, "adaptive"},
    {RatioRule::kAdaptive2009, "adaptive-2009"},
    {RatioRule::kAdaptiveDownExponentialUp, "adaptive-down-exponential-up"},
};

double Up(RatioRule rule, const RatioLook& look) {
  const double running = std::max(1, look.running);  // none started, none waits: all have ended
  switch (rule) {
    case RatioRule::kAdaptive:
      return look.ratio * look.submitted / running;
    case RatioRule::kAdaptive2009:
      return look.submitted / running;
    default:
      return look.ratio * 2;
  }
}

double Down(RatioRule rule, const RatioLook& look) {
  const double excess = look.waiting - look.allowed;
  const double kept = std::max(0.0, look.submitted - excess) / look.submitted;
  switch (rule) {
    case RatioRule::kSlowStart:
      return 1.0 / std::max(1, look.max_slots);
    case RatioRule::kAdaptive:
      return look.ratio * kept;
    default:
      return kept;
  }
}

}  // namespace

std::string_view ToString(RatioRule rule) {
  for (const auto& [value, word] : kWords)
    if (value == rule) return word;
  return "adaptive";
}

std::optional<RatioRule> RatioRuleFrom(std::string_view word) {
  for (const auto& [value, name] : kWords)
    if (name == word) return value;
  return std::nullopt;
}

double NextRatio(RatioRule rule, const RatioLook& look) {
  const double least = 1.0 / std::max(1, look.max_slots);
  double next = look.ratio;
  if (look.submitted > 0) next = look.waiting > look.allowed ? Down(rule, look) : Up(rule, look);
  if (!std::isfinite(next)) next = least;
  return std::clamp(next, least, std::max(least, look.max_ratio));
}

int JobsFor(double free, double ratio) {
  if (free < 1) return 0;
  return std::max(1, static_cast<int>(std::floor(free * ratio + 1e-9)));
}

}  // namespace cigri::policy
