// The health of a cluster as events for its operator: raised once, closed when the cause is gone.
#pragma once
#include <optional>
#include <string>

#include "updator/poller.h"
#include "updator/store.h"

namespace cigri::updator {

/// What this process has reported of a cluster. It is empty before the cluster's first answer, so
/// that the first answer closes the events that an earlier process opened.
struct ReportedHealth {
  std::optional<std::string> failing;  ///< the code of the open event, "" = the cluster answers
  std::optional<bool> stressed;
};

/// Raises CLUSTER_UNREACHABLE or CLUSTER_ERROR at the third failure in a row, and UNDER_STRESS when
/// the cluster's stress reaches `stress_limit`.
void ReportHealth(Store& store, const Answer& answer, const std::string& name, double stress_limit,
                  ReportedHealth* reported);

}  // namespace cigri::updator
