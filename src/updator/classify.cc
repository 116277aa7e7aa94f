#include "updator/classify.h"

#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstring>

#include "cluster/transfer.h"
#include "core/text.h"

namespace cigri::updator {
namespace {

using cluster::EndCause;

struct Budget {
  int spent, most;
};

// Each cause has its own budget: a task that the cluster preempts does not use up its user's tries.
Budget BudgetOf(const EndInfo& end, ExitClass exit_class) {
  switch (exit_class) {
    case ExitClass::kInfrastructure:
      return {end.infrastructure, end.retry.infrastructure.value_or(kMostInfrastructure)};
    case ExitClass::kPreemption:
      return {end.preemption, end.retry.preemption.value_or(kMostPreemption)};
    case ExitClass::kOurKill:
      return {end.our_kill, end.retry.our_kill.value_or(kMostOurKills)};
    default:
      return {end.program, end.max_tries};
  }
}

bool Spent(const Budget& budget) { return budget.spent + 1 >= budget.most; }

// The program is not to blame: the task loses no try.
ExitInfo Uncharged(const EndInfo& end, ExitClass exit_class, const std::string& code) {
  ExitInfo out;
  out.exit_class = exit_class;
  out.code = code;
  out.next = NextStep::kRetryFront;
  if (Spent(BudgetOf(end, exit_class))) {
    out.code = "TOO_MANY_UNCHARGED";
    out.next = NextStep::kNeedsAttention;
  }
  if (exit_class == ExitClass::kOurKill) return out;
  out.avoid_here = end.other_clusters && end.uncharged_here + 1 >= kMostUnchargedHere;
  // A cluster that kills jobs at once must not get new ones as fast as it kills them.
  out.delay_s = end.uncharged_here < 3 ? 0 : std::min(60.0, 1.0 * end.uncharged_here);
  return out;
}

ExitInfo Charged(const EndInfo& end, const std::string& code) {
  ExitInfo out;
  out.exit_class = ExitClass::kProgram;
  out.code = code;
  out.next =
      Spent(BudgetOf(end, out.exit_class)) ? NextStep::kNeedsAttention : NextStep::kRetryFront;
  out.avoid_here = end.other_clusters;
  return out;
}

// A directory or an output file that jobs of the campaign have used on this cluster before: it was
// the cluster that lost it.
ExitInfo LostOrMissing(const EndInfo& end, const std::string& code) {
  if (!end.verified) return Charged(end, code);
  ExitInfo out = Uncharged(end, ExitClass::kInfrastructure, code);
  out.cluster_fault = true;
  out.fault_title = "a folder that jobs have used before is not there";
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

// Twice as much, in powers of two: tasks that have grown share submissions.
int NextWalltime(int had_s) {
  int next = 30;
  while (next < 2LL * had_s && next < 1 << 29) next *= 2;
  return next;
}

// A task that saves its work goes on in its next job. A walltime that the grid had chosen is no
// fault of the task.
ExitInfo OverWalltime(const EndInfo& end) {
  if (!end.checkpoint && !end.auto_walltime_s) return Charged(end, "WALLTIME");
  ExitInfo out = Uncharged(end, ExitClass::kOurKill, "WALLTIME");
  if (end.auto_walltime_s) out.least_walltime_s = NextWalltime(*end.auto_walltime_s);
  return out;
}

// The grid killed the job. The task loses no try and is retried, unless its user asked for the
// kill or the job had used up its walltime.
ExitInfo KilledByGrid(const EndInfo& end) {
  if (end.kill_reason == "walltime" && end.cause != EndCause::kNotBegun)
    return OverWalltime(end);
  ExitInfo out = Uncharged(end, ExitClass::kOurKill, "KILLED_BY_GRID");
  if (end.kill_reason == "user") {
    out.code = "USER_FRAG";
    out.next = NextStep::kNeedsAttention;
  }
  if (end.kill_reason == "waiting_too_long" || end.kill_reason == "never_started")
    out.avoid_here = end.other_clusters;
  return out;
}

// Its folder for output cannot be written, a node starts nothing; a store that does not answer, a
// checksum that is wrong: not the program's failure, and something for the cluster's operator.
ExitInfo ClusterFault(const EndInfo& end, const char* code, const char* title) {
  ExitInfo out = Uncharged(end, ExitClass::kInfrastructure, code);
  out.cluster_fault = true;
  out.fault_title = title;
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
    case EndCause::kNotBegun:
      return Uncharged(end, ExitClass::kOurKill, "KILLED_BY_GRID");
    case EndCause::kLaunchFailed:
      return ClusterFault(end, "LAUNCH_FAILED", "jobs cannot be started");
    case EndCause::kUnknown:
      return Uncharged(end, ExitClass::kInfrastructure, "UNKNOWN_END");
    case EndCause::kWalltime:
      return OverWalltime(end);
    case EndCause::kBadDirectory:
      return LostOrMissing(end, "WORKING_DIRECTORY_ERROR");
    case EndCause::kBadOutput:
      return LostOrMissing(end, "OUTPUT_ERROR");
    case EndCause::kExited:
      break;
  }
  if (!end.wait_status) return Uncharged(end, ExitClass::kInfrastructure, "UNKNOWN_END");
  const int exit_code = WIFEXITED(*end.wait_status) ? WEXITSTATUS(*end.wait_status) : -1;
  if (exit_code == 66 || exit_code == 67) return UserRequeue(end, exit_code);
  if (end.moves_files && exit_code == cluster::kExitTransferFailed)
    return ClusterFault(end, "TRANSFER_FAILED", "inputs or outputs of jobs cannot be moved");
  if (end.moves_files && exit_code == cluster::kExitInputMissing)
    return Charged(end, "INPUT_MISSING");
  if (end.moves_files && exit_code == cluster::kExitOutputMissing)
    return Charged(end, "OUTPUT_MISSING");
  return Charged(end, exit_code < 0 ? "KILLED_BY_SIGNAL" : "EXIT_ERROR");
}

std::string ExitCodeText(std::optional<int> status) {
  if (!status) return "";
  return WIFEXITED(*status) ? std::to_string(WEXITSTATUS(*status))
                            : "signal " + std::to_string(WTERMSIG(*status));
}

// Whether a task that has grown to `x` may grow once more.
bool MayGrow(double x, const ErrorClass& rule) {
  return std::lround(std::log(x) / std::log(rule.factor)) < rule.n;
}

void Grow(double& x, const ErrorClass& rule, ExitInfo& out) {
  x = rule.factor;
  out.next = NextStep::kRetryFront;
  out.avoid_here = false;
}

// `rule`: an error class, or a rule of the JDL as one.
void Apply(const EndInfo& end, const ErrorClass& rule, ExitInfo& out) {
  switch (rule.action) {
    case RetryAction::kRetry:
      break;
    case RetryAction::kRetryElsewhere:
      out.avoid_here = end.other_clusters;
      break;
    case RetryAction::kMoreWalltime:
      if (MayGrow(end.walltime_x, rule)) Grow(out.walltime_x, rule, out);
      break;
    case RetryAction::kMoreMemory:
      if (end.has_mem && MayGrow(end.memory_x, rule)) Grow(out.memory_x, rule, out);
      break;
    case RetryAction::kLimit:
      out.next = Spent({BudgetOf(end, out.exit_class).spent, rule.n}) ? NextStep::kNeedsAttention
                                                                      : NextStep::kRetryFront;
      break;
    case RetryAction::kStop:
      out.next = NextStep::kNeedsAttention;
      break;
  }
}

// What operators say of such ends, then what the user says; the user's word is the last.
ExitInfo ByRules(const EndInfo& end, ExitInfo out) {
  const std::string code = out.code;
  if (const auto& known = end.error_class) {
    const auto exit_class = known->exit_class.value_or(out.exit_class);
    if (exit_class != out.exit_class)
      out =
          exit_class == ExitClass::kProgram ? Charged(end, code) : Uncharged(end, exit_class, code);
    out.cluster_fault = known->cluster_fault;
    out.fault_title = known->title;
    Apply(end, *known, out);
  }
  // The kernel kills with KILL what takes too much memory, and leaves no other word.
  if (end.auto_mem && !end.error_class && end.cause == EndCause::kExited &&
      end.wait_status == SIGKILL)
    Apply(end, {.name = {}, .title = {}, .exit_class = {}, .action = RetryAction::kMoreMemory},
          out);
  const FailedEnd failed{ExitCodeText(end.wait_status), code, std::string(ToString(out.exit_class)),
                         end.message};
  for (const auto& rule : end.retry.rules) {
    if (!Matches(rule, failed)) continue;
    Apply(end, {.name = {}, .title = {}, .exit_class = {}, .action = rule.action}, out);
    break;
  }
  return out;
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
  if (out.exit_class != ExitClass::kOurKill && !out.user_requeue) out = ByRules(end, out);
  const bool saved = out.exit_class == ExitClass::kPreemption || out.code == "WALLTIME";
  if (end.checkpoint && saved) {
    out.stay_here = end.other_clusters;
    out.avoid_here = false;
  }
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
  if (text.empty() && job.cause == EndCause::kWalltime) text = "its walltime was over";
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
