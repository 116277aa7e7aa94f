// What the grid knows when a campaign is submitted or changed: clusters, rules, the user.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "api/submit/admission.h"
#include "core/config.h"
#include "db/db.h"
#include "jdl/jdl.h"
#include "policy/members.h"

namespace cigri::api {

/// A cluster as a submission sees it.
struct ClusterTarget {
  std::int64_t id = 0;
  std::string name, kind, mode, resource_unit, login;
  bool enabled = true, drained = false, failing = false;
  std::string drain_reason;
  std::optional<int> max_resources, free_resources;
  bool needs_token = false;       ///< of each user, given with gridtoken
  bool has_token = false;         ///< of this user
  std::optional<double> token_s;  ///< until it expires, nothing when it does not say
  /// "open", "limited", "observe", "drained", "disabled" or "not answering".
  std::string State() const;
};

struct GridInfo {
  std::map<std::string, ClusterTarget> clusters;  ///< by name
  jdl::Defaults defaults;                         ///< for reading a JDL
  Admission admission;                            ///< rules, and what they may know
  policy::Members members{{}, {}};  ///< who may name which project, class, group and pool
  bool needs_group = false;         ///< policy sla: every campaign names one of its groups
  int user_priority = 9;            ///< the policy's: users give no more
};

/// The rows of table `members`.
std::vector<policy::Member> LoadMembers(db::Tx& tx);

/// Reads what is there for `user`.
GridInfo LoadGridInfo(db::Tx& tx, const Config& config, const std::string& user);

}  // namespace cigri::api
