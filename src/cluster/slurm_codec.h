// The one place that knows how the versions of slurmrestd write things: v0.0.36 to v0.0.38 as
// measured on Slurm 22.05, v0.0.39 to v0.0.42 as documented (numbers become {set, infinite,
// number}, states and environment lists, exit codes objects).
#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cluster/cluster.h"

namespace cigri::cluster {

/// "v0.0.38" -> 38; nothing when it is no version of the API.
std::optional<int> SlurmApiVersion(const std::string& text);
inline constexpr int kOldestSlurmApi = 36, kNewestSlurmApi = 42;

/// What a submission says, before it is written for a version.
struct SlurmRequest {
  std::string script, tag, array, partition, account, qos, constraints;
  int walltime_s = 0, nodes = 1, tasks = 1, cpus_per_task = 1, mem_mb = 0, gpus = 0;
};
/// The body of POST job/submit.
nlohmann::json WriteSlurmRequest(const SlurmRequest& request, int version);

/// One record of GET job/ID or /jobs, of slurmctld or of slurmdbd.
struct SlurmRecord {
  std::int64_t job_id = 0, array_job_id = 0;
  std::optional<int> task;  ///< nothing: a plain job, or the part of an array not yet started
  std::string task_string;  ///< "16-20": which part; cut at 64 characters with "..."
  std::string name, comment, user, state, reason, node;
  int wait_status = 0;
  bool exit_known = true;  ///< slurmdbd's REST forgets exit codes that are not 0
  double submitted_at = 0, started_at = 0, ended_at = 0;
};
/// Reads the `jobs` of an answer with simdjson; bad UTF-8 (any user's job name) is replaced first.
/// Throws CallFailed(kGarbage) naming `what`.
std::vector<SlurmRecord> ParseSlurmJobs(const std::string& what, std::string body);

/// "1,3,5-7,9-13:2%4" -> the numbers; `cut` tells whether it ended in "...".
std::set<int> ParseTaskString(const std::string& text, bool* cut);

bool SlurmEnded(const std::string& state);
/// Fills state, cause, times, node and words of `job`.
void FillFromSlurmRecord(RemoteJob* job, const SlurmRecord& record);

/// What the `errors` of an answer say: the first that has a number, else the first words.
struct SlurmError {
  int number = 0;
  std::string text;
  bool any = false;
};
SlurmError SlurmErrorOf(const std::string& body);

}  // namespace cigri::cluster
