// The state of one decision: what is left of every cluster, campaign and limit, and what was given.
// Internal to src/policy; policies give through Take() only, so no limit can be passed.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "policy/campaign_scheduler.h"
#include "policy/model.h"

namespace cigri::policy {

inline constexpr double kEpsilon = 1e-9;  // 0.1 x 10 must be 1 job, not 0

/// Seconds that a job of the campaign needs, as far as known: measured, else its walltime.
inline double LengthOf(const Campaign& c) { return c.need_s > 0 ? c.need_s : c.walltime_s; }

/// The same on the average: what many of its jobs take together.
inline double MeanOf(const Campaign& c) { return c.mean_s > 0 ? c.mean_s : LengthOf(c); }

/// A limit that several placements draw from: a quota, a ceiling, a licence pool, a start rate.
struct Meter {
  double limit = 0, room = 0;
  Code code = Code::kQuota;
  std::string name{};  ///< for messages: "user alice"
  double kept = 0;     ///< not in `room`: for a job that needs more than is left
  void Keep(double amount) { room -= amount, kept += amount; }
  void Release() { room += std::exchange(kept, 0); }
};

struct MeterUse {
  int meter = 0;
  double per_job = 0, per_slot = 0;
};

struct ClusterAllocation {
  const Cluster* row = nullptr;
  Code block = Code::kNone;  ///< nothing can be given here
  double free = 0;           ///< slots that are idle and not spoken for
  double queue = 0;          ///< jobs of the shortest kind that may wait beyond those
  double queue_later = 0;    ///< the same, while idle slots alone are given
  double waits = 0;          ///< part of the jobs in its queue and on their way that cannot start
  double start_free = 0;
  double more = 0;  ///< of `free`, for jobs that ratios let go beyond its slots; see whole_slots
  double beyond = 0;             ///< the same once it is in `free`: no slots, their jobs will wait
  int classes_begin = 0;         ///< its resource classes in AllocationState::classes
  double for_units = 0;          ///< jobs in its queue and on their way that wait for units...
  double slots_for_units = 0;    ///< ...of a class, and their slots
  std::vector<MeterUse> uses{};  ///< limits of every job here
  int winner = -1;               ///< the campaign that was given most here...
  std::int64_t winner_jobs = 0;
  // Multi-slot jobs that could be bypassed (FBS-19), in the order in which they are looked after;
  // see multi_slot.h. `multi_slot` is the one now: not yet served by this decision, and wanting.
  struct MultiSlot {
    int placement = 0;
    double pass = 0;      ///< narrower starts that may still pass it
    double bypassed = 0;  ///< that did, in this decision
    bool due = true;      ///< its user is due it: only then it ages, and slots are kept for it
  };
  std::vector<MultiSlot> multi_slots{};
  std::size_t multi_slot = 0;       ///< place in multi_slots; multi_slots.size() = none
  std::vector<Release> releases{};  ///< also of what this decision starts, when its length is known
  double ends_by = 0;               ///< backfill: jobs must end by then...
  double spare = 0;   ///< ...or use these slots, which the multi-slot job does not need
  int narrowest = 0;  ///< slots of a job, the fewest of all that are here or want to be; 0 = none
  int held_for = -1;  ///< policy dynamic: campaign that idle slots are kept for (FBS-05)
  /// Nothing can be given here any more.
  bool Full() const { return block != Code::kNone || (free <= 0 && queue <= 0); }
  /// Slots among `free`.
  double Idle() const { return std::max(0.0, free - beyond); }
  bool HasMultiSlot() const { return multi_slot < multi_slots.size(); }
};

/// What is left of a resource class of a cluster. A job of the class takes a slot and a unit; where
/// the unit is missing it waits for that, and the slots stay free for others.
struct ClassAllocation {
  const ResourceClass* row = nullptr;
  double free = 0;   ///< units that are idle and not spoken for
  double queue = 0;  ///< jobs of the shortest kind that may wait for units, beyond those
  double more = 0;   ///< as of a cluster
  double waits = 0;  ///< part of the jobs in the queue and on their way that have no unit
};

/// What one decision knows of a campaign on a cluster. A hundred thousand of them are most of what
/// a large decision reads: a line of the cache each.
struct PlacementAllocation {
  const Placement* row = nullptr;
  double cost = 1;                ///< free slots that one job takes: 1 / job ratio
  double place = 1;               ///< of the cluster's queue that one job takes: 1 = the shortest
  int campaign = 0, cluster = 0;  ///< places in the allocation state
  int slots = 1, avoid = 0;       ///< of the row
  int left = 0;                   ///< jobs that rules of the placement itself still allow
  int given = 0, copies = 0;
  int uses_begin = 0;                ///< limits of this campaign on this cluster...
  std::uint16_t uses = 0;            ///< ...so many from there on in placement_uses
  std::uint16_t resource_class = 0;  ///< place in AllocationState::classes, from 1; 0 = none
  Code block = Code::kNone;          ///< closed altogether
  Code limit = Code::kNone;          ///< the rule that made `left`
  bool served : 1 = false;           ///< it is among AllocationState::served
  bool whole : 1 = true;             ///< no measured ratio: a job needs all its slots idle
  bool prologue : 1 = false;         ///< its prologue was given
  /// Units of its resource class that one job takes. REQUIRES: resource_class != 0.
  int units() const { return row->class_units > 0 ? row->class_units : slots; }
};

static_assert(sizeof(PlacementAllocation) <= 64);

/// A thousand campaigns on a hundred clusters fit into no cache: a row is brought from memory while
/// those before it are looked at. Inlined, for g++ leaves out the call of a function that does
/// nothing else.
[[gnu::always_inline]] inline void Prefetch(const Placement& row) {
  constexpr std::size_t kLine = 64;
  const char* begin = reinterpret_cast<const char*>(&row);
  for (std::size_t at = 0; at < sizeof row; at += kLine) __builtin_prefetch(begin + at);
}

struct CampaignAllocation {
  const Campaign* row = nullptr;
  const CampaignScheduler* scheduler = nullptr;
  const CampaignScheduler* copies = nullptr;  ///< of running tasks
  bool selected = false;                      ///< its JDL selects a scheduler
  std::string project{};
  int placements_begin = 0, placements_end = 0;
  std::int64_t left = 0;     ///< waiting tasks not yet given
  std::int64_t overdue = 0;  ///< copies of overdue jobs not yet given
  std::int64_t cap = 0;      ///< most jobs in the present pass (first results...)
  double weight = 1;
  double held_slots = 0;    ///< in flight, and given by this decision
  double queued_slots = 0;  ///< of these: jobs that wait in a queue, with nothing idle for them
  std::int64_t held_jobs = 0;
  bool in_play = true;  ///< may be given anything at all
  Code block = Code::kNone;
  double running_slots = 0;      ///< of its running jobs...
  double running_seconds = 0;    ///< ...slot-seconds so far
  double running_in_window = 0;  ///< ...and those inside usage.window
  int behind = -1;               ///< one campaign per user: the one that goes before it
  double own_slots = -1;         ///< that its user uses, for its deadline; -1 = not counted
  int own_wide = -1;  ///< of the same user: no job goes that would keep it waiting; -1 = none
  int own_before = -1;           ///< of the same user, before it in own_order.h...
  double own_weight = -1;        ///< ...by this weight; -1 = not ordered
  double own_mean_s = 0;  ///< while none of its jobs has succeeded: mean length of its user's
  int open_placements = 0;
  std::vector<MeterUse> uses{};
  /// What it keeps from others: a job that waits in a queue keeps nothing.
  double used_slots() const { return held_slots - queued_slots; }
  /// Tasks to send, or jobs to recall from a queue.
  bool has_tasks() const { return left > 0 || queued_slots > 0; }
};

/// How much a placement can be given, and if nothing, why.
struct Room {
  std::int64_t jobs = 0;
  Code code = Code::kNone;
  int meter = -1;
};

class AllocationState {
 public:
  /// REQUIRES: snapshot outlives it.
  AllocationState(const Snapshot& snapshot, const State& carried, double now);

