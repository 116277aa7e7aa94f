// Classifies the end of a job: whose failure it is, what it costs the task, and what the task does
// next. Pure functions (docs/design.md section 8, docs/states.md).
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "cluster/cluster.h"
#include "core/states.h"

namespace cigri::updator {

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
  int program = 0, user_requeues = 0, uncharged = 0, uncharged_here = 0;
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
  bool user_requeue = false;  ///< exit codes 66 and 67, which have a limit of their own
  std::string code;           ///< event code, "" for a success
  NextStep next = NextStep::kNothing;
  bool avoid_here = false;  ///< the task avoids this cluster while another one will take it
  double delay_s = 0;       ///< seconds before the task may be retried
};

constexpr int kMostUserRequeues = 10;   ///< ends with exit code 66 or 67 that a task may have
constexpr int kMostUnchargedHere = 20;  ///< uncharged ends on one cluster before it is avoided
constexpr int kMostUncharged = 60;      ///< uncharged ends in all before the user is asked

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
