#include "updator/classify.h"

#include <sys/wait.h>

#include <algorithm>
#include <cstring>

#include "core/text.h"

namespace cigri::updator {
namespace {

using cluster::EndCause;

// The program is not to blame: the task loses no try.
ExitInfo Uncharged(const EndInfo& end, ExitClass exit_class, const std::string& code) {
  ExitInfo out;
  out.exit_class = exit_class;
  out.code = code;
  out.next = NextStep::kRetryFront;
  if (end.uncharged + 1 >= kMostUncharged && end.kill_reason.empty()) {
    out.code = "TOO_MANY_UNCHARGED";
    out.next = NextStep::kNeedsAttention;
  }
  out.avoid_here = end.other_clusters && end.uncharged_here + 1 >= kMostUnchargedHere;
  // A cluster that kills jobs at once must not get new ones as fast as it kills them.
  out.delay_s = end.uncharged_here < 3 ? 0 : std::min(60.0, 1.0 * end.uncharged_here);
  return out;
}

ExitInfo Charged(const EndInfo& end, const std::string& code) {
  const bool spent = end.program + 1 >= end.max_tries;
  ExitInfo out;
  out.exit_class = ExitClass::kProgram;
  out.code = code;
  out.next = spent ? NextStep::kNeedsAttention : NextStep::kRetryFront;
  out.avoid_here = end.other_clusters;
  return out;
}

ExitInfo UserRequeue(const EndInfo& end, int exit_code) {
  ExitInfo out;
  out.exit_class = ExitClass::kProgram;
  out.user_requeue = true;
  out.code = exit_code == 66 ? "RESUBMIT" : "RESUBMIT_END";
  out.next = exit_code == 66 ? NextStep::kRetryFront : NextStep::kRetryBack;
  if (end.user_requeues + 1 > kMostUserRequeues) {
    out.code = "TOO_MANY_REQUEUES";
    out.next = NextStep::kNeedsAttention;
  }
  return out;
}

// The grid killed the job. The task loses no try and is retried, unless its user asked for the
// kill or the job had used up its walltime.
ExitInfo KilledByGrid(const EndInfo& end) {
  if (end.kill_reason == "walltime") return Charged(end, "WALLTIME");
  ExitInfo out;
  out.exit_class = ExitClass::kOurKill;
  out.code = "KILLED_BY_GRID";
  out.next = NextStep::kRetryFront;
  if (end.kill_reason == "user") {
    out.code = "USER_FRAG";
    out.next = NextStep::kNeedsAttention;
  }
  if (end.kill_reason == "waiting_too_long" || end.kill_reason == "never_started")
    out.avoid_here = end.other_clusters;
  return out;
}

ExitInfo ByCause(const EndInfo& end) {
  switch (end.cause) {
    case EndCause::kPreempted:
      return Uncharged(end, ExitClass::kPreemption, "PREEMPTED");
    case EndCause::kDeleted:
      return Uncharged(end, ExitClass::kInfrastructure, "FRAG_RESUBMIT");
    case EndCause::kNodeFailed:
      return Uncharged(end, ExitClass::kInfrastructure, "NODE_FAILED");
    case EndCause::kLaunchFailed:
      return Uncharged(end, ExitClass::kInfrastructure, "LAUNCH_FAILED");
    case EndCause::kUnknown:
      return Uncharged(end, ExitClass::kInfrastructure, "UNKNOWN_END");
    case EndCause::kWalltime:
      return Charged(end, "WALLTIME");
    case EndCause::kBadDirectory:
      return Charged(end, "WORKING_DIRECTORY_ERROR");
    case EndCause::kBadOutput:
      return Charged(end, "OUTPUT_ERROR");
    case EndCause::kExited:
      break;
  }
  if (!end.wait_status) return Uncharged(end, ExitClass::kInfrastructure, "UNKNOWN_END");
  const int exit_code = WIFEXITED(*end.wait_status) ? WEXITSTATUS(*end.wait_status) : -1;
  if (exit_code == 66 || exit_code == 67) return UserRequeue(end, exit_code);
  return Charged(end, exit_code < 0 ? "KILLED_BY_SIGNAL" : "EXIT_ERROR");
}

}  // namespace

// A job that ended with exit code 0 has succeeded even if the grid was killing it. A job whose end
// nobody saw has not.
bool Succeeded(EndCause cause, std::optional<int> wait_status) {
  return cause == EndCause::kExited && wait_status == 0;
}

ExitInfo ClassifyExit(const EndInfo& end) {
  if (Succeeded(end.cause, end.wait_status)) return {.success = true};
  ExitInfo out = end.kill_reason.empty() ? ByCause(end) : KilledByGrid(end);
  if (end.kind == BatchKind::kPrologue || end.kind == BatchKind::kEpilogue)
    out.next = NextStep::kNothing;
  // CIG-28: a test campaign runs one job per cluster and retries none.
  if (end.test_campaign && out.next != NextStep::kNothing) out.next = NextStep::kNeedsAttention;
  return out;
}

std::string WaitStatusText(int status) {
  if (WIFEXITED(status)) return "exit code " + std::to_string(WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  const char* name = strsignal(signal);
  return "signal " + std::to_string(signal) + " (" + (name != nullptr ? name : "?") + ")";
}

std::string MissingOnCluster(EndCause cause, std::optional<int> wait_status, bool verified,
                             const std::string& program, const std::string& directory) {
  if (cause == EndCause::kBadDirectory) return "not on the cluster: " + directory;
  if (cause != EndCause::kExited || verified) return "";
  if (wait_status == 127 << 8) return "not on the cluster: " + program;
  if (wait_status == 126 << 8) return "not executable on the cluster: " + program;
  return "";
}

std::string FailureMessage(const cluster::RemoteJob& job, const std::string& kill_detail,
                           const std::string& missing) {
  std::string text = kill_detail;
  if (text.empty() && job.wait_status && job.cause == EndCause::kExited)
    text = WaitStatusText(*job.wait_status);
  if (!missing.empty()) text = missing + (text.empty() ? "" : ": " + text);
  if (!job.message.empty()) text += (text.empty() ? "" : ": ") + job.message;
  text = ValidUtf8(text.substr(0, 2000));
  std::erase(text, '\0');
  return text;
}

std::string FailureFingerprint(const std::string& code, const std::string& message) {
  const auto kept = code == "EXIT_ERROR" ? std::min<std::size_t>(message.find(':'), 300) : 0;
  std::string out = message.substr(0, kept);
  for (char c : message.substr(out.size(), 300))
    if (c < '0' || c > '9') out += c;
  return out;
}

}  // namespace cigri::updator
