// Daemons and commands of an embedded grid, and the locks of its processes.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "process/spawn.h"

namespace cigri::embedded {

/// Starts a daemon: own session, no parent to wait for it, stdin from /dev/null, stdout and stderr
/// to the end of `log` ("": ours).
void SpawnDaemon(const std::vector<std::string>& argv, const std::string& log);

struct CommandResult {
  int code = 0;        ///< exit code; 128 + signal; -1: not ended in time (killed)
  std::string output;  ///< stdout and stderr, at most 64 kB
};
/// Runs a command to its end, from "/", with stdin from /dev/null. `environment`: nothing: ours.
CommandResult RunCommand(const std::vector<std::string>& argv, std::chrono::milliseconds limit,
                         std::optional<process::Environment> environment = {});

/// The folder of the running program, where its siblings are.
std::string OwnFolder();
/// The folder of the daemons: OwnFolder() in a build tree, another one when they are installed.
std::string DaemonFolder();

/// An exclusive flock on `path` (made when absent). `wait`: how long; an empty Fd when not got.
process::Fd LockFile(const std::string& path, std::chrono::milliseconds wait);

}  // namespace cigri::embedded
