// From what a campaign asks of a cluster to the batch that the driver gets.
#pragma once
#include <string>
#include <vector>

#include "cluster/cluster.h"

namespace cigri::cluster {

/// What the jobs of a campaign are on one cluster. The api fills it in from a JDL, the runner from
/// its row; no member has a default, so that both name all (-Wmissing-field-initializers there).
struct BatchSettings {
  std::string grid_user, cluster_user, campaign_name;
  std::string exec_directory, setup;
  std::string resources;
  int slots;  ///< resource units that one job takes
  std::string properties, project;
  std::vector<std::string> job_types;
  bool best_effort;
  int walltime_s;
  nlohmann::json options;
};

/// A batch of tasks without elements.
Batch TaskBatch(const BatchSettings& settings);
/// A batch of one job that prepares a cluster for a campaign, or cleans up after it: `script` is
/// its command. As in CiGri 3 a normal job on one resource, in the home directory.
Batch ScriptBatch(const BatchSettings& settings, BatchKind kind, std::int64_t job_id,
                  const std::string& script, int walltime_s);

}  // namespace cigri::cluster