  std::vector<ClusterAllocation> clusters{};    ///< fastest first (TECH-20)
  std::vector<ClassAllocation> classes{};       ///< resource classes, by cluster
  std::vector<CampaignAllocation> campaigns{};  ///< in order of submission
  std::vector<PlacementAllocation>
      placements{};  ///< of campaign i: [placements_begin, placements_end), best first
  std::vector<Meter> meters{};
  std::vector<MeterUse> placement_uses{};
  std::vector<int>
      served{};  ///< placements that were given something, in the order of their first allocations
  /// What the reason says of the limit of a placement, where the rule that made it knows more.
  std::map<int, std::array<double, 3>> limit_numbers{};
  const PolicyConfig& config;
  const double now;
  bool keeps_slots;     ///< for some multi-slot jobs
  const bool in_order;  ///< the policy is an order of submission: who is earlier passes by right
  /// Idle slots are given now: who takes one has all of it. What a job ratio above 1 lets go more
  /// will wait, and is given with the places in queues.
  bool whole_slots = false;
  bool ratios = false;           ///< some job is measured to take less than it asks for
  bool shared = false;           ///< several users have tasks that may be sent
  bool affinities = false;       ///< some placement is affine (users_priority)
  bool stragglers = false;       ///< some placement has them (stragglers.h)
  bool placement_rates = false;  ///< some placement has a start rate of its own

