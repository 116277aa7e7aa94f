// Classifies the end of a job: whose failure it is, what it costs the task, and what the task does
// next. Pure functions (docs/design.md section 8, docs/states.md).
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "cluster/cluster.h"
#include "core/retry.h"
#include "core/states.h"

namespace cigri::updator {

/// The active error class that an end matches (table `error_classes`).
struct ErrorClass {
  std::string name, title;
  std::optional<ExitClass> exit_class;  ///< nothing: as the grid classifies the end
  bool cluster_fault = false;
  RetryAction action = RetryAction::kRetry;
  int n = 3;            ///< of limit: most such ends; of more_*: how often a task may grow
  double factor = 1.5;  ///< of more_*
};

/// What is known when a job has ended.
struct EndInfo {
  cluster::EndCause cause = cluster::EndCause::kExited;
  std::optional<int> wait_status;
  BatchKind kind = BatchKind::kTask;
  std::string kill_reason;  ///< of table `kills`; "" when the grid did not ask for the end
  bool test_campaign = false;
  bool other_clusters = false;  ///< the campaign names more clusters than this one
  int max_tries = 2;
  // What the task had used up before this end (table `tries`).
  int program = 0, user_requeues = 0, infrastructure = 0, preemption = 0, our_kill = 0;
  int uncharged_here = 0;
  double walltime_x = 1, memory_x = 1;  ///< what it had, of what the campaign asks for
  /// With `walltime: auto`: what it had, where that was less than the campaign allows.
  std::optional<int> auto_walltime_s = {};
  bool verified = false;                ///< a job of the campaign has succeeded on this cluster
  bool has_mem = false;                 ///< the campaign asks for an amount of memory
  bool auto_mem = false;                ///< ... and leaves it to the grid which
  bool moves_files = false;             ///< the campaign has inputs or outputs
  bool checkpoint = false;              ///< its tasks save their work when they are asked to
  std::string message = {};             ///< of the failure, for the rules
  std::optional<ErrorClass> error_class = {};
  RetrySettings retry = {};  ///< of the JDL
};

/// What a task does after one of its jobs has ended.
enum class NextStep {
  kNothing,        ///< it succeeded, or the job belonged to no task
  kRetryFront,     ///< it is retried before tasks that were never sent
  kRetryBack,      ///< it is retried after them (exit code 67)
  kNeedsAttention  ///< its tries are used up: it waits for its user
};

struct ExitInfo {
  bool success = false;
  ExitClass exit_class = ExitClass::kNone;
  bool stay_here = false;     ///< it goes on where its checkpoint lies, if it can
  bool user_requeue = false;  ///< exit codes 66 and 67, which have a limit of their own
  std::string code;           ///< event code, "" for a success
  NextStep next = NextStep::kNothing;
  bool avoid_here = false;  ///< the task avoids this cluster while another one will take it
  double delay_s = 0;       ///< seconds before the task may be retried
  double walltime_x = 1, memory_x = 1;  ///< by how much more its next job gets
  std::optional<int> least_walltime_s = {};  ///< of its next job
  bool cluster_fault = false;           ///< the cluster's operator is notified
  std::string fault_title = {};         ///< with cluster_fault: what is wrong there
};

constexpr int kMostUserRequeues = 10;    ///< ends with exit code 66 or 67 that a task may have
constexpr int kMostUnchargedHere = 20;   ///< uncharged ends on one cluster before it is avoided
constexpr int kMostInfrastructure = 60;  ///< such ends in all before the user is asked
constexpr int kMostPreemption = 1000;    ///< and these
constexpr int kMostOurKills = 1000;      ///< and these

ExitInfo ClassifyExit(const EndInfo& end);

/// Whether an end is a success, which `end` alone decides: exit code 0, seen by the cluster.
bool Succeeded(cluster::EndCause cause, std::optional<int> wait_status);

/// "exit code 3", "signal 9 (Killed)": for messages.
std::string WaitStatusText(int wait_status);

/// What a failed job found missing on its cluster, "" when it was something else. `verified`: a
/// job of the campaign has succeeded there, so exit codes 126 and 127 are the program's own.
/// The text does not name the cluster: the same failure on several clusters is shown as one.
std::string MissingOnCluster(cluster::EndCause cause, std::optional<int> wait_status, bool verified,
                             const std::string& program, const std::string& directory);

/// The message of a failure for its user: what was missing, how the job ended, and the cluster's
/// own words. At most 2000 bytes of valid UTF-8 without NUL.
std::string FailureMessage(const cluster::RemoteJob& job, const std::string& kill_detail,
                           const std::string& missing);

/// Failures with one fingerprint are one event with a count. Digits in a message are left out:
/// line numbers and paths differ between jobs. The digits of an exit code stay.
std::string FailureFingerprint(const std::string& code, const std::string& message);

}  // namespace cigri::updator
