// What an embedded grid knows of the machine: CPUs it may use, and its own processes.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "embedded/home.h"

namespace cigri::embedded {

/// CPUs that this process may use: its affinity, and no more than the quota of its cgroup. At
/// least 1.
int UsableCpus();
/// Whether a quota of its cgroup, not the number of CPUs, is the limit.
bool HasCpuQuota();

struct Process {
  pid_t pid = 0, parent = 0;
  std::string name;     ///< of its program: "runner", "cigri-job"
  std::string command;  ///< its words
  double age_s = 0;
  std::int64_t pss_kb = 0;  ///< its share of memory; 0 when it may not be seen
  double cpu_s = 0;         ///< used since its start
};

/// The almighties, modules, api and local clusters of the grid in `home`, also one that is just
/// being started: programs of a grid with this CIGRI_HOME, of the home's owner, root or ourselves.
/// Zombies are not counted.
std::vector<Process> GridProcesses(const Home& home);
/// The cigri-job processes of its local clusters: one a running job.
std::vector<Process> JobProcesses(const Home& home);
/// Its private PostgreSQL with all its sessions.
std::vector<Process> PostgresProcesses(const Home& home);

/// Asks all of them to end (SIGTERM, with `why` queued to it: cigri-job reads that), waits, and
/// kills what is left after `grace_s`. Processes that `list` finds meanwhile are asked too. Returns
/// how many there were. Throws Fatal(kExitUnavailable) with what is left `kill_s` after that.
int EndAll(std::vector<Process> (*list)(const Home&), const Home& home, double grace_s, int why = 0,
           double kill_s = 20);

}  // namespace cigri::embedded
