// What a decision reads and what it says: plain values, no I/O, no clock. Both the metascheduler
// (which fills a Snapshot from PostgreSQL) and gridsim (which makes one up) use these.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/states.h"
#include "policy/config.h"

namespace cigri::policy {

/// In every limit of this file: nothing is limited.
inline constexpr int kNoLimit = -1;

/// Why a cluster gets nothing at all now.
enum class Unusable { kNo, kDisabled, kStale, kDrained, kHours, kBreaker, kStress };

/// Slots of ours that will be given back: `slots` of them at `at` (predicted). For backfill only.
struct Release {
  double at = 0;
  int slots = 0;
};

/// Slots of a cluster that not every job can use, counted on their own: its GPUs, or the slots with
/// certain properties. The slots of a cluster do not count them again.
struct ResourceClass {
  std::string name{};       ///< for messages: "GPUs", "slots with mem >= 64000"
  int total = 0, free = 0;  ///< units that exist; idle at the poll, as Cluster::free
};

/// The name of a class that no poll has counted yet.
inline constexpr char kNotCounted[] = "suitable slots (not yet counted)";

/// A cluster as its last poll showed it. Slots are resource units, jobs are ours alone.
struct Cluster {
  std::int64_t id = 0;
  std::string name{};
  int max = 0;      ///< slots that exist for the grid
  int free = 0;     ///< slots idle at the poll; launching and waiting jobs are not yet taken off
  int waiting = 0;  ///< our jobs in its queue...
  int waiting_slots = 0;
  int launching = 0;  ///< our jobs that the poll cannot have seen: unsent, in doubt, just submitted
  int launching_slots = 0;
  int running = 0;  ///< our jobs that run there
  int running_slots = 0;
  int waiting_allowed = 1;  ///< jobs that may wait there, of the campaign with the shortest ones
  double speed = 1;         ///< declared, corrected by what was measured (speed.h); faster is more
  double life_s = 0;        ///< mean run time of our jobs there for each kill, 0 = none
  ClusterMode mode = ClusterMode::kUnlimited;
  int limited = kNoLimit;      ///< the N of mode limited: most of our jobs in flight
  int max_running = kNoLimit;  ///< operator's ceiling on slots of our jobs in flight
  Unusable unusable = Unusable::kNo;
  std::string why{};  ///< the operator's reason, the age of the poll... for readers
  std::vector<Release> releases{};
  std::vector<ResourceClass> classes{};  ///< those that campaigns ask for, as far as known
};

enum class Prologue : std::uint8_t { kNone, kNeeded, kRunning, kDone, kFailed };

/// One campaign on one cluster. A cluster without a placement is not in the campaign's JDL.
struct Placement {
  double running_since = 0;  ///< sum of the starts of the running jobs (counters.sum_start)
  double job_ratio = 0;      ///< jobs per free slot, from the predictor; 0: 1 / slots
  double start_rate = 0;     ///< JDL: most starts a minute here, 0 = not limited
  std::string held{};        ///< event code or policy code that holds it, "" = open
  int cluster = 0;           ///< Cluster::id
  int slots = 1;             ///< what one job takes here, > 0
  int in_flight = 0;         ///< jobs launching, waiting or running here, replicas too
  int running = 0;
  int max_jobs = kNoLimit;  ///< JDL max_jobs: most in flight here
  /// Jobs of the campaign that may wait here if no other waits (flow.h); not known: kNoLimit.
  int waiting_allowed = kNoLimit;
  int avoid = 0;            ///< tasks of `retry` that must not go here again
  int bursts = 0;           ///< of kills by the cluster since its last success here (guard.h)
  bool verified = false;    ///< one job of the campaign has succeeded here (design: canary jobs)
  bool local = false;       ///< its data is there: prologue done, staged or a success before
  bool tested = false;      ///< type test: its job here was made (even if it has ended)
  Prologue prologue = Prologue::kNone;
  /// Which of Cluster::classes its jobs need, from 1; 0: any slots will do, or that is not known.
  std::uint16_t resource_class = 0;
  std::uint16_t class_units = 0;  ///< what one job takes of it; 0: as many as `slots`