  /// Call with each placement in turn whose rows are looked at: brings that of one to come.
  [[gnu::always_inline]] void PrefetchAfter(int l) const {
    constexpr std::size_t kAhead = 8;
    if (const std::size_t at = static_cast<std::size_t>(l) + kAhead; at < placements.size())
      Prefetch(*placements[at].row);
  }
  /// Whether its jobs wait in the grid, where no narrower one waits behind them, instead of a
  /// queue.
  bool WaitsInGrid(const PlacementAllocation& placement) const;
  MultiSlotRule MultiSlotOf(const PlacementAllocation& placement) const;
  /// What placement `l` can be given now. `code` says what binds.
  Room RoomOf(int l) const;
  /// RoomOf for a reason: a rule that would bind in an empty cluster too comes before a full one;
  /// kNone when nothing binds.
  Room WhyOf(int l) const;
  struct Part {
    int meter = 0;
    double amount = 0;
  };
  /// Of licence pools and limits of slots what is to be kept for one job more of the placement,
  /// which needs more than they have left, or will only wait in a queue; nothing when something
  /// else is in its way. `room`: RoomOf(l).
  std::vector<Part> ToKeep(int l, const Room& room) const;
  /// Jobs that placement `l` could be given on an idle cluster: what its rules and limits leave;
  /// with `own`, by meter, what they would leave if nobody held anything else of them (start rates
  /// left out: they say nothing of slots).
  std::int64_t RulesAllow(int l, const std::vector<double>* own = nullptr) const;
  /// Calls `what` with each limit that a job of the placement draws from.
  template <typename What>
  void EachUse(const PlacementAllocation& placement, const What& what) const {
    for (const auto& use : clusters[placement.cluster].uses) what(use);
    for (const auto& use : campaigns[placement.campaign].uses) what(use);
    for (int i = 0; i < placement.uses; ++i) what(placement_uses[placement.uses_begin + i]);
  }
  /// Gives up to `want` jobs, overdue copies first; returns how many.
  std::int64_t Take(int l, std::int64_t want);
  /// Gives up to `want` copies of running tasks (CampaignAllocation::copies).
  std::int64_t TakeSpare(int l, std::int64_t want);
  /// Takes idle slots, none of the queue, for up to `want` tasks that are elsewhere now; returns how
  /// many. Allocates nothing.
  std::int64_t TakeIdle(int l, std::int64_t want);
  /// Jobs that campaign i still wants in the present pass.
  std::int64_t Demand(int i) const {
    const auto& c = campaigns[i];
    return c.in_play ? std::min(c.left + c.overdue, c.cap) : 0;
  }
  /// Whether a job of the placement would get the units of its resource class now.
  bool HasUnits(const PlacementAllocation& placement) const {
    return placement.resource_class == 0 ||
           classes[placement.resource_class - 1].free + kEpsilon >= placement.units();
  }
  /// Part of the placement's jobs in the queue and on their way that cannot start now.
  double WaitsOf(const PlacementAllocation& placement) const;
  /// Slots that are idle on the cluster of a placement, as far as limits leave them to it.
  double IdleFor(const PlacementAllocation& placement) const;
  /// Slots idle in all open clusters together, with the places of their queues.
  double TotalRoom() const;
  /// Nothing can be given to anybody any more.
  bool AllFull() const;
  /// Looks for the next multi-slot job of a cluster that still wants, and when it could start.
  void NextMultiSlot(ClusterAllocation& cluster);
  int AddMeter(double limit, double used, Code code, std::string name);

