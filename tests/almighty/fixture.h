// A folder of programs that stand for a whole grid, and almighties that run on them.
#pragma once
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/text.h"
#include "embedded/process.h"
#include "process/spawn.h"
#include "tests/support/await.h"
#include "tests/support/pg.h"

namespace cigri::test {

/// Whether `pid` still runs. A zombie, which kill(pid, 0) still finds, does not.
inline bool Alive(pid_t pid) {
  const process::Fd process = process::PidFd(pid);
  pollfd fd{process.get(), POLLIN, 0};
  return process && poll(&fd, 1, 0) == 0;
}

/// Copies (hard links where possible) of the fake under every name, and of real programs.
class BinFolder {
 public:
  explicit BinFolder(const std::vector<std::string>& real)
      : dir_("/tmp/cigri-bin-" + RandomHex(6)) {
    namespace fs = std::filesystem;
    fs::create_directories(dir_);
    fs::create_directories(dir_ + "/run");
    for (const char* name : {"updator", "predictor", "metascheduler", "runner", "nikita",
                             "notifier", "api", "localcluster", "cigri-job"})
      Place(FAKE_MODULE, name);
    for (const auto& name : real) Place(std::string(CIGRI_BIN_DIR) + "/" + name, name);
  }
  ~BinFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(dir_, ignored);
  }
  const std::string& dir() const { return dir_; }

 private:
  void Place(const std::string& from, const std::string& name) {
    std::error_code failed;
    std::filesystem::remove(dir_ + "/" + name, failed);  // a real program takes the fake's place
    std::filesystem::create_hard_link(from, dir_ + "/" + name, failed);
    if (failed) std::filesystem::copy_file(from, dir_ + "/" + name);
  }
  std::string dir_;
};

/// A process of the test; killed and reaped at its end.
class Running {
 public:
  explicit Running(const std::vector<std::string>& argv) : pid_(process::Spawn(argv, {})) {}
  Running(Running&& other) noexcept : pid_(std::exchange(other.pid_, 0)) {}
  ~Running() { Kill(SIGKILL); }
  pid_t pid() const { return pid_; }
  /// Ends it and waits for its end; its raw status.
  int Kill(int signal) {
    if (pid_ == 0) return 0;
    kill(pid_, signal);
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = 0;
    return status;
  }

 private:
  pid_t pid_;
};

}  // namespace cigri::test
