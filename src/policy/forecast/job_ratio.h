// Jobs per free slot of a campaign on a cluster, learnt from what was sent and what ran (CIG-32,
// CIG-38..44). One step per fresh poll at the cluster, never per cycle.
#pragma once
#include <optional>
#include <string_view>

namespace cigri::policy {

enum class RatioRule { kSlowStart, kAdaptive, kAdaptive2009, kAdaptiveDownExponentialUp };

/// "slow-start", "adaptive" (the default), "adaptive-2009", "adaptive-down-exponential-up".
std::string_view ToString(RatioRule rule);
std::optional<RatioRule> RatioRuleFrom(std::string_view word);

/// What the last submission led to, in a poll that can show it.
struct RatioSample {
  double ratio = 1;      ///< the ratio it was made with
  double free = 0;       ///< free slots it was made for
  int submitted = 0;     ///< jobs of it
  int running = 0;       ///< of those, how many started (running now, or already over)
  int waiting = 0;       ///< of those, how many wait in the queue
  int allowed = 1;       ///< WaitingAllowed()
  int max_slots = 1;     ///< slots of the cluster
  int slots = 1;         ///< that one job asks for
  double max_ratio = 4;  ///< CIG-44: it rises while a few wait; not without end
};

/// The next ratio, in [1 / max_slots, max_ratio]. Nothing submitted teaches nothing.
double NextRatio(RatioRule rule, const RatioSample& sample);

}  // namespace cigri::policy