 private:
  void OpenClusters(const Snapshot& snapshot);
  void OpenClasses(const Snapshot& snapshot);
  void OpenCampaigns(const Snapshot& snapshot, const State& carried);
  void OpenPlacement(PlacementAllocation& placement, const State& carried);
  void CountRunning(CampaignAllocation& campaign, const Placement& placement) const;
  std::int64_t FreeJobs(const PlacementAllocation& placement) const;
  std::int64_t ClusterJobs(const PlacementAllocation& placement) const;
  std::int64_t ClassJobs(const PlacementAllocation& placement) const;
  std::int64_t SpendClass(const PlacementAllocation& placement, std::int64_t jobs);
  double CostOf(const PlacementAllocation& placement) const {
    return whole_slots ? std::max<double>(placement.cost, placement.slots) : placement.cost;
  }
  double ClassCost(const PlacementAllocation& placement) const;
  Code NoRoom(const PlacementAllocation& placement) const;
  std::int64_t QueuePlaces(const PlacementAllocation& placement) const;
  Room MeterRoom(const PlacementAllocation& placement, Room room,
                 const std::vector<double>* own = nullptr) const;
  Room ReservationRoom(const PlacementAllocation& placement, Room room) const;
  std::int64_t AskScheduler(const PlacementAllocation& placement, std::int64_t tasks) const;
  void Spend(PlacementAllocation& placement, std::int64_t jobs);
  void BypassMultiSlot(const PlacementAllocation& placement, std::int64_t jobs);
  bool MayBypass(const PlacementAllocation& placement) const;
  double BypassSlots(const PlacementAllocation& passing) const;
  double HarmlessJobs(const PlacementAllocation& passing) const;
  std::int64_t TakeCopies(int l, std::int64_t want);
  std::int64_t RoomAsIf(int l, std::int64_t waiting);
  std::int64_t OverdueElsewhere(const PlacementAllocation& placement) const;
};

/// The campaigns that share the turns of one claimant, first one first: one campaign, or all of a
/// user's when `parallel_campaigns` says so (TECH-16). The next is served when one wants no more.
/// Until a job of the campaign has succeeded, those that run are taken to be in the middle: how
/// long one takes, at least. 0: nothing runs, or it is known.
inline double AsLongAsItRan(const CampaignAllocation& c) {
  return c.row->done > 0 || c.running_slots <= 0 ? 0 : 2 * c.running_seconds / c.running_slots;
}

struct Unit {
  std::vector<int> campaigns{};
  int head() const { return campaigns.front(); }
};
std::vector<Unit> MakeUnits(AllocationState& alloc, const std::vector<int>& campaigns);

}  // namespace cigri::policy
