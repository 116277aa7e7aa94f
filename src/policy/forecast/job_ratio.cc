#include "policy/forecast/job_ratio.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace cigri::policy {
namespace {

constexpr std::pair<RatioRule, std::string_view> kNames[] = {
    {RatioRule::kSlowStart, "slow-start"},
    {RatioRule::kAdaptive, "adaptive"},
    {RatioRule::kAdaptive2009, "adaptive-2009"},
    {RatioRule::kAdaptiveDownExponentialUp, "adaptive-down-exponential-up"},
};

// Where everything that was sent has started, more would have: the quotient is 1 and says nothing
// of it. So it doubles, until a job is sent for the slots that it asks for.
double Recovered(const RatioSample& sample) {
  const double whole = 1.0 / std::max(1, sample.slots);
  return sample.waiting > 0 ? 0 : std::min(whole, 2 * sample.ratio);
}

double Up(RatioRule rule, const RatioSample& sample) {
  const double running = std::max(1, sample.running);  // none started, none waits: all have ended
  switch (rule) {
    case RatioRule::kAdaptive:
      return std::max(sample.ratio * sample.submitted / running, Recovered(sample));
    case RatioRule::kAdaptive2009:
      return sample.submitted / running;
    default:
      return sample.ratio * 2;
  }
}

double Down(RatioRule rule, const RatioSample& sample) {
  const double excess = sample.waiting - sample.allowed;
  const double kept = std::max(0.0, sample.submitted - excess) / sample.submitted;
  switch (rule) {
    case RatioRule::kSlowStart:
      return 1.0 / std::max(1, sample.max_slots);
    case RatioRule::kAdaptive:
      return sample.ratio * kept;
    default:
      return kept;
  }
}

}  // namespace

std::string_view ToString(RatioRule rule) {
  for (const auto& [value, word] : kNames)
    if (value == rule) return word;
  return "adaptive";
}

std::optional<RatioRule> RatioRuleFrom(std::string_view word) {
  for (const auto& [value, name] : kNames)
    if (name == word) return value;
  return std::nullopt;
}

double NextRatio(RatioRule rule, const RatioSample& sample) {
  const double least = 1.0 / std::max(1, sample.max_slots);
  double next = sample.ratio;
  if (sample.submitted > 0)
    next = sample.waiting > sample.allowed ? Down(rule, sample) : Up(rule, sample);
  if (!std::isfinite(next)) next = least;
  return std::clamp(next, least, std::max(least, sample.max_ratio));
}

}  // namespace cigri::policy
