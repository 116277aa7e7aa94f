// The engine. Internal to src/sim: engine.cc has the clock, site.cc the clusters as they are,
// view.cc what the grid sees of them, cycle.cc what it decides and claims.
#pragma once
#include "sim/state.h"
#include "sim/usage_rows.h"

namespace cigri::sim {

class Engine::Impl {
 public:
  Impl(const Scenario& scenario, std::vector<Observer*> observers);
  Totals Run(double until);

 private:
  // engine.cc
  void Push(double at, Kind kind, int who, std::uint32_t n = 0);
  void Handle(const Event& event);
  void Submit(int campaign);
  void OpenPlacement(int campaign, int cluster);
  void Over(int campaign);
  bool IsOver(int campaign) const;
  std::int64_t AwaitedBy(const CampaignState& campaign) const;
  int BlackHoleCount(const CampaignState& campaign);
  void StopAll();
  bool DependsOnClock() const;
  void WakeForProbe();
  void TryCycle();

  // site.cc
  void Arrive(int cluster);
  void StartQueued(int cluster);
  void Start(int job);
  void Begin(int job);
  void EndJob(int job, End end);
  void Kill(int job, End end);
  void Unlink(int job);
  std::optional<Nodes::Places> MakeRoom(int cluster, const LocalJob& wanted);
  double CostOfRoom(int cluster, int node, int slots) const;
  std::int32_t YoungestOn(const ClusterState& cluster, int node) const;
  void LocalNext(int cluster, std::uint32_t load);
  void LocalArrives(int cluster, const LocalJob& job);
  void StartLocal(int cluster);
  void LocalEnd(int cluster, std::uint32_t id);
  void NodeFails(int cluster);
  void LoseNode(int cluster, int node);
  void EndLocal(int cluster, std::uint32_t id);
  void NodeBack(int cluster, int node);
  void WindowTurns(int cluster);
  void CountTo(ClusterState& cluster, double now);
  void ScheduleNode(int cluster);
  double LengthOf(const Job& job, const PlacementState& placement, End* end) const;
  double WorkOf(const Job& job, const PlacementState& placement) const;
  double SlowedBy(const Job& job, const PlacementState& placement) const;
  double BootOf(int campaign, std::int64_t task, int cluster) const;
  double TransferOf(int campaign, std::int64_t task, int cluster) const;

  // view.cc
  void Publish(int cluster, const Seen& happened);
  void NotifyCluster(int cluster);
  void See(int cluster);
  void Apply(int cluster, const Seen& seen);
  void Move(int job, View view);
  void ApplyEnd(int job);
  void CountSuccess(Job& job, PlacementState& placement, CampaignState& campaign, double length);
  void CountKill(PlacementState& placement, CampaignState& campaign, double length);
  void CountTry(Job& job, PlacementState& placement, CampaignState& campaign);
  void Requeue(const Job& job, CampaignState& campaign, int tries);
  void EndCopies(std::int64_t task, CampaignState& campaign);
  void CountWaiting(CampaignState& campaign);

  // clairvoyant.cc
  class Foresight;
  void ForeseeingCycle();
  void LookAhead(int campaign);

  // cycle.cc
  void Cycle();
  void DecidingCycle();
  void Poll();
  void PollPlacement(PlacementState& placement);
  void UpdateSurvival(PlacementState& placement);
  void FillClusters();
  void FillCampaigns();
  void FillCopies(int campaign);
  void CountLongJobs(CampaignState& campaign);
  void FillStragglers();
  void FillRunning();
  void CarryOver(policy::PlanResult& result);
  void Claim(const policy::Allocation& allocation);
  int Send(int placement, BatchKind kind, const Redo& task);
  std::vector<Redo> CopiesFor(int campaign, int cluster, int n) const;
  void TakeBack(const policy::Hold& hold);
  void Forget(PlacementState& placement, CampaignState& campaign);
  void Recall(const policy::Recall& recall);
  void TrimExcess(int cluster, int of_class);

  policy::Cluster& Row(int cluster) { return snapshot_.clusters[cluster]; }
  policy::Campaign& Row(const CampaignState& c) { return snapshot_.campaigns[c.place]; }
  PlacementState& PlacementOf(const Job& job) { return *placements_[job.placement]; }
  int PlacementOn(int campaign, int cluster) const;
  int NewJob();

  const Scenario& scenario_;
  std::vector<Observer*> observers_;
  bool reasons_ = false;      // reasons are wanted
  bool black_holes_ = false;  // black holes are looked for
  Totals totals_;
  double now_ = 0;
  std::uint64_t seq_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::int64_t to_come_ = 0;  // campaigns not yet submitted
  std::vector<Job> jobs_;
  std::vector<std::int32_t> free_jobs_;
  std::int64_t job_ids_ = 0, in_flight_ = 0;
  std::vector<ClusterState> clusters_;
  std::vector<LocalFuture> futures_;  // clairvoyant: of each cluster
  std::vector<CampaignState> campaigns_;
  std::vector<std::unique_ptr<PlacementState>> placements_;
  policy::Snapshot snapshot_;
  policy::State state_;
  UsageRows usage_;
  bool dirty_ = false, cycle_set_ = false, tick_set_ = false;
  double last_cycle_ = -1e300, probe_at_ = -1, stragglers_at_ = 0;
  std::deque<policy::LongJobs> long_jobs_;  // of campaigns that are over
  int idle_cycles_ = 0;
  std::uint64_t cycles_ = 0;
};

}  // namespace cigri::sim
