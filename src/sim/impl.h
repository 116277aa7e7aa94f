// The engine. Internal to src/sim: engine.cc has the clock, site.cc the clusters as they are,
// view.cc what the grid sees of them, round.cc what it decides and claims.
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
  void OpenLane(int campaign, int cluster);
  void Over(int campaign);
  bool IsOver(int campaign) const;
  std::int64_t AwaitedBy(const CampaignState& campaign) const;
  int SinkCount(const CampaignState& campaign);
  void StopAll();
  bool LooksAtClock() const;
  void TryRound();

  // site.cc
  void Arrive(int cluster);
  void StartQueued(int cluster);
  void Start(int job);
  void EndJob(int job, End end);
  void Kill(int job, End end);
  void Unlink(int job);
  bool MakeRoom(int cluster, int slots);
  void LocalNext(int cluster, std::uint32_t load);
  void LocalArrives(int cluster, const LocalJob& job);
  void StartLocal(int cluster);
  void LocalEnd(int cluster, std::uint32_t id);
  void NodeFails(int cluster);
  void NodeBack(int cluster);
  void WindowTurns(int cluster);
  void CountTo(ClusterState& cluster, double now);
  void ScheduleNode(int cluster);
  double LengthOf(const Job& job, const LaneState& lane, End* end) const;

  // view.cc
  void Tell(int cluster, Seen seen);
  void TellCluster(int cluster);
  void See(int cluster);
  void Apply(int cluster, const Seen& seen);
  void Move(int job, View view);
  void Book(int job);
  void BookSuccess(Job& job, LaneState& lane, CampaignState& campaign, double length);
  void BookTry(Job& job, LaneState& lane, CampaignState& campaign);
  void Again(const Job& job, CampaignState& campaign, int tries);
  void EndCopies(std::int64_t task, CampaignState& campaign);
  void CountWaiting(CampaignState& campaign);

  // round.cc
  void Round();
  void Look();
  void LookAtLane(LaneState& lane);
  void LookAtLives(LaneState& lane);
  void FillClusters();
  void FillCampaigns();
  void FillCopies(int campaign);
  void FillRunning();
  void Carry(policy::PlanResult& result);
  void Claim(const policy::Allocation& allocation);
  int Send(int lane, BatchKind kind, const Redo& task);
  std::vector<Redo> CopiesFor(int campaign, int cluster, int n) const;
  void TakeBack(const policy::Hold& hold);
  void WipeFlood(int cluster);

  policy::Cluster& Row(int cluster) { return snapshot_.clusters[cluster]; }
  policy::Campaign& Row(const CampaignState& c) { return snapshot_.campaigns[c.place]; }
  LaneState& LaneOf(const Job& job) { return *lanes_[job.lane]; }
  int LaneOn(int campaign, int cluster) const;
  int NewJob();

  const Scenario& scenario_;
  std::vector<Observer*> observers_;
  bool reasons_ = false;  // somebody reads them
  bool sinks_ = false;    // somebody looks for them
  Totals totals_;
  double now_ = 0;
  std::uint64_t seq_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::int64_t to_come_ = 0;  // campaigns not yet submitted
  std::vector<Job> jobs_;
  std::vector<std::int32_t> free_jobs_;
  std::int64_t job_ids_ = 0, in_flight_ = 0;
  std::vector<ClusterState> clusters_;
  std::vector<CampaignState> campaigns_;
  std::vector<std::unique_ptr<LaneState>> lanes_;
  policy::Snapshot snapshot_;
  policy::State state_;
  UsageRows usage_;
  bool dirty_ = false, round_set_ = false, tick_set_ = false;
  double last_round_ = -1e300;
  int idle_rounds_ = 0;
  std::uint64_t rounds_ = 0;
};

}  // namespace cigri::sim
