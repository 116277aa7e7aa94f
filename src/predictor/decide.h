// The forecasts of one campaign from what is known of it. No I/O, no clock.
#pragma once
#include <map>
#include <optional>
#include <vector>

#include "policy/forecast/estimate.h"

namespace cigri::predictor {

/// What the predictor remembers of a campaign between two passes, by cluster.
using Memory = std::map<std::int64_t, PlacementEstimate>;

struct CampaignForecast {
  std::vector<Forecast> placements;  ///< in the order of `stats`
  /// Until its last job there ends, when tasks that wait go where jobs end, as lately.
  std::vector<std::optional<policy::Interval>> left_on;
  PlacementStats all;                ///< of all clusters together, on "cluster" 0
  Forecast whole;
  std::optional<policy::Interval> left;  ///< seconds until the campaign ends; nothing: not known
};

/// `stats`: the campaign on each of its clusters; `waiting`: its tasks that no job was sent for.
/// `now` in seconds of a clock that does not jump; rates are measured over `window_s`. The result
/// depends on the arguments alone; `memory` is updated. REQUIRES: !stats.empty().
CampaignForecast Decide(const std::vector<PlacementStats>& stats, std::int64_t waiting, double now,
                        double window_s, Memory& memory);

}  // namespace cigri::predictor
