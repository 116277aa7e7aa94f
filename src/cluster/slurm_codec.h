// The one place that knows how the versions of slurmrestd write things: v0.0.36 to v0.0.38 as
// measured on Slurm 22.05, v0.0.40 to v0.0.42 on 24.11 (numbers become {set, infinite, number},
// states and environment lists, exit codes objects), v0.0.39 and v0.0.43 as documented.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cluster/cluster.h"

namespace cigri::cluster {

/// "v0.0.38" -> 38; nothing when it is no version of the API.
std::optional<int> SlurmApiVersion(const std::string& text);
inline constexpr int kOldestSlurmApi = 36, kNewestSlurmApi = 43;
/// Whether the version was tried on a real Slurm.
bool SlurmApiTried(int version);
/// The versions that the paths of an OpenAPI document offer and that we do not know: "v0.0.44".
std::vector<std::string> UnknownSlurmApis(const std::string& openapi);

/// What a submission says, before it is written for a version.
struct SlurmRequest {
  std::string script, tag, array, partition, account, qos, constraints;
  /// v0.0.40 and later, epoch s: the jobs wait for this time in place of a hold. Slurm 24.11 takes
  /// held jobs unseen, and refuses those that wait for a time when they can never run.
  std::int64_t begin_at = 0;
  std::string signal;  ///< sent to the script of each job so long before it is killed, "" = none
  int signal_before_s = 0;
  int walltime_s = 0, nodes = 1, tasks = 1, cpus_per_task = 1, mem_mb = 0, gpus = 0;
  std::vector<std::string> excluded_nodes, required_nodes;
};
/// Whether a submission may ask for a signal to the script of a job. Slurm 22.05 has it, and its
/// API refuses it.
bool SlurmApiSignals(int version);
/// The body of POST job/submit.
nlohmann::json WriteSlurmRequest(const SlurmRequest& request, int version);
/// The body of POST job/ID that lets the jobs start.
nlohmann::json WriteSlurmRelease(int version);
/// A job that begins this long after its submission waits for our release.
inline constexpr std::int64_t kSlurmHoldSeconds = std::int64_t{365} * 86400;

/// One record of GET job/ID or /jobs, of slurmctld or of slurmdbd.
struct SlurmRecord {
  std::int64_t job_id = 0, array_job_id = 0;
  std::optional<int> task;  ///< nothing: a plain job, or the part of an array not yet started
  std::string task_string;  ///< "16-20": which part; cut at 64 characters with "..."
  std::string name, comment, user, state, reason, node, partition;
  int wait_status = 0;
  bool exit_known = true;  ///< slurmdbd's REST forgets exit codes that are not 0
  double submitted_at = 0, eligible_at = 0, started_at = 0, ended_at = 0;
};
/// Reads the `jobs` of an answer with simdjson; bad UTF-8 (any user's job name) is replaced first.
/// Throws CallFailed(kGarbage) naming `what`.
std::vector<SlurmRecord> ParseSlurmJobs(const std::string& what, std::string body);

/// "1,3,5-7,9-13:2%4" -> the numbers; `cut` tells whether it ended in "...".
std::set<int> ParseTaskString(const std::string& text, bool* cut);

bool SlurmEnded(const std::string& state);
/// Whether it has begun, and not ended.
bool SlurmRuns(const SlurmRecord& record);
/// Fills state, cause, times, node and words of `job`.
void FillFromSlurmRecord(RemoteJob* job, const SlurmRecord& record);

/// What the `errors` of an answer say: the first that has a number, else the first words.
struct SlurmError {
  int number = 0;
  std::string text;
  bool any = false;
};
SlurmError SlurmErrorOf(const std::string& body);
/// The same of the jobs in the `status` of a DELETE, which is 200 whatever became of them, by what
/// it names: "19_2", "19".
std::map<std::string, SlurmError> SlurmDeletionErrors(const std::string& body);

}  // namespace cigri::cluster
