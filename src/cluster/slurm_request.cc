// A submission as each version of slurmrestd takes it.
#include <charconv>
#include <set>

#include "cluster/rest_api.h"
#include "cluster/slurm_codec.h"
#include "core/text.h"

namespace cigri::cluster {
namespace {

constexpr int kFirstWithBeginTime = 40;

nlohmann::json SetNumber(std::int64_t n, int version) {
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

bool SlurmApiTried(int version) {
  return (version >= 36 && version <= 38) || (version >= 40 && version <= 42);
}

std::vector<std::string> UnknownSlurmApis(const std::string& openapi) {
  std::set<int> versions;
  const auto parsed = nlohmann::json::parse(ValidUtf8(openapi), nullptr, false);
  const auto& paths = At(parsed, "paths");
  for (auto it = paths.begin(); paths.is_object() && it != paths.end(); ++it) {
    const auto parts = Split(it.key(), '/');  // "", "slurm", "v0.0.44", "ping"
    const auto version = parts.size() > 2 ? SlurmApiVersion(parts[2]) : std::nullopt;
    if (parts.size() > 2 && parts[1] == "slurm" && version && *version > kNewestSlurmApi)
      versions.insert(*version);
  }
  std::vector<std::string> names;
  for (const int v : versions) names.push_back("v0.0." + std::to_string(v));
  return names;
}

bool SlurmApiSignals(int version) { return version >= 39; }

nlohmann::json WriteSlurmRelease(int version) {
  nlohmann::json job{{"hold", false}};
  if (version >= kFirstWithBeginTime) job["begin_time"] = SetNumber(1, version);  // long past
  return job;
}

nlohmann::json WriteSlurmRequest(const SlurmRequest& r, int version) {
  const bool old = version < 39;
  nlohmann::json job{{"name", r.tag},
                     {"comment", r.tag},
                     {"array", r.array},
                     {"current_working_directory", "/"},
                     {"standard_output", "/dev/null"},
                     {"standard_error", "/dev/null"},
                     // Whole minutes, rounded up; 0 would mean without limit.
                     {"time_limit", SetNumber((r.walltime_s + 59) / 60, version)},
                     {"tasks", r.tasks},
                     {"cpus_per_task", r.cpus_per_task}};
  if (version >= kFirstWithBeginTime)
    job["begin_time"] = SetNumber(r.begin_at, version);
  else
    job["hold"] = true;
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
  if (!r.excluded_nodes.empty()) job[old ? "exclude_nodes" : "excluded_nodes"] = r.excluded_nodes;
  if (!r.required_nodes.empty()) job["required_nodes"] = r.required_nodes;
  if (r.mem_mb > 0) job["memory_per_node"] = SetNumber(r.mem_mb, version);
  if (r.gpus > 0) {
    const auto n = std::to_string(r.gpus);
    if (old)
      job["gres"] = "gpu:" + n;
    else
      job["tres_per_node"] = "gres/gpu:" + n;
  }
  if (!r.signal.empty() && SlurmApiSignals(version)) {
    job["kill_warning_signal"] = r.signal;
    job["kill_warning_delay"] = SetNumber(r.signal_before_s, version);
    job["kill_warning_flags"] = {"BATCH_JOB"};
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
