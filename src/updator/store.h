// All SQL of the updator. A Store serves one transaction; the caller commits.
#pragma once
#include <sql/campaigns.h>
#include <sql/error_classes.h>
#include <sql/jobs.h>
#include <sql/nodes.h>
#include <sql/placements.h>
#include <sql/survival.h>
#include <sql/tasks.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "cluster/cluster.h"
#include "db/db.h"
#include "db/events.h"
#include "updator/memory.h"
#include "updator/node_watch.h"
#include "updator/summarise.h"

namespace cigri::updator {

/// A change of state that a cluster reported; durations are seconds before now.
struct StateChange {
  std::int64_t job_id = 0;
  JobState state = JobState::kRemoteWaiting;
  double started_ago_s = 0;
  std::string node;
};

/// An end that a cluster reported, classified; durations are seconds before now.
struct JobEnd {
  std::int64_t job_id = 0;
  ExitInfo exit;
  std::optional<int> wait_status;
  std::optional<double> started_ago_s;
  double ended_ago_s = 0;
  std::string node;
  std::optional<std::string> message;  ///< of a failure
  cluster::Measured measured;
  std::optional<double> job_lived_s;  ///< of the job that it shared with others
};

/// A failure, as error classes are matched with it.
struct FailedJob {
  std::int64_t job_id = 0;
  std::string code;
  std::optional<int> wait_status;
  std::string message;
};
/// Ends that an error class has matched.
struct ErrorMatches {
  std::int64_t n = 0;
  std::string sample;  ///< message of one of them
};

/// How a cluster did in its last answers.
struct ClusterStatus {
  std::int64_t cluster_id = 0;
  bool ok = false;
  int failures = 0;       ///< in a row
  double retry_in_s = 0;  ///< when not ok
  std::string error;      ///< when not ok
  double stress = 0, calls_per_min = 0;
  std::optional<double> clock_skew_s;
};

class Store {
 public:
  explicit Store(db::Tx& tx) : tx_(tx) {}
  Store(const Store&) = delete;

  // Settings and the grid.
  std::string GridId();
  /// How many canary jobs a campaign runs on a cluster before the first success there.
  int CanaryJobs();
  bool AnyCampaignActive();

  // Jobs in flight.
  /// PostgreSQL plans for about so many: autovacuum looks once a minute, and a grid fills within
  /// seconds.
  void KeepPlansFor(std::size_t jobs);
  std::string TransactionHorizon();
  std::vector<KnownBatch> BatchesInFlight();
  /// Batches recorded by transactions from `horizon` on; some may be known already.
  std::vector<KnownBatch> BatchesRecordedSince(const std::string& horizon);
  std::vector<KnownJob> JobsOf(const std::vector<KnownBatch>& batches);
  /// What became of the batches with these tags; a tag without a batch is not listed.
  std::map<std::string, BatchState> TagStates(const std::vector<std::string>& tags);
  /// Jobs on clusters that an operator has given up since the jobs were sent.
  std::vector<std::int64_t> LostJobs();

  // Status updates.
  std::vector<MovedJob> MoveJobs(const std::vector<StateChange>& changes);
  /// What ClassifyExit needs of the jobs `ids` that are still in flight.
  std::vector<sql::InfoOfEndsRow> EndInfos(const std::vector<std::int64_t>& ids);
  /// The error classes that these ends match, by job; those that decide first.
  std::vector<sql::ErrorClassesOfRow> ErrorClassesOf(const std::vector<FailedJob>& jobs);
  void CountErrorMatches(const std::map<std::string, ErrorMatches>& matches);
  /// Counts jobs that failed by a fault of the cluster; the placements that are closed now.
  std::vector<sql::CountClusterFaultsRow> CountClusterFaults(
      const std::map<PlacementKey, int>& faults);
  /// Moves jobs from `live` to `done`; a job that is not live any more is left out.
  std::vector<EndedJob> EndJobs(const std::vector<JobEnd>& ends);
  /// Whose campaigns these are: the number of users.
  std::int64_t UsersOf(const std::vector<std::int64_t>& campaigns);
  /// For how many seconds the node gets no job; nothing: its cluster has no other.
  std::optional<double> ExcludeNode(const NodeKey& node);
  /// Tasks whose failures are not their own lose no try, once for each job; `why`: the code of the
  /// event that says so.
  void RefundFailures(const std::vector<TaskKey>& tasks, const std::string& why);
  /// The excluded nodes that these jobs have tried.
  std::vector<sql::SettleTrialsRow> SettleTrials(const std::vector<TrialEnd>& ends);
  /// The nodes that operators have given back by closing their event.
  std::vector<sql::ReadmitNodesRow> ReadmitNodes();
  void AddCounters(const CounterDeltas& deltas);
  void UpdatePlacements(const std::map<PlacementKey, PlacementSummary>& placements);
  void AddSurvival(const std::map<std::int64_t, ClusterSurvival>& survival);
  /// A task that has succeeded is taken out of `retry` and `needs_attention`.
  void ForgetTasks(const std::set<TaskKey>& succeeded);
  void AddTries(const std::map<TaskKey, SpentTries>& tries);
  void PutRetries(const std::vector<Failure>& failures);
  /// `failures` and the events that tell their users, in one order.
  void PutNeedsAttention(const std::vector<Failure>& failures,
                         const std::vector<std::int64_t>& events);

