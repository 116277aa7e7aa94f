// What users, projects and campaigns have used so far, as one decision needs it.
#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "policy/allocation_state.h"

namespace cigri::policy {

/// Slot-seconds of jobs that ended and of those that run (their part so far).
struct UsageSummary {
  std::vector<double> window;  ///< by place in the allocation state: inside usage.window_s
  // Of policy fairshare only: to age each row of usage takes long.
  std::vector<double> decayed;  ///< by place in the allocation state: aged as fairshare says
  /// Decayed, with campaigns that are over: by UserKey(), and by project.
  std::unordered_map<std::string, double> user;
  std::unordered_map<std::string, double> project;
  /// By user: slot-seconds of today, yesterday... (fairshare-simple), `simple_days` of them.
  std::unordered_map<std::string, std::vector<double>> days;
};

/// A user inside a project: nobody's use in one project counts in another.
std::string UserKey(const std::string& project, const std::string& user);

UsageSummary SummariseUsage(const AllocationState& alloc, const Snapshot& snapshot);

}  // namespace cigri::policy
