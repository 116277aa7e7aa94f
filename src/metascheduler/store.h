// All SQL of the metascheduler: from tables to a Snapshot, from a Decision to tables.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "db/db.h"
#include "metascheduler/decide.h"
#include "policy/forecast/stragglers.h"

namespace cigri::metascheduler {

class Store {
 public:
  /// Everything a decision reads, in one transaction.
  Loaded Load(db::Tx& tx);
  policy::State LoadState(db::Tx& tx);
  /// Takes out of `state` the black holes whose events an operator or user has closed.
  void LiftClosedHolds(db::Tx& tx, policy::State& state);
  /// The reasons of a decision now would be written.
  bool ReasonsDue() const;
  /// Writes what differs from the last write: the plan whole, its state, events, reasons. Keeps the
  /// reasons of `decision` to compare the next ones with.
  void Write(db::Tx& tx, const Loaded& loaded, Decision& decision, std::uint64_t seed,
             double took_ms);
  /// Forgets what it has written: after a lost session or a failed pass.
  void Reset(db::Tx& tx);

 private:
  // store_load.cc, store_placements.cc
  void LoadClusters(db::Tx& tx, Loaded& loaded);
  void LoadCampaigns(db::Tx& tx, Loaded& loaded);
  void LoadInFlight(db::Tx& tx, Loaded& loaded);
  void LoadPlacements(db::Tx& tx, Loaded& loaded);
  void LoadClasses(db::Tx& tx, Loaded& loaded);
  void LoadSurvival(db::Tx& tx, Loaded& loaded);
  void LoadOverdue(db::Tx& tx, Loaded& loaded);
  void LoadStragglers(db::Tx& tx, Loaded& loaded);
  void LoadReleases(db::Tx& tx, Loaded& loaded);
  void LoadRunning(db::Tx& tx, Loaded& loaded);
  void LoadUsage(db::Tx& tx, Loaded& loaded);
  policy::PolicyConfig LoadConfig(db::Tx& tx);
  // store.cc
  void WritePlan(db::Tx& tx, const Loaded& loaded, const Decision& decision, std::uint64_t seed,
                 double took_ms);
  void WriteGrants(db::Tx& tx, std::int64_t plan, const std::vector<Allocation>& grants);
  void CountEnds(db::Tx& tx, const std::vector<Allocation>& grants);
  void WritePreemptions(db::Tx& tx, const std::vector<policy::Preempt>& preempt);
  void WriteRecalls(db::Tx& tx, const std::vector<policy::Recall>& recalls);
  std::optional<std::string> SnapshotIfDue(const Loaded& loaded, const policy::State& before,
                                           const policy::Plan& plan);
  // store_events.cc
  void WriteBlackHoles(db::Tx& tx, const Loaded& loaded, const std::vector<policy::Hold>& holds);
  void CloseBlackHoles(db::Tx& tx, const policy::State& next);
  void ReportPreemptionYield(db::Tx& tx);
  void ReportOverdue(db::Tx& tx, const Loaded& loaded);
  // store_reasons.cc
  void WriteReasons(db::Tx& tx, Decision& decision);
  void WriteWouldSend(db::Tx& tx, const Decision& decision);

  using Pair = std::pair<std::int64_t, std::int64_t>;  // campaign, cluster
  std::map<std::string, nlohmann::json> config_rows_;
  policy::PolicyConfig config_;  // the last that was valid
  std::vector<policy::Usage> old_usage_;
  double old_usage_until_ = 0;
  std::optional<std::vector<Allocation>> written_grants_;
  std::string written_state_;
  policy::State carried_;  // into the decision that is written next: kept with its snapshot
  std::map<Decision::ReasonKey, std::string> reasons_;  // open ones, with the numbers last written
  std::vector<Loaded::Overdue> overdue_;
  std::vector<policy::LongJobs> long_jobs_;        // of those that have succeeded
  policy::KnownStragglers stragglers_;             // by these and the overdue ones
  std::set<Pair> black_holes_;                     // with an open event
  std::optional<std::map<Pair, int>> would_send_;  // as written last
  double reasons_at_ = 0, would_send_at_ = 0, recalls_at_ = 0, snapshot_at_ = 0, yield_at_ = 0;
  double overdue_at_ = 0, long_jobs_at_ = 0;
  double now_ = 0;
  bool preempted_ = true;  // there may be preemptions to report
};

}  // namespace cigri::metascheduler
