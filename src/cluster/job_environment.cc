#include "cluster/job_environment.h"

#include "core/text.h"

namespace cigri::cluster {

std::vector<std::pair<std::string, std::string>> JobEnvironment(const Batch& batch,
                                                                const Element& element) {
  const std::string campaign = std::to_string(batch.campaign_id);
  const std::string job = std::to_string(element.job_id);
  return {{"CIGRI_CAMPAIGN_ID", campaign},
          {"CIGRI_CAMPAIGNID", campaign},
          {"CIGRI_JOB_ID", job},
          {"CIGRI_JOBID", job},
          {"CIGRI_JOB_NAME", batch.campaign_name},
          {"CIGRI_JOBNAME", batch.campaign_name},
          {"CIGRI_USER", batch.cluster_user},
          {"CIGRI_RESOURCES", batch.resources},
          {"CIGRI_WALLTIME", FormatWalltime(batch.walltime_s)},
          {"CIGRI_WALLTIME_SECONDS", std::to_string(batch.walltime_s)},
          {"CIGRI_TASK_INDEX", std::to_string(element.task_index)},
          {"CIGRI_ATTEMPT", std::to_string(element.attempt)}};
}

}  // namespace cigri::cluster
