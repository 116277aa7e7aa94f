// How a cluster does, as events for its operator: raised once, closed when the cause is gone.
#pragma once
#include <optional>
#include <string>

#include "db/db.h"
#include "updator/poller.h"

namespace cigri::updator {

/// What this process has told of a cluster; nothing before its first answer, so that what an
/// earlier process opened is closed.
struct Told {
  std::optional<std::string> failing;  ///< the code of the open event, "" = it answers
  std::optional<bool> stressed;
};

/// CLUSTER_UNREACHABLE or CLUSTER_ERROR at the third failure in a row; UNDER_STRESS at
/// `stress_limit`.
void TellHealth(db::Tx& tx, const Answer& answer, const std::string& name, double stress_limit,
                Told* told);

}  // namespace cigri::updator
