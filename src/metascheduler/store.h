// From tables to a Snapshot, from a Plan to tables.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "db/db.h"
#include "policy/decide.h"

namespace cigri::metascheduler {

/// A Snapshot, and what the plan must be told in besides: what is in flight by kind (a grant is a
/// target), and the campaigns whose epilogues are to run.
struct Loaded {
  policy::Snapshot snapshot;
  double now = 0;                                                 ///< the database's clock, epoch s
  using Key = std::tuple<std::int64_t, std::int64_t, BatchKind>;  // campaign, cluster, kind
  std::map<Key, std::int64_t> in_flight;
  struct Flight {
    std::int64_t n = 0, running = 0, running_slots = 0, prologue = 0;
    double since = 0;  ///< sum over the running slots of their starts
  };
  std::map<std::pair<std::int64_t, std::int64_t>, Flight> flights;  ///< by campaign and cluster
  std::set<std::pair<std::int64_t, std::int64_t>> epilogues;
  /// Jobs that run much too long, by campaign and cluster (TECH-12).
  struct Overdue {
    std::int64_t campaign = 0, cluster = 0;
    int n = 0;
    bool copies = false;  ///< the campaign asked for copies of them
    double limit_s = 0;
  };
  std::vector<Overdue> overdue;
  bool tell_overdue = false;  ///< they have just been looked at
};

class Store {
 public:
  /// Everything a decision reads, in one transaction.
  Loaded Load(db::Tx& tx);
  policy::State LoadState(db::Tx& tx);
  /// Takes out of `state` the holds whose events were closed by hand.
  void LiftSinks(db::Tx& tx, policy::State& state);
  /// Replaces the plan whole, with the state it left and the reasons, when they differ from what
  /// was written last. True when the grants changed.
  bool Write(db::Tx& tx, const Loaded& loaded, const policy::PlanResult& result, std::uint64_t seed,
             double took_ms);
  /// Forgets what it has written: after a lost session or a failed pass.
  void Reset(db::Tx& tx);

 private:
  void LoadClusters(db::Tx& tx, Loaded& loaded);
  void LoadCampaigns(db::Tx& tx, Loaded& loaded);
  void LoadInFlight(db::Tx& tx, Loaded& loaded);
  void LoadLanes(db::Tx& tx, Loaded& loaded);
  void LoadLives(db::Tx& tx, Loaded& loaded);
  void LoadOverdue(db::Tx& tx, Loaded& loaded);
  void LoadReleases(db::Tx& tx, Loaded& loaded);
  void LoadRunning(db::Tx& tx, Loaded& loaded);
  void LoadUsage(db::Tx& tx, Loaded& loaded);
  policy::PolicyConfig LoadConfig(db::Tx& tx);
  void WriteSinks(db::Tx& tx, const Loaded& loaded, const std::vector<policy::Hold>& holds);
  void TellYield(db::Tx& tx);
  void CloseSinks(db::Tx& tx, const policy::State& next);
  void TellOverdue(db::Tx& tx, const Loaded& loaded);
  void WriteObserved(db::Tx& tx, const policy::PlanResult& result);
  void WriteReasons(db::Tx& tx, const policy::PlanResult& result);

  std::map<std::string, nlohmann::json> config_rows_;
  policy::PolicyConfig config_;  // the last that was valid
  std::vector<policy::Usage> old_usage_;
  double old_usage_until_ = 0;
  std::string written_grants_ = "?", written_state_;
  policy::State carried_;  // into the decision that is written next: kept with its snapshot
  using ReasonKey = std::tuple<std::int64_t, std::int64_t, std::string>;
  std::map<ReasonKey, std::string> reasons_;  // open ones, with the numbers last written
  std::vector<Loaded::Overdue> overdue_;
  std::set<std::pair<std::int64_t, std::int64_t>> sinks_;          // with an open event
  std::map<std::pair<std::int64_t, std::int64_t>, int> observed_;  // as written last
  double reasons_at_ = 0, snapshot_at_ = 0, overdue_at_ = 0, yield_at_ = 0, now_ = 0;
  bool preempted_ = true;  // there may be preemptions to tell of
};

}  // namespace cigri::metascheduler
