// What a remote job runs: a POSIX script around the element's command, the same on every kind of
// cluster that is driven through somebody else's batch scheduler (docs/clusters.md).
#pragma once
#include <string>

#include "cluster/cluster.h"

namespace cigri::cluster {

/// Exit codes of the script itself, for what the schedulers would not notice: Slurm runs a job
/// whose directory is missing in /tmp and calls it completed.
/// The program has ended after it was asked for a checkpoint, before its walltime or an eviction.
inline constexpr int kExitSavedBeforeWalltime = 211;
inline constexpr int kExitSavedBeforeEviction = 212;
inline constexpr int kExitBadDirectory = 213;
inline constexpr int kExitBadOutput = 214;
/// The cluster started the job twice, and the end of the first run is not known. This start ran
/// nothing.
inline constexpr int kExitStartedBefore = 215;

/// What differs between clusters, read from ClusterConfig::options.
struct ScriptSettings {
  /// Where jobs leave records and output; may begin with $HOME. Option "job_folder".
  std::string folder = "$HOME/.cigri";
  /// The shell that reads setup and command. Option "shell"; by default sh, and bash as a login
  /// shell where there are setup lines, because `module` is a function of login shells.
  std::string shell;
  bool records = true;  ///< leave an exit record. Option "records".
  enum class Kind { kOar, kSlurm, kGridEngine } kind = Kind::kOar;
  /// Whether the cluster sends the checkpoint signal before it kills a job. Else the script sees to
  /// it: before the walltime, and on Slurm also before an eviction.
  bool cluster_signals = false;
  static ScriptSettings From(const ClusterConfig& config, Kind kind);
};

/// The script of all jobs of `batch`. Its arguments are the words of one element.
std::string JobScript(const Batch& batch, const ScriptSettings& settings);

/// The arguments of each job of `batch`: the words of its elements, one job a line.
std::vector<std::string> JobArguments(const Batch& batch);

/// An element as six words, "INDEX JOB_ID TASK_INDEX ATTEMPT b|z DATA": only letters, digits and
/// +/=- so that no shell, API or file on the way has anything to expand, cut or recode.
std::string ElementArguments(const Element& element, int index);

/// `bytes` as gzip writes them, without a time or a name in them.
std::string Gzip(std::string_view bytes);

/// A value that may begin with $HOME, ${HOME} or ~ as one word of a shell: "$HOME"'/a b'.
std::string HomeWord(const std::string& path);

/// Below ScriptSettings::folder: where the job of `ref` leaves its record and its output, and the
/// file in which it leaves its measurements together with its neighbours.
std::string RecordPath(const RemoteRef& ref);
std::string MeasuredPath(const RemoteRef& ref);
std::string OutputPath(const RemoteRef& ref, Stream stream);

/// Below ScriptSettings::folder: what the job that runs the element `ref` and others has done.
std::string GroupPath(const RemoteRef& ref);

/// What a job's record says.
struct ExitRecord {
  int wait_status = 0;
  double started_at = 0, ended_at = 0;
  std::string node, remote_id;
  std::int64_t job_id = 0;
  Measured measured;
};
/// The record in `text`; nullopt when it is no complete record of job `ref`.
std::optional<ExitRecord> ParseExitRecord(std::string_view text, const RemoteRef& ref);

/// The measurements in `text`, of records or of MeasuredPath, by job.
std::map<std::int64_t, Measured> ParseMeasured(std::string_view text);

/// What a job that runs several elements, one after the other, has written of them. Its first
/// element is 0.
struct GroupLog {
  std::map<int, ExitRecord> ends;
  std::map<int, double> begun;  ///< when, also of those that have ended
  int last_begun = -1;
  bool empty() const { return begun.empty(); }
};
GroupLog ParseGroupLog(std::string_view text);
/// What became of the element `ref`, from what is known of its job (`whole`) and its log. `last`: no
/// element of that job comes after it.
RemoteJob InGroup(const RemoteJob& whole, const RemoteRef& ref, bool last, const GroupLog& log);

/// Fills the end of `job` from the wait status of its script: on its own, or one of the two above.
void EndByScript(RemoteJob* job, int wait_status);
/// Fills `job` from its record, when that is all there is. A job that TERM ended was ended by
/// somebody whom the record does not name: the cause is then unknown.
void EndByRecord(RemoteJob* job, const ExitRecord& record);

/// Whether a job's name is one of our tags: cigri.<campaign>.<grid id>.<random>. CiGri 3 calls its
/// jobs cigri.<campaign>.
bool IsTag(const std::string& name);

}  // namespace cigri::cluster
