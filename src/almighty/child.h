// A program that the almighty keeps running.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "almighty/decide.h"
#include "module/lines.h"
#include "process/spawn.h"

namespace cigri::almighty {

/// One child process after another, of the same program. A child dies with its parent.
class Child {
 public:
  /// `steps`: it speaks the protocol of module::Run on stdin and stdout; else it is a daemon.
  /// `environment`: lines NAME=value that it gets besides ours.
  Child(std::string name, std::vector<std::string> argv, bool steps,
        process::Environment environment = {});

  const std::string& name() const { return name_; }
  bool steps() const { return steps_; }
  bool alive() const { return pid_ > 0; }
  pid_t pid() const { return pid_; }
  int pid_fd() const { return ended_.get(); }
  module::LineReader& out() { return out_; }
  /// When it is to be started (again).
  Time start_at() const { return start_at_; }

  /// Starts it; false when that was not possible (`why`), then start_at() is later.
  bool Start(Time now, std::string* why);
  /// Why its process will exit, in its own words.
  void Said(std::string why) { said_ = std::move(why); }
  /// Reaps its process, which has exited; says why: what it has said, else "exit code 3" or
  /// "signal 9". Sets start_at(): now, but later each time when it exits again and again within a
  /// second.
  std::string Reap(Time now);
  void Step(std::int64_t number);
  /// Asks it to exit: closes its stdin and sends SIGTERM.
  void Stop();
  void Kill();
  /// Kills it when its process has been stopped (SIGSTOP) for kStopped: it would hold up the grid
  /// until somebody looks. To be called each kLookEvery. True: it was killed.
  bool KillStopped(Time now);
  static constexpr std::chrono::milliseconds kStopped{1000}, kLookEvery{1000};

 private:
  void Postpone(Time now);
  std::string name_;
  std::vector<std::string> argv_;
  bool steps_;
  process::Environment environment_;
  pid_t pid_ = 0;
  process::Fd ended_, in_, out_fd_;
  module::LineReader out_;
  std::string said_;
  Time started_{}, start_at_{};
  std::optional<Time> stopped_at_;  // seen so first
  int deaths_ = 0;                  // within a second of their start, in a row
};

/// Whether a process has been stopped (SIGSTOP). A debugger's stop is left to it.
bool IsStopped(pid_t pid);
/// Whether the process behind the descriptor `pid_fd` has ended.
bool HasEnded(int pid_fd);
/// Asks all of them to exit, kills after 5 s those that have not, and reaps them.
void StopAll(std::vector<Child>& children);

}  // namespace cigri::almighty
