// What a cigri-job gets for a job: environment, node file, output files, descriptors.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "localcluster/job.h"
#include "localcluster/outputs.h"
#include "localcluster/wrappers.h"

namespace cigri::localcluster {

struct LauncherOptions {
  std::string cluster, state_dir;
  std::string output_dir;  ///< campaigns' output goes below it
  int grace_ms = 5000, nice = 10;
  std::vector<int> cpus;            ///< the CPU of each slot; none: jobs run on any
  std::int64_t max_file_mb = 1024;  ///< the largest file that a job may write; 0: any
};

class Launcher {
 public:
  /// Throws Fatal when cigri-job does not stand next to this program.
  explicit Launcher(LauncherOptions options);
  /// Starts `job` on the nodes `lines` (one a slot) and gives it its wrapper and the files of its
  /// output. `records_fd` and `birth_fd` become what protocol.h says. Throws LaunchError or
  /// TryLater.
  void Start(Job* job, const std::vector<std::string>& lines, int records_fd, int birth_fd);
  Outputs& outputs() { return outputs_; }
  Wrappers& wrappers() { return wrappers_; }
  /// The numbers of a job in its batch.
  struct Numbers {
    int index = 0, attempt = 1;
    std::int64_t job_id = 0, task_index = -1;
  };
  /// Path of a job's output without .out or .err. No two jobs have the same one, unless the grid
  /// gives the same campaign, task and attempt twice.
  std::string OutputStem(const Batch& batch, const Numbers& job) const;

 private:
  void MakeFolder(const std::string& path);
  std::string NodeFile(const std::vector<std::string>& lines);

  LauncherOptions options_;
  Wrappers wrappers_;
  Outputs outputs_;
  std::set<std::string> folders_;     // made already
  std::set<std::string> node_files_;  // written already
};

/// Kills what a job whose cigri-job is dead has left: its session, and whatever carries its id in
/// its environment. Returns when nothing is left, or after a second.
void KillRemains(pid_t wrapper, const std::string& id, const Account& account);

/// True when `pid` is the cigri-job of job `id`.
bool IsWrapperOf(pid_t pid, const std::string& id);

}  // namespace cigri::localcluster
