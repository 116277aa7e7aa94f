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
  /// The same of campaigns that are over: by user, with `aggregate` project by project; else none.
  std::unordered_map<std::string, double> window_over;
  // Of policy fairshare only: to age each row of usage takes long.
  std::vector<double> decayed;  ///< by place in the allocation state: aged as fairshare says
  /// Decayed, with campaigns that are over: by UserKey(), and by project.
  std::unordered_map<std::string, double> user;
  std::unordered_map<std::string, double> project;
  /// By user: slot-seconds of today, yesterday... (fairshare-simple), `simple_days` of them.
  std::unordered_map<std::string, std::vector<double>> days;
  /// By user, with first_results alone: jobs that ended in fairshare.window.
  std::unordered_map<std::string, std::int64_t> ended;
};

/// By user: how many more jobs of his go ahead of others' (CIG-16). Counted by user, so that many
/// small campaigns have no more first results than one large one.
std::unordered_map<std::string, std::int64_t> MissingFirstResults(const AllocationState& alloc,
                                                                  const UsageSummary& summary);

/// A user inside a project: nobody's use in one project counts in another.
std::string UserKey(const std::string& project, const std::string& user);

UsageSummary SummariseUsage(const AllocationState& alloc, const Snapshot& snapshot);

}  // namespace cigri::policy
