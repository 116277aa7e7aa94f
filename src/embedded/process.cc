#include "embedded/process.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <limits>
#include <stdexcept>
#include <thread>

#include "process/run.h"

namespace cigri::embedded {
using Clock = std::chrono::steady_clock;
using process::Fd;
using std::chrono::milliseconds;

void SpawnDaemon(const std::vector<std::string>& argv, const std::string& log) {
  Fd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  Fd out;
  if (!log.empty()) {
    out = Fd(open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640));
    if (!out) throw std::runtime_error("cannot write " + log + ": " + strerror(errno));
  }
  std::vector<std::string> arguments{"setsid", "--fork"};
  arguments.insert(arguments.end(), argv.begin(), argv.end());
  process::SpawnOptions options;
  options.in = null.get();
  options.out = out ? out.get() : STDERR_FILENO;
  options.err = out.get();
  if (process::Reap(process::Spawn(arguments, options)) != 0)
    throw std::runtime_error("cannot start " + argv[0] + " as a daemon");
}

CommandResult RunCommand(const std::vector<std::string>& argv, milliseconds limit,
                         std::optional<process::Environment> environment) {
  process::Command command{.argv = argv};
  command.environment = std::move(environment);
  command.directory = "/";
  command.time_limit = limit;
  command.output_limit = std::numeric_limits<std::size_t>::max();
  command.errors = process::Errors::kWithOutput;
  command.own_group = false;
  const auto result = process::Run(command);
  if (result.outcome == process::Outcome::kNotStarted) throw std::runtime_error(result.why);
  const bool signalled = result.outcome == process::Outcome::kSignalled;
  const bool ended = signalled || result.outcome == process::Outcome::kExited;
  return {ended ? result.code + (signalled ? 128 : 0) : -1, result.out.substr(0, 65536)};
}

std::string OwnFolder() {
  char path[4096];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
  const std::string self(path, n > 0 ? static_cast<std::size_t>(n) : 0);
  return self.substr(0, self.rfind('/'));
}

std::string DaemonFolder() {
  const std::string own = OwnFolder(), installed = own + "/" CIGRI_PROGRAMS_TO_DAEMONS;
  const auto has_daemons = [](const std::string& folder) {
    return access((folder + "/almighty").c_str(), X_OK) == 0;
  };
  return !has_daemons(own) && has_daemons(installed) ? installed : own;
}

Fd LockFile(const std::string& path, milliseconds wait) {
  Fd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd) throw std::runtime_error("cannot open " + path + ": " + strerror(errno));
  const auto deadline = Clock::now() + wait;
  while (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (Clock::now() >= deadline) return Fd();
    std::this_thread::sleep_for(milliseconds(20));
  }
  return fd;
}

}  // namespace cigri::embedded
