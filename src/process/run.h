// Runs another program to its end and tells what it wrote and how it ended.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "process/spawn.h"

namespace cigri::process {

/// Where the standard error of a program goes.
enum class Errors {
  kApart,       ///< to Result::err
  kWithOutput,  ///< to Result::out, in the order in which the program writes
  kOurs,        ///< to our own standard error
};

/// A program, what it gets and what it may use.
struct Command {
  std::vector<std::string> argv;             ///< as Spawn() takes it: no shell reads it
  std::string input{};                       ///< its whole standard input
  std::optional<Environment> environment{};  ///< nothing: ours
  std::string directory{};                   ///< where it starts; "": where we are
  std::chrono::milliseconds time_limit = std::chrono::seconds(60);
  std::size_t output_limit = 1 << 20;  ///< bytes of standard output; Run() kills at more
  std::size_t errors_kept = 16384;     ///< bytes of standard error; Run() drops what follows
  Errors errors = Errors::kApart;
  /// It leads a process group, which a limit kills as a whole. False: it is in ours, so that Ctrl-C
  /// ends it too, and a limit kills the program alone.
  bool own_group = true;
  bool own_session = false;  ///< it leads a session, and a group with it
};

enum class Outcome { kExited, kSignalled, kTimedOut, kOutputTooLong, kNotStarted };

struct Result {
  Outcome outcome = Outcome::kNotStarted;
  int code = 0;          ///< kExited: the exit code; kSignalled: the signal; else 0
  std::string out, err;  ///< what it wrote, also before it was killed
  std::string why{};     ///< kNotStarted: "cannot start PROGRAM: No such file or directory"
  bool Succeeded() const { return outcome == Outcome::kExited && code == 0; }
};

/// Runs `command` and waits for its end, or kills it when it passes its time limit or its output
/// limit. Its end is the end of the program itself: a process that it leaves behind goes on, and
/// what that one writes later is not read. Thread-safe; throws nothing but std::bad_alloc.
/// REQUIRES: !command.argv.empty().
Result Run(const Command& command);

/// "it exited with code 3", "it was killed by signal 9", "it did not end within 10 s", "it printed
/// more than 16384 bytes", or `why`.
std::string HowItEnded(const Command& command, const Result& result);

}  // namespace cigri::process
