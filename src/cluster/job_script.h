// What a remote job runs: a POSIX script around the element's command, the same on every kind of
// cluster that is driven through somebody else's batch scheduler (docs/clusters.md).
#pragma once
#include <string>

#include "cluster/cluster.h"

namespace cigri::cluster {

// Exit codes of the script itself, for what the schedulers would not notice: Slurm runs a job whose
// directory is missing in /tmp and calls it completed.
/// The command could not be decoded where the job runs. It has not begun.
inline constexpr int kExitCommandLost = 210;
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
  bool oar_signals = true;  ///< the same of OAR, which also says so: of OAR 2
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

}  // namespace cigri::cluster