  // Campaigns and placements.
  std::vector<sql::ApplyWantedStatesRow> ApplyWantedStates();
  std::vector<sql::PlacementsToHoldRow> PlacementsToHold(const std::set<std::int64_t>& campaigns,
                                                         int canary_jobs);
  std::vector<sql::HeldByCanariesRow> HeldByCanaries(const std::set<std::int64_t>& campaigns);
  void HoldPlacement(std::int64_t campaign, std::int64_t cluster, std::int64_t event,
                     const std::string& why);
  void HoldFailedPrologues(const std::set<std::int64_t>& campaigns);
  /// Tasks that failed on a cluster where the campaign is held lose no try and are retried.
  void RefundTasks(std::int64_t campaign, std::int64_t cluster);
  /// Whether a placement is free again because somebody answered the event that held it.
  bool ReleasePlacements();
  bool RenewCanaries();
  std::vector<sql::StopHeldCampaignsRow> StopHeldCampaigns();
  std::vector<std::int64_t> ContinueCampaigns();
  std::vector<sql::TakeBlackHolesRow> TakeBlackHoles();
  std::vector<sql::EndCandidatesRow> EndCandidates(bool all, const std::set<std::int64_t>& some);
  std::optional<sql::LockCursorRow> LockCursor(std::int64_t campaign);
  sql::TasksLeftRow TasksLeft(std::int64_t campaign);
  std::vector<sql::UnansweredTestsRow> UnansweredTests(std::int64_t campaign, int wait_s);
  std::vector<sql::GiveUpEpiloguesRow> GiveUpEpilogues(std::int64_t campaign, int wait_s,
                                                       const std::vector<int>& away);
  bool EpiloguesLeft(std::int64_t campaign);
  bool BeginFinishing(std::int64_t campaign);
  void TerminateCampaign(std::int64_t campaign);
  void CompleteCancelled(std::int64_t campaign);
  std::vector<sql::CancelledInFlightRow> CancelledInFlight(std::int64_t campaign, int wait_s);

  // Clusters.
  std::map<std::int64_t, std::string> FeedTokens();
  void SetFeedToken(std::int64_t cluster, const std::string& token);
  void SetClusterStatus(const ClusterStatus& status);
  void AddSnapshot(std::int64_t cluster, const cluster::Resources& resources,
                   const Memory::Counts& jobs);
  /// All classes that the cluster was asked to count; one without a name cannot be counted.
  void PutResourceClasses(std::int64_t cluster,
                          const std::map<std::string, cluster::ClassCount>& classes);
  /// Resource classes that campaigns ask for, by cluster.
  std::map<std::int64_t, std::vector<std::string>> RequestedClasses();
  /// `jobs` and their ages in seconds are all that give no sign of life on the cluster.
  void PutUnresponsive(std::int64_t cluster, const std::map<std::int64_t, double>& jobs);
  void PutStillHeld(std::int64_t cluster, const std::vector<std::int64_t>& batches);
  std::vector<sql::ReconcileOrphansRow> ReconcileOrphans(
      std::int64_t cluster, const std::vector<cluster::RemoteJob>& listed);
  /// Replaces the duplicates of a cluster; how many of them are new.
  std::size_t SetDuplicates(std::int64_t cluster,
                            const std::vector<sql::ReconcileOrphansRow>& duplicates);

  // Events.
  std::int64_t Raise(const db::Event& event) { return db::RaiseEvent(tx_, event); }
  void Close(const db::Event& event) { db::CloseEvent(tx_, "updator", event); }
  void CloseEvents(const db::EventFilter& filter) { db::CloseEvents(tx_, "updator", filter); }
  void NotifyProgress();

 private:
  db::Tx& tx_;
};

}  // namespace cigri::updator
