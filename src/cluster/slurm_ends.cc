// What Slurm's states mean, live and ended.
#include <csignal>

#include "cluster/job_record.h"
#include "cluster/slurm_codec.h"
#include "core/text.h"

namespace cigri::cluster {

bool SlurmEnded(const std::string& state) {
  for (const char* live : {"PENDING", "RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING",
                           "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "RESIZING", "SIGNALING",
                           "STAGE_OUT", "STOPPED", "SPECIAL_EXIT", "RESV_DEL_HOLD", ""})
    if (state == live) return false;
  return true;
}

namespace {

bool WaitsForRelease(const SlurmRecord& r) {
  return r.submitted_at > 0 &&
         r.eligible_at - r.submitted_at > static_cast<double>(kSlurmHoldSeconds) / 2;
}

RemoteState LiveState(const SlurmRecord& r) {
  // Our own hold. An array that could not be launched is held by Slurm (JobHeldAdmin): that is no
  // hold of ours, and waits for an operator.
  if (r.state == "PENDING" && (r.reason == "JobHeldUser" || WaitsForRelease(r)))
    return RemoteState::kHeld;
  for (const char* waiting : {"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED",
                              "SPECIAL_EXIT", "RESV_DEL_HOLD"})
    if (r.state == waiting) return RemoteState::kWaiting;
  return RemoteState::kRunning;
}

constexpr struct {
  const char* state;
  EndCause cause;
} kEnds[] = {{"TIMEOUT", EndCause::kWalltime},          {"DEADLINE", EndCause::kWalltime},
             {"CANCELLED", EndCause::kDeleted},         {"PREEMPTED", EndCause::kPreempted},
             {"NODE_FAIL", EndCause::kNodeFailed},      {"BOOT_FAIL", EndCause::kNodeFailed},
             {"LAUNCH_FAILED", EndCause::kLaunchFailed}};

// "Signal 53": slurmstepd could not open the output file.
constexpr int kOutputSignal = 53;

void FillFailed(RemoteJob* job, const SlurmRecord& r) {
  if (!r.exit_known) {
    job->cause = EndCause::kUnknown;
    job->message = "Slurm says FAILED, and its accounting no longer tells the exit code";
  } else if ((r.wait_status & 127) == kOutputSignal) {
    job->cause = EndCause::kBadOutput;
  } else if (r.wait_status == 0) {
    job->cause = EndCause::kLaunchFailed;
  } else {
    EndByScript(job, r.wait_status);
  }
}

void FillEnd(RemoteJob* job, const SlurmRecord& r) {
  job->state = RemoteState::kEnded;
  job->message = r.reason == "None" ? "" : r.reason;
  if (r.state == "COMPLETED") {
    EndByScript(job, 0);
  } else if (r.state == "FAILED") {
    FillFailed(job, r);
  } else if (r.state == "OUT_OF_MEMORY") {
    EndByScript(job, r.wait_status == 0 ? SIGKILL : r.wait_status);
    job->message = "killed: it used more memory than it had asked for";
  } else {
    job->cause = EndCause::kUnknown;
    // "CANCELLED by 1000" in some versions.
    for (const auto& [state, cause] : kEnds)
      if (StartsWith(r.state, state)) job->cause = cause;
    if (job->cause == EndCause::kUnknown) job->message = "Slurm says " + r.state;
  }
}

}  // namespace

bool SlurmRuns(const SlurmRecord& record) {
  return !SlurmEnded(record.state) && LiveState(record) == RemoteState::kRunning;
}

void FillFromSlurmRecord(RemoteJob* job, const SlurmRecord& r) {
  job->submitted_at = r.submitted_at;
  if (!SlurmEnded(r.state)) {
    job->state = LiveState(r);
    // For a pending job start_time may be a forecast, for a running one end_time is its limit.
    if (job->state == RemoteState::kRunning) job->started_at = r.started_at;
    if (job->state == RemoteState::kRunning) job->node = r.node;
    if (job->state != RemoteState::kRunning && r.reason != "None") job->message = r.reason;
    return;
  }
  job->started_at = r.started_at;
  job->ended_at = r.ended_at;
  job->node = r.node == "None assigned" ? "" : r.node;
  FillEnd(job, r);
}

}  // namespace cigri::cluster
