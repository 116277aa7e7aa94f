// The errors a caller acts on, and the exit codes that tools and programs end with.
#pragma once
#include <stdexcept>
#include <string>

namespace cigri {

/// Exit codes: sysexits where one fits, CiGri's own 1 and 2 where scripts know them
/// (docs/design.md, interfaces).
enum ExitCode : int {
  kExitOk = 0,
  kExitNo = 1,            // answered, but no: a task failed under --wait, unknown campaign
  kExitUsage = 64,        // wrong options
  kExitBadInput = 65,     // bad JDL, bad parameters
  kExitUnavailable = 69,  // no API, no database
  kExitSoftware = 70,     // a bug
  kExitTryLater = 75,
  kExitNoPermission = 77,
  kExitConfig = 78,
};

/// An error that ends a program with `code`; `what()` is one line that says what could not be
/// done, to what, and why; `hint()` what would be right ("" when there is nothing to say).
class Fatal : public std::runtime_error {
 public:
  Fatal(ExitCode code, const std::string& message, std::string hint = "")
      : std::runtime_error(message), code_(code), hint_(std::move(hint)) {}
  ExitCode code() const { return code_; }
  const std::string& hint() const { return hint_; }

 private:
  ExitCode code_;
  std::string hint_;
};

/// Runs `body` as the main of program `name`: a Fatal or any other exception becomes
/// "name: message" (and "HINT: ...") on stderr and the truthful exit code. Ignores SIGPIPE.
int RunMain(const char* name, int (*body)(int, char**), int argc, char** argv);

}  // namespace cigri
