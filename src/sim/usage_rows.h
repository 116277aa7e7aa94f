// What campaigns have used, in rows as the grid's table `usage` gives them: by the minute in which
// a job ended, by the hour when that is long ago. Internal to src/sim.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "policy/model.h"

namespace cigri::sim {

class UsageRows {
 public:
  /// Only what the policy can still see is kept.
  explicit UsageRows(const policy::PolicyConfig& config);
  /// A job ended at `now` (clock of the decisions), whatever its outcome.
  void Add(const policy::Campaign& campaign, double now, double slot_seconds,
           std::vector<policy::Usage>& rows);
  /// Forgets what is too old, and joins old minutes to hours. Call before each decision.
  void Tidy(double now, std::vector<policy::Usage>& rows);

 private:
  double horizon_ = 0;
  bool hours_ = false;
  double minute_ = -1, tidied_ = -1e300, joined_until_ = -1e300;
  std::unordered_map<std::int64_t, std::size_t> here_;  // campaign -> its row of this minute
};

}  // namespace cigri::sim
