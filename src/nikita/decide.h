// Which jobs are to be killed: the reasons, and the two that are decided here. No I/O.
#pragma once
#include <cstdint>
#include <vector>

namespace cigri::nikita {

/// A value of kills.reason, and who detects the jobs it applies to: a statement of
/// sql/queries/kills.sql that finds them as a set, or "Decide" below.
struct KillReason {
  const char* reason;
  const char* detector;
  const char* when;
};

inline constexpr const char* kExcessWaiting = "excess_waiting";
inline constexpr const char* kWaitingTooLong = "waiting_too_long";

/// All reasons. The updator derives the exit class of the job's end from them.
inline constexpr KillReason kKillReasons[] = {
    // reason              detector               when
    {"campaign_cancelled", "CollectKills", "its campaign is cancelled; epilogues go on"},
    {"campaign_over", "CollectKills", "a prologue of a campaign whose tasks have all ended"},
    {"task_done", "CollectKills", "another copy of its task has succeeded"},
    {"user", "CollectKills", "a user or operator asked to kill the job"},
    {"preempted_by_grid", "CollectKills", "the policy gives its slots to another campaign"},
    {"recalled", "CollectKills", "it is pending while another cluster has idle slots for it"},
    {"shared_job", "SpreadKills", "a task that shares its job with it is killed"},
    {"drain", "CollectDrainedJobs", "an operator drains its cluster with --kill"},
    {"walltime", "CollectOverWalltime", "it runs past its walltime and some slack"},
    {"never_started", "CollectNeverStarted", "its cluster says it runs, but it never started"},
    {kExcessWaiting, "Decide", "too many jobs are pending on its cluster"},
    {kWaitingTooLong, "Decide", "it is pending for too long and could run elsewhere"},
};

struct WaitingJob {
  std::int64_t job_id = 0;
  double age_s = 0;        ///< since its submission
  int allowed = 0;         ///< the predictor's for its campaign there; 0: not known yet
  bool elsewhere = false;  ///< another cluster could take its task
};

/// Jobs of ours that are pending in the queue of one cluster, whoever's they are.
struct PendingJobs {
  int keep = 1;         ///< jobs that a trim leaves (clusters.pending_kept)
  int timeout_s = 900;  ///< clusters.waiting_timeout_s
  std::vector<WaitingJob> newest_first{};
};

struct Trim {
  std::vector<std::int64_t> excess{};    ///< more than may wait (policy::ExcessPending)
  std::vector<std::int64_t> too_long{};  ///< waiting longer than the timeout
};

/// CIG-36. A task that can go nowhere else is not killed for waiting long.
Trim Decide(const PendingJobs& pending);

}  // namespace cigri::nikita
