// Starts another program. No other folder includes Boost.Process.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace cigri::process {

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

using Environment = std::vector<std::string>;  ///< lines NAME=value

/// What a new process gets. It inherits no other descriptor, and its signals are at their defaults.
struct SpawnOptions {
  int in = -1, out = -1, err = -1;  ///< its descriptors 0, 1 and 2; -1: ours
  /// Its descriptors above these: its number, our number. No number of ours that comes later may be
  /// one of its own that comes earlier.
  std::vector<std::pair<int, int>> descriptors{};
  std::string program{};                     ///< the file to execute; "": argv[0] says it
  std::optional<Environment> environment{};  ///< nothing: ours
  std::string directory{};                   ///< where it starts; "": where we are
  bool own_group = false;                    ///< it leads a new process group
  bool own_session = false;                  ///< it leads a new session, and a group with it
  std::vector<int> blocked{};                ///< signals that it starts with blocked
  int death_signal = 0;  ///< it receives this when the thread that started it ends; 0: none
};

/// The program could not be started; `code()` holds the errno, `what()` is "cannot start P: why".
class StartError : public std::system_error {
 public:
  StartError(const std::string& program, std::error_code why)
      : std::system_error(why), message_("cannot start " + program + ": " + why.message()) {}
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::string message_;
};

/// Starts `argv` without a shell and returns its pid; the caller reaps it. argv[0] is a path, or a
/// name that is looked up in our PATH. The size of our own process does not slow it down (vfork).
/// Thread-safe. REQUIRES: !argv.empty(). Throws StartError.
pid_t Spawn(const std::vector<std::string>& argv, const SpawnOptions& options = {});

/// A descriptor that polls as readable when the process `pid` ends.
Fd PidFd(pid_t pid);

/// A file without a name, or nothing when there is no room for one. Who inherits it may open it again
/// by its number, also as another user.
Fd MemoryFile();

/// Waits for the end of our child `pid`; returns its wait status.
int Reap(pid_t pid);

}  // namespace cigri::process
