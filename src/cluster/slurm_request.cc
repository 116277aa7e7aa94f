// A submission as each version of slurmrestd takes it.
#include <charconv>

#include "cluster/slurm_codec.h"
#include "core/text.h"

namespace cigri::cluster {
namespace {

nlohmann::json SetNumber(int n, int version) {
  if (version < 39) return n;
  return {{"set", true}, {"infinite", false}, {"number", n}};
}

}  // namespace

std::optional<int> SlurmApiVersion(const std::string& text) {
  if (!StartsWith(text, "v0.0.")) return std::nullopt;
  int n = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data() + 5, end, n);
  if (error != std::errc() || at != end || n < kOldestSlurmApi) return std::nullopt;
  return n;
}

nlohmann::json WriteSlurmRequest(const SlurmRequest& r, int version) {
  const bool old = version < 39;
  nlohmann::json job{{"name", r.tag},
                     {"comment", r.tag},
                     {"array", r.array},
                     {"hold", true},
                     {"current_working_directory", "/"},
                     {"standard_output", "/dev/null"},
                     {"standard_error", "/dev/null"},
                     // Whole minutes, rounded up; 0 would mean without limit.
                     {"time_limit", SetNumber((r.walltime_s + 59) / 60, version)},
                     {"tasks", r.tasks},
                     {"cpus_per_task", r.cpus_per_task}};
  // "requeue": false means true in 22.05; no_requeue is taken by all three versions there.
  if (old)
    job["no_requeue"] = true;
  else
    job["requeue"] = false;
  if (r.nodes > 1)
    job["nodes"] = old ? nlohmann::json(r.nodes) : nlohmann::json(std::to_string(r.nodes));
  if (!r.partition.empty()) job["partition"] = r.partition;
  if (!r.account.empty()) job["account"] = r.account;
  if (!r.qos.empty()) job["qos"] = r.qos;
  if (!r.constraints.empty()) job["constraints"] = r.constraints;
  if (r.mem_mb > 0) job["memory_per_node"] = SetNumber(r.mem_mb, version);
  if (r.gpus > 0) {
    const auto n = std::to_string(r.gpus);
    if (old)
      job["gres"] = "gpu:" + n;
    else
      job["tres_per_node"] = "gres/gpu:" + n;
  }
  // All that the job gets: the script finds out HOME and USER itself.
  constexpr char kPath[] = "/usr/local/bin:/usr/bin:/bin";
  if (old)
    job["environment"] = {{"PATH", kPath}};
  else
    job["environment"] = nlohmann::json::array({std::string("PATH=") + kPath});
  if (version < 40) return {{"script", r.script}, {"job", job}};
  job["script"] = r.script;
  return {{"job", job}};
}

}  // namespace cigri::cluster
