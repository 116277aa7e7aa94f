#include "cluster/batch.h"

namespace cigri::cluster {
namespace {

// What tasks and scripts have in common.
Batch CommonBatch(const BatchSettings& s) {
  Batch batch;
  batch.grid_user = s.grid_user;
  batch.cluster_user = s.cluster_user;
  batch.campaign_name = s.campaign_name;
  batch.slots = s.slots;
  batch.project = s.project;
  batch.job_types = s.job_types;
  return batch;
}

}  // namespace

Batch TaskBatch(const BatchSettings& s) {
  Batch batch = CommonBatch(s);
  batch.directory = s.exec_directory;
  batch.setup = s.setup;
  batch.resources = s.resources;
  batch.properties = s.properties;
  batch.best_effort = s.best_effort;
  batch.walltime_s = s.walltime_s;
  batch.options = s.options;
  return batch;
}

Batch ScriptBatch(const BatchSettings& s, BatchKind kind, std::int64_t job_id,
                  const std::string& script, int walltime_s) {
  Batch batch = CommonBatch(s);
  batch.kind = kind;
  batch.resources = "/resource_id=1";
  batch.best_effort = false;
  batch.walltime_s = walltime_s;
  batch.elements.push_back({job_id, -1, 1, script});
  return batch;
}

}  // namespace cigri::cluster
