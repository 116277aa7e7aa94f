// What the runner decides, as pure functions: how much room a grant leaves, how a claim is cut into
// POSTs, when the absence of a tag is final.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/states.h"

namespace cigri::runner {

/// A grant of the plan with what is in flight against it (ClaimCandidates in
/// sql/queries/claims.sql).
struct Candidate {
  std::int64_t campaign_id = 0;
  BatchKind kind = BatchKind::kTask;
  int n = 0;      ///< most jobs of this kind in flight
  int slots = 1;  ///< of one job
  std::optional<int> max_jobs;
  std::int64_t in_flight_kind = 0, in_flight = 0;
  std::int64_t fresh = 0;     ///< tasks the cursor has not passed
  int max_array = INT32_MAX;  ///< most jobs of one POST
  std::string cluster_login;  ///< who the owner of the campaign is there
  int tasks_per_job = 1;      ///< most tasks that share a job
  std::int64_t retried = 0;   ///< tasks to be retried, a thousand at most
};

/// What the operator allows on the cluster now.
struct Ceiling {
  bool open = true;              ///< enabled, not drained, not merely observed, within its hours
  std::optional<int> max_jobs;   ///< `limited N`
  std::optional<int> max_slots;  ///< max_running
  std::int64_t jobs = 0, slots = 0;    ///< in flight now, all campaigns
  std::optional<int> half_open_limit;  ///< after its breaker was open: most jobs of this claim
  bool sparing = false;                ///< under a ceiling on calls: a claim is one POST
  bool node_due = false;               ///< an excluded node may be tried
};

struct Want {
  std::int64_t campaign_id;
  BatchKind kind;
  int n;
  int slots;
  std::int64_t fresh;
  std::string cluster_login;
  int tasks_per_job = 1;
};
/// How many jobs of each candidate may be claimed now, in the order of the plan; at most `most` in
/// all.
std::vector<Want> Room(const std::vector<Candidate>& candidates, Ceiling ceiling, int most);

/// What is known of the memory that the tasks of a campaign use, in MB.
struct MemoryUsed {
  std::int64_t n = 0;      ///< successes that measured it
  double most = 0;         ///< what 95 of 100 of them stayed below
  double most_failed = 0;  ///< of a failure; 0: none measured it
};
/// MB of memory to ask for where the JDL says `mem: auto` (0: the cluster's default). `start_mb`: of
/// `auto:AMOUNT`, until enough is known; `memory_x`: how much more this task gets.
int AutoMemory(std::int64_t start_mb, const MemoryUsed& used, double memory_x);

/// Of `n` jobs to claim, how many retried tasks may come first: all but a quarter. The quarter is
/// kept for fresh tasks while there are any, so that a few bad tasks never starve a campaign.
int RetryShare(int n, std::int64_t fresh);

/// One element of a claim.
struct ClaimedTask {
  std::int64_t idx;
  int attempt;
  double walltime_x = 1, memory_x = 1;  ///< of what the campaign asks for
  int least_walltime_s = 0;             ///< with `walltime: auto`
  bool alone = false;                   ///< it shares no job with others
};
/// How many tasks share a job of `n` jobs in flight: no more than leave two jobs for each of them, but
/// at least a quarter of `most`.
int TasksPerJob(int most, std::int64_t left, int n);
/// Whether element `element` of `n` shares its job with a later one.
bool Rides(int element, int n, int tasks_per_job);
/// How many jobs tasks are that share them.
int JobsOf(const std::vector<ClaimedTask>& tasks, int tasks_per_job);
/// The first element of the last job of `n` elements.
int LastJob(int n, int tasks_per_job);
/// Cuts tasks into runs that get the same walltime and memory, and share jobs or do not: one batch
/// has one of each.
std::vector<std::vector<ClaimedTask>> ByGrowth(const std::vector<ClaimedTask>& tasks);
/// Cuts [0, n) into pieces of at most `most`.
std::vector<std::pair<int, int>> Cut(int n, int most);

/// What is known of a batch in doubt right after a lookup of its tag.
struct Lookup {
  bool complete;           ///< the answer covered everything the cluster remembers
  bool revoked;            ///< the cluster will never take the tag any more
  bool send_over;          ///< no runner may start this POST any more
  int absences;            ///< complete answers without the tag before this one
  double quiet_s;          ///< since send_by, the doubt and the first absence, whichever came last
  double absence_delay_s;  ///< of this kind of cluster, between two absences
};
/// Whether absence of the tag (or of one element) is now final (docs/design.md section 5.4).
bool AbsenceIsFinal(const Lookup& lookup);

/// Seconds until the next look-up of a batch in doubt: 1, 2, 4 ... 60.
double NextLookupDelay(int absences);

}  // namespace cigri::runner
