// The books of one decision: what is left of every cluster, campaign and limit, and what was given.
// Internal to src/policy; policies give through Take() only, so no limit can be passed.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "policy/campaign_scheduler.h"
#include "policy/model.h"

namespace cigri::policy {

/// A limit that several lanes draw from: a quota, a ceiling, a licence pool, a start rate.
struct Meter {
  double limit = 0, room = 0;
  Code code = Code::kQuota;
  std::string name{};  ///< for people: "user alice"
};

struct MeterUse {
  int meter = 0;
  double per_job = 0, per_slot = 0;
};

struct ClusterBook {
  const Cluster* row = nullptr;
  Code block = Code::kNone;  ///< nothing can be given here
  double free = 0;           ///< slots that are idle and not spoken for
  std::int64_t queue = 0;    ///< jobs that may wait beyond those
  double start_free = 0;
  std::vector<MeterUse> uses{};  ///< limits of every job here
  int winner = -1;               ///< the campaign that was given most here...
  std::int64_t winner_jobs = 0;
  // Wide jobs that could be passed by (FBS-19), in the order in which they are looked after; see
  // wide.h. `wide` is the one now: not yet served by this decision, and wanting.
  struct Wide {
    int lane = 0;
    double pass = 0;    ///< starts of later campaigns that may still pass it
    double passed = 0;  ///< that did, in this decision
  };
  std::vector<Wide> wides{};
  std::size_t wide = 0;             ///< place in wides; wides.size() = none
  std::vector<Release> releases{};  ///< also of what this decision starts, when its length is known
  double ends_by = 0;               ///< backfill: jobs must end by then...
  double spare = 0;                 ///< ...or use these slots, which the wide job does not need
  int held_for = -1;  ///< policy dynamic: campaign that idle slots are kept for (FBS-05)
  /// Nothing can be given here any more.
  bool Full() const { return block != Code::kNone || (free <= 0 && queue <= 0); }
  bool HasWide() const { return wide < wides.size(); }
};

/// What one decision knows of a campaign on a cluster.
struct LaneBook {
  const Lane* row = nullptr;
  double cost = 1;                ///< free slots that one job takes: 1 / job ratio
  int campaign = 0, cluster = 0;  ///< places in the ledger
  int slots = 1, avoid = 0;       ///< of the row
  int left = 0;                   ///< jobs that rules of the lane itself still allow
  int given = 0, copies = 0;
  int uses_begin = 0, uses_end = 0;  ///< limits of this campaign on this cluster: lane_uses
  bool served = false;               ///< it is among Ledger::served
  Code block = Code::kNone;          ///< closed altogether
  Code limit = Code::kNone;          ///< the rule that made `left`
  bool whole = true;                 ///< no measured ratio: a job needs all its slots idle
  bool prologue = false;             ///< its prologue was given
};

struct CampaignBook {
  const Campaign* row = nullptr;
  const CampaignScheduler* scheduler = nullptr;
  std::string project{};
  int lanes_begin = 0, lanes_end = 0;
  std::int64_t left = 0;     ///< waiting tasks not yet given
  std::int64_t overdue = 0;  ///< copies of overdue jobs not yet given
  std::int64_t cap = 0;      ///< most jobs in the present pass (first results...)
  double weight = 1;
  double held_slots = 0;  ///< in flight, and given by this decision
  std::int64_t held_jobs = 0;
  bool in_play = true;  ///< may be given anything at all
  Code block = Code::kNone;
  double running_slots = 0;      ///< of its running jobs...
  double running_seconds = 0;    ///< ...slot-seconds so far
  double running_in_window = 0;  ///< ...and those inside usage.window
  int behind = -1;               ///< one campaign per user: the one that goes before it
  int open_lanes = 0;
  std::vector<MeterUse> uses{};
};

/// How much a lane can be given, and if nothing, why.
struct Room {
  std::int64_t jobs = 0;
  Code code = Code::kNone;
  int meter = -1;
};

class Ledger {
 public:
  /// REQUIRES: snapshot outlives it.
  Ledger(const Snapshot& snapshot, const State& carried, double now);

  std::vector<ClusterBook> clusters{};    ///< fastest first (TECH-20)
  std::vector<CampaignBook> campaigns{};  ///< in order of submission
  std::vector<LaneBook> lanes{};          ///< of campaign i: [lanes_begin, lanes_end), best first
  std::vector<Meter> meters{};
  std::vector<MeterUse> lane_uses{};
  std::vector<int>
      served{};  ///< lanes that were given something, in the order of their first allocations
  const PolicyConfig& config;
  const double now;
  bool lane_rates = false;  ///< some lane has a start rate of its own

  /// What lane `l` can be given now. `code` says what binds.
  Room RoomOf(int l) const;
  /// RoomOf for a reason: a rule that would bind in an empty cluster too comes before a full one;
  /// kNone when nothing binds.
  Room WhyOf(int l) const;
  /// Jobs that lane `l` could be given on an idle cluster: what its rules and limits leave.
  std::int64_t RulesAllow(int l) const;
  /// Gives up to `want` jobs, overdue copies first; returns how many.
  std::int64_t Take(int l, std::int64_t want);
  /// Gives up to `want` copies of running tasks (campaign scheduler finalize).
  std::int64_t TakeSpare(int l, std::int64_t want);
  /// Jobs that campaign i still wants in the present pass.
  std::int64_t Demand(int i) const {
    const auto& c = campaigns[i];
    return c.in_play ? std::min(c.left + c.overdue, c.cap) : 0;
  }
  /// Slots idle in all open clusters together, with the places of their queues.
  double TotalRoom() const;
  /// Nothing can be given to anybody any more.
  bool AllFull() const;
  /// Looks for the next wide job of a cluster that still wants, and when it could start.
  void NextWide(ClusterBook& cluster);
  int AddMeter(double limit, double used, Code code, std::string name);

 private:
  void OpenClusters(const Snapshot& snapshot);
  void OpenCampaigns(const Snapshot& snapshot, const State& carried);
  void OpenLane(LaneBook& lane, const State& carried);
  void CountRunning(CampaignBook& campaign, const Lane& lane) const;
  std::int64_t FreeJobs(const LaneBook& lane) const;
  Room MeterRoom(const LaneBook& lane, Room room) const;
  Room GapRoom(const LaneBook& lane, Room room) const;
  void Spend(LaneBook& lane, std::int64_t jobs);
  void PassWide(const LaneBook& lane, std::int64_t jobs);
  double PassSlots(const ClusterBook& cluster) const;
  std::int64_t TakeCopies(int l, std::int64_t want);
  std::int64_t OverdueElsewhere(const LaneBook& lane) const;
};

/// The campaigns that share the turns of one claimant, first one first: one campaign, or all of a
/// user's when `parallel_campaigns` says so (TECH-16). The next is served when one wants no more.
struct Unit {
  std::vector<int> campaigns{};
  int head() const { return campaigns.front(); }
};
std::vector<Unit> MakeUnits(Ledger& ledger, const std::vector<int>& campaigns);

}  // namespace cigri::policy