  double mean_s = 0;  ///< mean duration of successes here, 0 = none
  double transfer_s = 0;  ///< of it, for inputs and outputs
  double median_s = 0;
  double recent_longest_s = 0;   ///< the longest of `recent`
  double killed_at = 0;          ///< begin of the last burst
  double median_survival_s = 0;  ///< how long jobs live here before such a kill, 0 = not known
  std::int64_t started = -1;     ///< jobs ever claimed here; -1 = not reported
  int affinity = 0;              ///< users_priority(user, cluster); > 0 is affine
  int single = 0;                ///< tasks whose only live copy is here (may be replicated)
  int overdue = 0;  ///< of `single`: run longer than StragglerThreshold() of forecast.h
  int tried = 0;    ///< until it is verified: jobs that have ended here, canary jobs too
  int recent = 0;   ///< latest successes in a row here, counted up to black_hole.count
  /// Part of the jobs here that run much longer than elsewhere, 0 = not known (stragglers.h)...
  float straggler_share = 0;
  float straggler_times = 0;  ///< ...and how many times the mean of their campaign
};

/// A campaign in treatment. Paused and cancelled ones appear while jobs of theirs are in flight
/// (these count against quotas and licences), with nothing waiting.
struct Campaign {
  std::int64_t id = 0;
  std::string user{}, project{};  ///< project "": of its user in the configuration, else none
  bool test = false;              ///< type test: one job per cluster, never retried
  bool active = true;             ///< false: paused, cancelled or over, with jobs in flight
  int priority = 4;               ///< 0..9, 0 = suspended
  double weight = 0;              ///< 0: from the priority
  std::string sla_group{};        ///< policy sla
  std::string cls{};              ///< class: "urgent", "scavenger" or one of the configuration's
  double submitted_at = 0;
  std::int64_t waiting = 0;    ///< tasks to claim now: fresh ones + retry rows whose time has come
  std::int64_t done = 0;       ///< tasks that ended well
  std::string scheduler{};     ///< JDL: its campaign scheduler, "" = the default
  bool replicas = false;       ///< asked for copies of its last and its overdue jobs (opt-in)
  double affinity_wait_s = 0;  ///< refuses clusters without its data for so long...
  double waiting_since = 0;    ///< ...counted from here: its oldest unserved request
  double need_s = 0;           ///< how long one of its jobs is known to take, 0 = not known
  double mean_s = 0;           ///< of its successes, for how much work is left; 0 = not known
  int walltime_s = 0;          ///< declared, 0 = not
  double min_duration_s = 0;   ///< a shorter success is not believed (CIG-11), 0 = not said
  std::int64_t after = 0;      ///< a campaign that has to end first, 0 = none
  std::int64_t after_failed = 0;  ///< one that had to end well and has not, 0 = none...
  int failed_tasks = 0;           ///< ...its failed tasks; 0: it was cancelled
  double not_before = 0;          ///< nothing is sent before this time
  double deadline = 0;            ///< its user wants it done by then, 0 = not said
  int max_jobs_total = kNoLimit;  ///< JDL: most in flight on all clusters together
  std::map<std::string, int> licences{};  ///< counted tokens that each job takes
  std::vector<Placement> placements{};
};

/// Slot-seconds used in [start, start + length) by jobs that have ended, whatever their outcome.
struct Usage {
  std::int64_t campaign = 0;
  std::string user{}, project{};
  double start = 0, length = 0;
  double slot_seconds = 0;
  std::int64_t jobs = 0;
};

/// One of our running jobs, a possible victim. Needed only when a preemption is switched on, and
/// then of each cluster at least the youngest thousand.
struct RunningJob {
  std::int64_t job = 0, campaign = 0, cluster = 0;
  int slots = 1;
  double started_at = 0;
  std::int64_t for_campaign = 0;  ///< already being cancelled for it; 0 = not
};

struct Snapshot {
  std::vector<Cluster> clusters{};
  std::vector<Campaign> campaigns{};
  std::vector<Usage> usage{};
  std::vector<RunningJob> running{};
  PolicyConfig config;
};

/// `n` jobs of a campaign may be claimed on a cluster in addition to what is in flight there.
struct Allocation {
  std::int64_t campaign = 0, cluster = 0;
  int n = 0;
  int rank = 0;  ///< 1 is claimed first on that cluster
  BatchKind kind = BatchKind::kTask;
  bool shadow = false;  ///< the cluster is only observed: show it, send nothing
};

/// One of our own running jobs to cancel; its task is retried without being charged (GRID-33).
struct Preempt {
  std::int64_t job = 0, campaign = 0, cluster = 0, for_campaign = 0;
  std::string code{};  ///< URGENT, SCAVENGER, SLA
  double value = 0;    ///< what made it the victim: the lowest (GRID-32)
  int slots = 1;
  double lost_s = 0;  ///< slot-seconds thrown away
};

/// A campaign that gets nothing more on a cluster until `until`; with an event for its user.
struct Hold {
  std::int64_t campaign = 0, cluster = 0;
  std::string code{};  ///< BLACK_HOLE
  double since = 0, until = 0;
  int requeue = 0;  ///< latest successes there that are not believed and are retried
};

/// `n` jobs of a campaign that wait in the queue of a cluster are taken back: idle slots of cluster
/// `to` (and others) would start them. A target: jobs that are being taken back already are among them.
struct Recall {
  std::int64_t campaign = 0, cluster = 0, to = 0;
  int n = 0;
  int waiting = 0;  ///< jobs of the campaign that wait in that queue
};

struct Plan {
  std::vector<Allocation> allocations{};
  std::vector<Preempt> preempt{};
  std::vector<Recall> recalls{};
  std::vector<Hold> holds{};  ///< new ones only; those that last are in the state
};

/// Stable codes: docs/policies.md lists them, tables store their words (ToString).
enum class Code : std::uint8_t {
  kNone,
  // the campaign
  kSuspended,
  kNoTask,
  kNoCluster,
  kTestDone,
  kBehindOwn,
  kAfter,
  kAfterFailed,
  kNotBefore,
  kMaxJobsTotal,
  // the campaign on this cluster
  kTooManySlots,
  kHeld,
  kBlackHole,
  kPrologueRuns,
  kPrologueFailed,
  kShortSurvival,
  kUnsafeSlots,
  kStragglers,
  kAffinityWait,
  kAvoided,
  kScheduler,
  kMaxJobs,
  kCanary,
  kBadGroup,
  // the cluster
  kDisabled,
  kStale,
  kDrained,
  kHours,
  kBreaker,
  kStress,
  kObserved,
  kLimited,
  kMaxRunning,
  kFull,
  kClassFull,
  kServedBefore,
  kOwnFirst,
  kRecalled,
  kMultiSlotReservation,
  kSlotsKept,
  kBypassed,
  // the grid's rules
  kQuota,
  kLicence,
  kRate,
  kReserve,
};

/// Why a campaign that waits got no more on a cluster, or anywhere (`cluster` 0). Numbers mean
/// what NumberNames(code) says; ReasonTexts (reason.h) makes messages of it.
struct Reason {
  std::int64_t campaign = 0, cluster = 0;
  Code code = Code::kNone;
  bool main = false;  ///< the one to show when only one is shown
  std::array<double, 3> numbers{};
  std::int64_t other = 0;  ///< the campaign that was served before it, 0 = none
  std::string detail{};    ///< a name: of the quota, licence, hold, class...
};

/// What one decision hands to the next; written with the plan, so that a restart or a replay
/// changes nothing. An empty state is a fresh grid.
struct State {
  struct Ageing {
    double age = 0;  ///< grows by multi_slot.step with each narrower start that passed (FBS-19)
    double held_since = 0;  ///< narrower jobs are held for it since then, 0 = not
    double rest_until = 0;  ///< its hold was given up: no other before this time
    int in_vain = 0;        ///< holds that were given up: the next one is longer
  };
  struct Credit {
    double usage = 0;  ///< virtual slot-seconds of a newcomer (GRID-13), fades over the window
    double since = 0;
    double per_weight = 0;  ///< `usage` for a weight of 1: what the order is made by
  };
  struct Bucket {
    double tokens = 0, at = 0;
    double given = 0;           ///< tokens that the last decision spent...
    std::int64_t started = -1;  ///< ...when so many jobs had been claimed; -1 = not reported
  };
  using Pair = std::pair<std::int64_t, std::int64_t>;  ///< campaign, cluster
  /// A user (key: UserKey of usage_summary.h) under `fairshare`, while it wants something.
  struct Lag {
    double behind = 0;  ///< slot-seconds that it got less than its share while others wanted them
    double slots = 0;   ///< that it had after the last decision in which it wanted something...
    double share = 0, want = 0;  ///< ...its share then, among those who wanted; slots it could use
    double at = 0;               ///< time of that decision
  };
  /// A cluster that kills jobs: how often its own users left less than i + 1 parts of its slots, of
  /// how much time in which they left more; both fade (slot_life.h).
  struct SlotLife {
    std::vector<double> taken{}, exposed_s{};
    double left = 0, at = 0;  ///< slots that they left at the last look, and its time
  };
  double decided_at = 0;
  std::map<std::int64_t, double> pass{};     ///< stride, by campaign
  std::map<std::string, double> priority{};  ///< dynamic, by queue
  std::map<std::int64_t, Credit> credit{};   ///< usage and sla, by campaign
  std::map<Pair, Ageing> ageing{};
  std::map<Pair, Hold> holds{};
  std::map<std::string, Bucket> rates{};  ///< start rates, by limit
  std::map<std::string, Lag> lags{};
  std::map<std::int64_t, SlotLife> slot_lives{};  ///< by cluster
};

struct PlanResult {
  Plan plan;
  State next;
  /// By campaign in order of submission, its main one first. Only of campaigns that wait.
  std::vector<Reason> reasons{};
};

}  // namespace cigri::policy
