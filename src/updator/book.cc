#include "updator/book.h"

#include <sys/wait.h>

#include <algorithm>
#include <cstring>

namespace cigri::updator {
namespace {

using cluster::EndCause;

Booking Free(const EndFacts& f, Account account, const std::string& code) {
  Booking b;
  b.account = account;
  b.code = code;
  b.next = Next::kRetryFront;
  if (f.free + 1 >= kMostFree && f.kill_reason.empty()) {
    b.code = "TOO_MANY_FREE";
    b.next = Next::kToFix;
  }
  b.avoid_here = f.other_clusters && f.free_here + 1 >= kFreeHere;
  // A cluster that kills at once must not be fed as fast as it kills.
  b.delay_s = f.free_here < 3 ? 0 : std::min(60.0, 1.0 * f.free_here);
  return b;
}

Booking Charged(const EndFacts& f, const std::string& code) {
  const bool spent = f.program + 1 >= f.max_tries;
  Booking b;
  b.account = Account::kProgram;
  b.code = code;
  b.next = spent ? Next::kToFix : Next::kRetryFront;
  b.avoid_here = f.other_clusters;
  return b;
}

Booking Again(const EndFacts& f, int exit_code) {
  Booking b;
  b.account = Account::kProgram;
  b.again = true;
  b.code = exit_code == 66 ? "RESUBMIT" : "RESUBMIT_END";
  b.next = exit_code == 66 ? Next::kRetryFront : Next::kRetryBack;
  if (f.again + 1 > kMostAgain) {
    b.code = "TOO_MANY_AGAIN";
    b.next = Next::kToFix;
  }
  return b;
}

// Our own kills: free, and back to where tasks wait, unless a person or the walltime wanted it.
Booking OurKill(const EndFacts& f) {
  if (f.kill_reason == "walltime") return Charged(f, "WALLTIME");
  Booking b;
  b.account = Account::kOurKill;
  b.code = "KILLED_BY_GRID";
  b.next = Next::kRetryFront;
  if (f.kill_reason == "user") {
    b.code = "USER_FRAG";
    b.next = Next::kToFix;
  }
  if (f.kill_reason == "waiting_too_long" || f.kill_reason == "never_started")
    b.avoid_here = f.other_clusters;
  return b;
}

Booking ByCause(const EndFacts& f) {
  switch (f.cause) {
    case EndCause::kPreempted:
      return Free(f, Account::kPreemption, "PREEMPTED");
    case EndCause::kDeleted:
      return Free(f, Account::kInfrastructure, "FRAG_RESUBMIT");
    case EndCause::kNodeFailed:
      return Free(f, Account::kInfrastructure, "NODE_FAILED");
    case EndCause::kLaunchFailed:
      return Free(f, Account::kInfrastructure, "LAUNCH_FAILED");
    case EndCause::kUnknown:
      return Free(f, Account::kInfrastructure, "UNKNOWN_END");
    case EndCause::kWalltime:
      return Charged(f, "WALLTIME");
    case EndCause::kBadDirectory:
      return Charged(f, "WORKING_DIRECTORY_ERROR");
    case EndCause::kBadOutput:
      return Charged(f, "OUTPUT_ERROR");
    case EndCause::kExited:
      break;
  }
  if (!f.wait_status) return Free(f, Account::kInfrastructure, "UNKNOWN_END");
  const int exit_code = WIFEXITED(*f.wait_status) ? WEXITSTATUS(*f.wait_status) : -1;
  if (exit_code == 66 || exit_code == 67) return Again(f, exit_code);
  return Charged(f, exit_code < 0 ? "KILLED_BY_SIGNAL" : "EXIT_ERROR");
}

}  // namespace

Booking Book(const EndFacts& f) {
  // Exit 0 is a success, whoever was killing; but only an end by itself, never a guess.
  Booking b;
  b.success = f.cause == EndCause::kExited && f.wait_status == 0;
  if (b.success) return b;
  b = f.kill_reason.empty() ? ByCause(f) : OurKill(f);
  if (f.kind == BatchKind::kPrologue || f.kind == BatchKind::kEpilogue) b.next = Next::kNothing;
  // CIG-28: one job per cluster, never another try.
  if (f.test_campaign && b.next != Next::kNothing) b.next = Next::kToFix;
  return b;
}

std::string WaitStatusText(int status) {
  if (WIFEXITED(status)) return "exit code " + std::to_string(WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  const char* name = strsignal(signal);
  return "signal " + std::to_string(signal) + " (" + (name != nullptr ? name : "?") + ")";
}

}  // namespace cigri::updator
