// Starting programs: children that are watched, commands that are waited for, daemons that stay.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace cigri::embedded {

/// A descriptor that is closed when it goes.
class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Fd& operator=(Fd&& other) noexcept;
  ~Fd() { Close(); }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void Close();

 private:
  int fd_;
};

/// What a new process gets for 0, 1 and 2; -1: ours. Nothing else is inherited; signals are reset.
struct SpawnOptions {
  int in = -1, out = -1, err = -1;
  bool die_with_parent = false;  ///< SIGKILL when the thread that started it ends
};

/// Starts `argv` (argv[0] is a path, or a name looked up in PATH). Throws std::runtime_error with
/// the reason when it cannot be started. The caller reaps it.
pid_t Spawn(const std::vector<std::string>& argv, const SpawnOptions& options);
/// A descriptor that polls readable when the process ends.
Fd PidFd(pid_t pid);
/// Starts a daemon: own session, no parent to wait for it, stdin from /dev/null, stdout and stderr
/// to the end of `log` ("": ours).
void SpawnDaemon(const std::vector<std::string>& argv, const std::string& log);

struct CommandResult {
  int code = 0;        ///< exit code; 128 + signal; -1: not ended in time (killed)
  std::string output;  ///< stdout and stderr, at most 64 kB
};
/// Runs a command to its end, from "/", with stdin from /dev/null.
CommandResult RunCommand(const std::vector<std::string>& argv, std::chrono::milliseconds limit);

/// The folder of the running program, where its siblings are.
std::string OwnFolder();

/// An exclusive flock on `path` (made when absent). `wait`: how long; an empty Fd when not got.
Fd LockFile(const std::string& path, std::chrono::milliseconds wait);

}  // namespace cigri::embedded
