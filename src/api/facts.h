// What the grid knows when a campaign is submitted or changed: clusters, rules, the user.
#pragma once
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "api/admission.h"
#include "core/config.h"
#include "db/db.h"
#include "jdl/jdl.h"

namespace cigri::api {

/// A cluster as a submission sees it.
struct ClusterFacts {
  std::int64_t id = 0;
  std::string name, kind, mode, resource_unit, login;
  bool enabled = true, drained = false, failing = false;
  std::string drain_reason;
  std::optional<int> max_resources, free_resources;
  /// "open", "limited", "observe", "drained", "disabled" or "not answering".
  std::string State() const;
};

struct Facts {
  std::map<std::string, ClusterFacts> clusters;  ///< by name
  jdl::Defaults defaults;                        ///< for reading a JDL
  Admission admission;                           ///< rules, and what they may know
  /// Policy sla: every campaign names one of these groups. Nothing: it need not.
  std::optional<std::vector<std::string>> sla_groups = {};
};

/// Reads what is there for `user`.
Facts LoadFacts(db::Tx& tx, const Config& config, const std::string& user);

}  // namespace cigri::api
