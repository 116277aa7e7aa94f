#include "cluster/job_environment.h"

#include <algorithm>
#include <cmath>
#include <csignal>

#include "core/text.h"

namespace cigri::cluster {
namespace {

// Cores that the job has on one node: what threads can use. "/nodes=2/core=4" are 4.
std::string CoresOf(const Batch& batch) {
  if (const auto at = batch.options.find("cores");
      at != batch.options.end() && at->is_number_integer())
    return at->dump();
  const auto at = batch.resources.rfind("core=");
  std::string digits;
  for (auto i = at == std::string::npos ? batch.resources.size() : at + 5;
       i < batch.resources.size() &&
       std::isdigit(static_cast<unsigned char>(batch.resources[i])) != 0;
       ++i)
    digits += batch.resources[i];
  return digits.empty() ? std::to_string(batch.slots) : digits;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> JobEnvironment(const Batch& batch,
                                                                const Element& element) {
  const std::string campaign = std::to_string(batch.campaign_id);
  const std::string job = std::to_string(element.job_id);
  const std::string cores = CoresOf(batch);
  std::vector<std::pair<std::string, std::string>> variables{
      {"CIGRI_CAMPAIGN_ID", campaign},
      {"CIGRI_CAMPAIGNID", campaign},
      {"CIGRI_JOB_ID", job},
      {"CIGRI_JOBID", job},
      {"CIGRI_JOB_NAME", batch.campaign_name},
      {"CIGRI_JOBNAME", batch.campaign_name},
      {"CIGRI_USER", batch.cluster_user},
      {"CIGRI_RESOURCES", batch.resources},
      {"CIGRI_CORES", cores},
          {"OMP_NUM_THREADS", cores},
      {"CIGRI_WALLTIME", FormatWalltime(batch.walltime_s)},
      {"CIGRI_WALLTIME_SECONDS", std::to_string(batch.walltime_s)},
      {"CIGRI_TASK_INDEX", std::to_string(element.task_index)},
      {"CIGRI_ATTEMPT", std::to_string(element.attempt)}};
  // Where they say how long that took: whoever starts the job gives it a value.
  if (batch.options.contains(kMovesFiles)) variables.emplace_back("CIGRI_TRANSFERS", "");
  if (const auto checkpoint = CheckpointOf(batch)) {
    variables.emplace_back("CIGRI_CHECKPOINT_SIGNAL", checkpoint->signal);
    variables.emplace_back("CIGRI_CHECKPOINT_GRACE", std::to_string(checkpoint->grace_s));
    if (checkpoint->every_s > 0)
      variables.emplace_back("CIGRI_CHECKPOINT_EVERY", std::to_string(checkpoint->every_s));
    if (checkpoint->lifetime_s > 0)
      variables.emplace_back("CIGRI_CHECKPOINT_LIFETIME", std::to_string(checkpoint->lifetime_s));
  }
  return variables;
}

std::optional<Checkpoint> CheckpointOf(const Batch& batch) {
  const auto at = batch.options.find("checkpoint");
  if (at == batch.options.end() || !at->is_object()) return std::nullopt;
  Checkpoint checkpoint;
  checkpoint.signal = at->value("signal", checkpoint.signal);
  checkpoint.number = checkpoint.signal == "HUP" ? SIGHUP
                      : checkpoint.signal == "USR1" ? SIGUSR1
                                                    : SIGUSR2;
  checkpoint.grace_s = at->value("grace", checkpoint.grace_s);
  if (const auto every = at->find("every"); every != at->end() && every->is_number())
    checkpoint.every_s = every->get<int>();
  checkpoint.lifetime_s = static_cast<int>(at->value("lifetime", 0.0));
  // What it costs is not known yet: no longer than the user has said.
  if (checkpoint.lifetime_s > 0)
    checkpoint.every_s = CheckpointInterval(checkpoint.grace_s, checkpoint.lifetime_s);
  return checkpoint;
}

int CheckpointInterval(double cost_s, double lifetime_s) {
  return std::max(10, static_cast<int>(std::sqrt(2 * cost_s * lifetime_s)));
}

}  // namespace cigri::cluster
