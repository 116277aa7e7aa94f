#include "jdl/keys.h"

#include "jdl/jdl.h"

namespace cigri::jdl {
namespace {

struct Key {
  const char* name;
  KeyScope scope;
};
constexpr KeyScope kG = KeyScope::kCampaign, kC = KeyScope::kCluster, kD = KeyScope::kDead;
constexpr Key kKeys[] = {
    // CiGri 3, global
    {"name", kG},
    {"clusters", kG},
    {"params", kG},
    {"nb_jobs", kG},
    {"param_file", kG},
    {"jobs_type", kG},
    // CiGri 3, per cluster
    {"exec_file", kC},
    {"exec_directory", kC},
    {"resources", kC},
    {"walltime", kC},
    {"properties", kC},
    {"project", kC},
    {"type", kC},
    {"cluster_job_type", kC},
    {"prologue", kC},
    {"epilogue", kC},
    {"prologue_walltime", kC},
    {"epilogue_walltime", kC},
    {"max_jobs", kC},
    {"test_mode", kC},
    // CiGri 3, without effect
    {"dimensional_grouping", kD},
    {"checkpointing_type", kD},
    {"output_gathering_method", kD},
    {"output_file", kD},
    {"output_destination", kD},
    // ours
    {"format", kG},
    {"columns", kG},
    {"priority", kG},
    {"share_project", kG},
    {"sla_group", kG},
    {"class", kG},
    {"finalize", kG},
    {"scheduler", kG},
    {"max_tries", kG},
    {"retry", kG},
    {"licences", kG},
    {"affinity_wait", kG},
    {"min_duration", kG},
    {"lost_after", kG},
    {"after", kG},
    {"after_ok", kG},
    {"after_any", kG},
    {"not_before", kG},
    {"deadline", kG},
    {"max_jobs_total", kG},
    {"temporal_grouping", kC},  // CiGri 3's
    {"auto_walltime", kC},
    {"checkpoint", kC},
    {"setup", kC},
    {"inputs", kC},
    {"outputs", kC},
    {"cores", kC},
    {"mem", kC},
    {"gpus", kC},
    {"partition", kC},
    {"account", kC},
    {"qos", kC},
    {"constraint", kC},
    {"start_rate", kC},
};

}  // namespace

std::optional<KeyScope> ScopeOf(std::string_view key) {
  for (const auto& known : kKeys)
    if (key == known.name) return known.scope;
  return std::nullopt;
}

const std::vector<std::string>& KnownKeys() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const auto& key : kKeys) all.emplace_back(key.name);
    return all;
  }();
  return names;
}

}  // namespace cigri::jdl
