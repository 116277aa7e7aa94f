#include "policy/allocation_state.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "policy/guard.h"

namespace cigri::policy {
namespace {

constexpr std::int64_t kMostOffered = 1'000'000;

constexpr double kEpsilon = 1e-9;  // 0.1 x 10 must be 1 job, not 0
constexpr std::int64_t kPlenty = std::numeric_limits<std::int32_t>::max();

Code CodeOf(Unusable why) {
  switch (why) {
    case Unusable::kNo:
      return Code::kNone;
    case Unusable::kDisabled:
      return Code::kDisabled;
    case Unusable::kStale:
      return Code::kStale;
    case Unusable::kDrained:
      return Code::kDrained;
    case Unusable::kHours:
      return Code::kHours;
    case Unusable::kBreaker:
      return Code::kBreaker;
    case Unusable::kStress:
      return Code::kStress;
  }
  return Code::kDisabled;
}

// Jobs that wait or are on their way take the free slots first, then places of the queue.
void Fill(ClusterAllocation& entry) {
  const Cluster& c = *entry.row;
  const int pending = c.waiting + c.launching;
  const double slots = std::max(c.waiting_slots + c.launching_slots, pending);
  const double starts = pending == 0 ? 0 : std::min(1.0, std::max(0, c.free) / slots) * pending;
  const double left_waiting = std::ceil(pending - starts - kEpsilon);
  entry.free = std::max(0.0, c.free - slots);
  entry.queue = std::max(0.0, c.waiting_allowed - left_waiting);
  entry.waits = pending == 0 ? 0 : left_waiting / pending;
  entry.start_free = entry.free;
}

/// Places of clusters in the allocation state by their ids. Placements mostly come in the order of
/// ids, so the next one is looked at first.
class ClusterIndexes {
 public:
  explicit ClusterIndexes(const std::vector<ClusterAllocation>& clusters) {
    for (std::size_t i = 0; i < clusters.size(); ++i)
      ids_.emplace_back(clusters[i].row->id, static_cast<int>(i));
    std::sort(ids_.begin(), ids_.end());
  }
  /// -1: there is no such cluster.
  int Of(std::int64_t id) {
    if (at_ >= ids_.size() || ids_[at_].first != id)
      at_ = static_cast<std::size_t>(std::lower_bound(ids_.begin(), ids_.end(), std::pair(id, 0)) -
                                     ids_.begin());
    return at_ < ids_.size() && ids_[at_].first == id ? ids_[at_++].second : -1;
  }

 private:
  std::vector<std::pair<std::int64_t, int>> ids_;
  std::size_t at_ = 0;
};

// Kills per second of run time.
double Roughness(const Cluster& c) { return c.life_s > 0 ? 1 / c.life_s : 0; }

// How soon a job of `need_s` is done on a cluster, kills counted in, as a step of 5 %; all alike
// where no cluster kills.
int Pace(const Cluster& c, double need_s) {
  constexpr double kStep = 0.05;
  return static_cast<int>(
      std::lround(std::log(c.speed * Yield(need_s / c.speed, c.life_s)) / kStep));
}

// Places of the clusters of a campaign: affine ones first (CIG-02), then where its data is
// (GRID-22), then where its jobs are done soonest. `by_cluster` has its placements, the fastest
// cluster first. Where jobs are killed, long ones so go to calm clusters, and short ones leave
// these to them.
std::vector<int> BestFirst(const std::vector<ClusterAllocation>& clusters,
                           const std::vector<const Placement*>& by_cluster, double need_s) {
  std::vector<int> order;
  bool rough = false;
  for (std::size_t k = 0; k < by_cluster.size(); ++k) {
    if (by_cluster[k] == nullptr) continue;
    order.push_back(static_cast<int>(k));
    rough = rough || clusters[k].row->life_s > 0;
  }
  std::vector<std::pair<int, double>> by_kills(by_cluster.size());  // pace, roughness
  if (rough && need_s > 0)
    for (const int k : order)
      if (const Cluster& c = *clusters[k].row; c.speed > 0)
        by_kills[k] = {Pace(c, need_s), Roughness(c)};
  const auto key = [&](int k) {
    return std::tuple(by_cluster[k]->affinity, by_cluster[k]->local, by_kills[k]);
  };
  const auto better = [&](int a, int b) { return key(a) > key(b); };
  if (!std::is_sorted(order.begin(), order.end(), better))
    std::stable_sort(order.begin(), order.end(), better);
  return order;
}

double LengthOf(const Campaign& c) { return c.need_s > 0 ? c.need_s : c.walltime_s; }

// What is known of the length of its jobs; until one has ended, how long they have run.
double NeedOf(const CampaignAllocation& c) {
  if (const double length = LengthOf(*c.row); length > 0) return length;
  return c.running_slots > 0 ? c.running_seconds / c.running_slots : 0;
}

// A thousand campaigns on a hundred clusters fit into no cache: their rows come from memory while
// those of the campaign before are looked at.
void Prefetch(const std::vector<Placement>& rows) {
  constexpr std::size_t kLine = 64;
  const char* begin = reinterpret_cast<const char*>(rows.data());
  for (std::size_t at = 0; at < rows.size() * sizeof(Placement); at += kLine)
    __builtin_prefetch(begin + at);
}

double WeightOf(const Campaign& c, const PolicyConfig& config) {
  if (c.weight > 0) return c.weight;
  const auto it = config.weights.find(c.priority);
  return it != config.weights.end() ? it->second : c.priority;
}

// What keeps the whole campaign back, whatever its clusters are like.
Code BlockOf(const Campaign& c, double weight, const PolicyConfig& config, double now) {
  // GRID-39: refused at submission, but groups can be removed.
  if (config.policy == PolicyKind::kSla && config.sla_groups.count(c.sla_group) == 0)
    return Code::kBadGroup;
  if (c.priority == 0 || !(weight > 0)) return Code::kSuspended;
  if (c.after_failed != 0) return Code::kAfterFailed;
  if (c.after != 0) return Code::kAfter;
  return now < c.not_before ? Code::kNotBefore : Code::kNone;
}

}  // namespace

AllocationState::AllocationState(const Snapshot& snapshot, const State& carried, double at)
    : config(snapshot.config), now(at) {
  OpenClusters(snapshot);
  OpenCampaigns(snapshot, carried);
}

int AllocationState::AddMeter(double limit, double used, Code code, std::string name) {
  meters.push_back({limit, std::max(0.0, limit - used), code, std::move(name)});
  return static_cast<int>(meters.size()) - 1;
}

void AllocationState::OpenClusters(const Snapshot& snapshot) {
  for (const auto& row : snapshot.clusters) clusters.push_back({.row = &row});
  std::sort(clusters.begin(), clusters.end(), [](const auto& a, const auto& b) {
    return std::tuple(-a.row->speed, a.row->id) < std::tuple(-b.row->speed, b.row->id);
  });
  for (auto& entry : clusters) {
    const Cluster& c = *entry.row;
    entry.block = CodeOf(c.unusable);
    if (entry.block == Code::kNone && c.mode == ClusterMode::kObserve)
      entry.block = Code::kObserved;
    Fill(entry);
    const double ours = c.launching + c.waiting + c.running;
    if (c.mode == ClusterMode::kLimited && c.limited != kNoLimit)
      entry.uses.push_back({AddMeter(c.limited, ours, Code::kLimited, c.name), 1, 0});
    const double slots =
        std::max<double>(ours, c.launching_slots + c.waiting_slots + c.running_slots);
    if (c.max_running != kNoLimit)
      entry.uses.push_back({AddMeter(c.max_running, slots, Code::kMaxRunning, c.name), 0, 1});
  }
}

void AllocationState::OpenCampaigns(const Snapshot& snapshot, const State& carried) {
  ClusterIndexes places(clusters);
  std::vector<const Campaign*> rows;
  std::size_t total = 0;
  for (const auto& row : snapshot.campaigns) rows.push_back(&row), total += row.placements.size();
  const auto before = [](const Campaign* a, const Campaign* b) {
    return a->submitted_at < b->submitted_at ||
           (a->submitted_at == b->submitted_at && a->id < b->id);
  };
  if (!std::is_sorted(rows.begin(), rows.end(), before))
    std::sort(rows.begin(), rows.end(), before);
  campaigns.resize(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) campaigns[i].row = rows[i];
  placements.reserve(total);
  std::vector<const Placement*> by_cluster(clusters.size());
  for (std::size_t i = 0; i < campaigns.size(); ++i) {
    auto& entry = campaigns[i];
    const Campaign& c = *entry.row;
    entry.scheduler = &SchedulerFor(c);
    entry.copies = &CopySchedulerFor(c);
    entry.selected = !c.scheduler.empty() && !c.test;
    entry.project = c.project;
    if (const auto u = config.users.find(c.user); entry.project.empty() && u != config.users.end())
      entry.project = u->second.parent;
    entry.weight = WeightOf(c, config);
    entry.left = c.waiting;
    entry.cap = kPlenty;
    entry.block = BlockOf(c, entry.weight, config, now);
    entry.in_play = entry.block == Code::kNone;
    std::fill(by_cluster.begin(), by_cluster.end(), nullptr);
    if (i + 1 < campaigns.size()) Prefetch(campaigns[i + 1].row->placements);
    for (const auto& placement : c.placements) {
      if (const int place = places.Of(placement.cluster); place >= 0)
        by_cluster[place] = &placement;
      CountRunning(entry, placement);
      entry.held_jobs += placement.in_flight;
      entry.held_slots += static_cast<double>(placement.in_flight) * placement.slots;
      if (c.replicas && !c.test) entry.overdue += placement.overdue;
    }
    if (c.max_jobs_total != kNoLimit)
      entry.uses.push_back(
          {AddMeter(c.max_jobs_total, double(entry.held_jobs), Code::kMaxJobsTotal, ""), 1, 0});
    entry.placements_begin = static_cast<int>(placements.size());
    for (const int k : BestFirst(clusters, by_cluster, NeedOf(entry))) {
      PlacementAllocation& placement =
          placements.emplace_back();  // filled where it is: copying costs more
      placement.row = by_cluster[k];
      placement.campaign = static_cast<int>(i);
      placement.cluster = k;
      OpenPlacement(placement, carried);
      if (placement.block == Code::kNone) ++entry.open_placements;
      affinities = affinities || placement.row->affinity > 0;
    }
    entry.placements_end = static_cast<int>(placements.size());
  }
}

void AllocationState::CountRunning(CampaignAllocation& campaign, const Placement& placement) const {
  if (placement.running <= 0) return;
  const double slots = static_cast<double>(placement.running) * placement.slots;
  const double age = std::max(0.0, now - placement.running_since / placement.running);
  campaign.running_slots += slots;
  campaign.running_seconds += slots * age;
  campaign.running_in_window += slots * std::min(age, config.usage_window_s);
}

void AllocationState::OpenPlacement(PlacementAllocation& entry, const State& carried) {
  const Placement& placement = *entry.row;
  const Campaign& campaign = *campaigns[entry.campaign].row;
  const Cluster& cluster = *clusters[entry.cluster].row;
  entry.slots = std::max(1, placement.slots);
  entry.avoid = placement.avoid;
  entry.whole = !(placement.job_ratio > 0);
  entry.cost = placement.job_ratio > 0 ? 1 / placement.job_ratio : std::max(1, placement.slots);
  entry.left = kPlenty;
  if (placement.waiting_allowed != kNoLimit) {
    // The queue is a time: a longer job takes more of it. Fill() has counted each job as a short one.
    entry.place = double(cluster.waiting_allowed) / std::max(1, placement.waiting_allowed);
    const double waiting =
        clusters[entry.cluster].waits * std::max(0, placement.in_flight - placement.running);
    clusters[entry.cluster].queue -= std::max(0.0, entry.place - 1) * waiting;
  }
  placement_rates = placement_rates || placement.start_rate > 0;
  auto limit = [&](std::int64_t n, Code code) {
    if (n < entry.left)
      entry.left = static_cast<int>(std::max<std::int64_t>(0, n)), entry.limit = code;
  };
  if (placement.max_jobs != kNoLimit)
    limit(placement.max_jobs - placement.in_flight, Code::kMaxJobs);
  if (!placement.verified && !campaign.test)
    // The updator holds the placement when that many have failed: in all, not at a time.
    limit(CanaryJobs(config, placement, now) - placement.tried - placement.in_flight,
          Code::kCanary);
  if (placement.prologue == Prologue::kNeeded) limit(1, Code::kPrologueRuns);
  if (OnlyProbes(config, campaign, placement))
    limit(now < NextProbe(config, placement) ? 0 : 1 - placement.in_flight, Code::kShortSurvival);

  const auto hold =
      carried.holds.empty() ? carried.holds.end() : carried.holds.find({campaign.id, cluster.id});
  if (placement.slots > cluster.max)
    entry.block = Code::kTooManySlots;
  else if (!placement.held.empty())
    entry.block = Code::kHeld;
  else if (hold != carried.holds.end() && now < hold->second.until)
    entry.block = Code::kBlackHole;
  else if (placement.prologue == Prologue::kRunning)
    entry.block = Code::kPrologueRuns;
  else if (placement.prologue == Prologue::kFailed)
    entry.block = Code::kPrologueFailed;
  else if (campaign.test && (placement.tested || placement.in_flight > 0))
    entry.block = Code::kTestDone;
}

double AllocationState::TotalRoom() const {
  double total = 0;
  for (const auto& c : clusters)
    if (c.block == Code::kNone) total += c.free + std::max(0.0, c.queue);
  return total;
}

bool AllocationState::AllFull() const {
  return std::all_of(clusters.begin(), clusters.end(), [](const auto& c) { return c.Full(); });
}

std::int64_t AllocationState::FreeJobs(const PlacementAllocation& placement) const {
  const double free = clusters[placement.cluster].free;
  const bool fits = free + kEpsilon >= placement.slots;
  // A job wider than what is idle cannot start, unless it was measured to take less than it says.
  if (free <= 0 || (placement.whole && !fits)) return 0;
  const auto jobs = static_cast<std::int64_t>(free / placement.cost + kEpsilon);
  if (jobs > 0 || !fits || placement.given > 0) return jobs;
  // CIG-29: however low its ratio is, one job goes when it fits and none is on its way there: with
  // nothing sent the ratio would never rise.
  return placement.row->in_flight == placement.row->running ? 1 : 0;
}

std::int64_t AllocationState::QueuePlaces(const PlacementAllocation& placement) const {
  const double queue = clusters[placement.cluster].queue;
  if (queue < 1 - kEpsilon) return 0;
  // One may take more than what is left, and whoever comes then gets none until it has started: a
  // queue that short jobs fill again and again would never have room for a long one.
  return std::max<std::int64_t>(
      1, static_cast<std::int64_t>(queue / std::max(1.0, placement.place) + kEpsilon));
}

Room AllocationState::MeterRoom(const PlacementAllocation& placement, Room room) const {
  auto apply = [&](const MeterUse& use) {
    const double each = use.per_job + use.per_slot * placement.slots;
    if (each <= 0) return;
    const auto n = static_cast<std::int64_t>(std::floor(meters[use.meter].room / each + kEpsilon));
    if (n < room.jobs) room = {n, meters[use.meter].code, use.meter};
  };
  for (const auto& use : clusters[placement.cluster].uses) apply(use);
  for (const auto& use : campaigns[placement.campaign].uses) apply(use);
  for (int i = 0; i < placement.uses; ++i) apply(placement_uses[placement.uses_begin + i]);
  return room;
}

// Slots that later jobs may use without keeping the multi-slot one from starting when it could.
double AllocationState::BypassSlots(const ClusterAllocation& c) const {
  const double needs = placements[c.multi_slots[c.multi_slot].placement].slots;
  if (c.free >= needs) return c.free - needs;
  return config.backfill ? c.spare : 0;
}

// A multi-slot job that later ones have passed too often keeps them out, save those that do not
// delay it.
Room AllocationState::ReservationRoom(const PlacementAllocation& placement, Room room) const {
  const ClusterAllocation& c = clusters[placement.cluster];
  const PlacementAllocation& multi_slot = placements[c.multi_slots[c.multi_slot].placement];
  const Campaign& who = *campaigns[placement.campaign].row;
  if (placement.campaign <= multi_slot.campaign || placement.slots >= multi_slot.slots) return room;
  if (who.test || who.cls == "urgent") return room;
  const double need = LengthOf(who);
  if (config.backfill && need > 0 && c.ends_by > 0 && now + need <= c.ends_by + kEpsilon)
    return room;
  const auto pass =
      static_cast<std::int64_t>(c.multi_slots[c.multi_slot].pass) +
      static_cast<std::int64_t>(std::floor(BypassSlots(c) / placement.cost + kEpsilon));
  return pass < room.jobs ? Room{pass, Code::kMultiSlotReservation, -1} : room;
}

// Counts `jobs` that start before a multi-slot job of an earlier campaign.
void AllocationState::BypassMultiSlot(const PlacementAllocation& placement, std::int64_t jobs) {
  ClusterAllocation& c = clusters[placement.cluster];
  if (!c.HasMultiSlot() ||
      placement.campaign <= placements[c.multi_slots[c.multi_slot].placement].campaign)
    return;
  auto& multi_slot = c.multi_slots[c.multi_slot];
  const double harmless = std::floor(BypassSlots(c) / placement.cost + kEpsilon);
  const double passing = std::max(0.0, static_cast<double>(jobs) - harmless);
  multi_slot.bypassed += passing;
  multi_slot.pass = std::max(0.0, multi_slot.pass - passing);
}

void AllocationState::NextMultiSlot(ClusterAllocation& c) {
  for (; c.HasMultiSlot(); ++c.multi_slot) {
    const PlacementAllocation& placement = placements[c.multi_slots[c.multi_slot].placement];
    const bool wants = campaigns[placement.campaign].left > placement.avoid && placement.left > 0;
    if (wants && placement.given == 0) break;
  }
  c.ends_by = c.spare = 0;
  if (!c.HasMultiSlot()) return;
  const double needs = placements[c.multi_slots[c.multi_slot].placement].slots;
  std::sort(c.releases.begin(), c.releases.end(),
            [](const auto& a, const auto& b) { return a.at < b.at; });
  double free = c.free;
  for (std::size_t i = 0; i < c.releases.size() && free < needs; ++i) {
    free += c.releases[i].slots;
    if (free >= needs) c.ends_by = c.releases[i].at, c.spare = std::min(c.free, free - needs);
  }
}

Room AllocationState::RoomOf(int l) const {
  const PlacementAllocation& placement = placements[l];
  const ClusterAllocation& cluster = clusters[placement.cluster];
  const CampaignAllocation& campaign = campaigns[placement.campaign];
  if (cluster.block != Code::kNone) return {0, cluster.block, -1};
  if (placement.block != Code::kNone) return {0, placement.block, -1};
  if (campaign.block != Code::kNone) return {0, campaign.block, -1};
  if (cluster.held_for >= 0 && cluster.held_for != placement.campaign)
    return {0, Code::kMultiSlotReservation, -1};
  // Where multi-slot jobs are waited for here (FBS-19), none is parked in a cluster's queue.
  const bool waits_here = config.multi_slot_age >= 0 && placement.slots > 1;
  const std::int64_t places = FreeJobs(placement) + (waits_here ? 0 : QueuePlaces(placement));
  if (places <= 0) return {0, cluster.winner >= 0 ? Code::kServedBefore : Code::kFull, -1};
  Room room{places, Code::kFull, -1};
  if (placement.left < room.jobs) room = {placement.left, placement.limit, -1};
  const std::int64_t tasks = std::max<std::int64_t>(0, campaign.left - placement.avoid) +
                             (campaign.overdue == 0 ? 0 : OverdueElsewhere(placement));
  const std::int64_t demand = std::min(tasks, campaign.cap);
  if (demand < room.jobs) room = {demand, campaign.left > 0 ? Code::kAvoided : Code::kNoTask, -1};
  // Asked here too, so that a scheduler that takes less than it is offered ends the policy's turns.
  if (room.jobs > 0 && campaign.selected)
    if (const auto n = AskScheduler(placement, room.jobs); n < room.jobs)
      room = {n, Code::kScheduler, -1};
  if (room.jobs > 0 && cluster.HasMultiSlot()) room = ReservationRoom(placement, room);
  if (room.jobs > 0 && !meters.empty()) room = MeterRoom(placement, room);
  return room;
}

Room AllocationState::WhyOf(int l) const {
  const Room room = RoomOf(l);
  if (room.jobs > 0) return {room.jobs, Code::kNone, -1};
  if (room.code != Code::kFull && room.code != Code::kServedBefore) return room;
  if (placements[l].left <= 0) return {0, placements[l].limit, -1};
  // A scheduler that takes no more on an empty cluster either is the reason, not the cluster.
  const CampaignAllocation& campaign = campaigns[placements[l].campaign];
  const Offer empty{kMostOffered, kMostOffered, kMostOffered, placements[l].given};
  if (campaign.selected && campaign.scheduler->Jobs(*placements[l].row, empty) <= 0)
    return {0, Code::kScheduler, -1};
  const Room rule = MeterRoom(placements[l], {1, Code::kNone, -1});
  return rule.jobs <= 0 ? rule : room;
}

std::int64_t AllocationState::RulesAllow(int l) const {
  const PlacementAllocation& placement = placements[l];
  const CampaignAllocation& campaign = campaigns[placement.campaign];
  if (clusters[placement.cluster].block != Code::kNone || placement.block != Code::kNone) return 0;
  const std::int64_t jobs = std::min<std::int64_t>(placement.left, campaign.left - placement.avoid);
  return jobs <= 0 ? 0 : MeterRoom(placement, {jobs, Code::kNone, -1}).jobs;
}

// A copy goes where the slow one is not; to the same cluster only when there is no other.
std::int64_t AllocationState::OverdueElsewhere(const PlacementAllocation& placement) const {
  const CampaignAllocation& campaign = campaigns[placement.campaign];
  if (campaign.overdue == 0) return 0;
  if (campaign.open_placements < 2) return campaign.overdue;
  std::int64_t total = 0;
  for (int l = campaign.placements_begin; l < campaign.placements_end; ++l)
    total += placements[l].row->overdue;
  return std::min(campaign.overdue, total - placement.row->overdue);
}

void AllocationState::Spend(PlacementAllocation& placement, std::int64_t jobs) {
  ClusterAllocation& cluster = clusters[placement.cluster];
  CampaignAllocation& campaign = campaigns[placement.campaign];
  BypassMultiSlot(placement, jobs);
  const std::int64_t start = std::min(jobs, FreeJobs(placement));
  // The one job that goes whatever the ratio is takes what it asks for.
  const double each = placement.cost > cluster.free + kEpsilon ? placement.slots : placement.cost;
  cluster.free = std::max(0.0, cluster.free - static_cast<double>(start) * each);
  cluster.queue -= static_cast<double>(jobs - start) * std::max(1.0, placement.place);
  const double slots = static_cast<double>(jobs) * placement.slots;
  if (const double length = LengthOf(*campaign.row); cluster.HasMultiSlot() && length > 0)
    cluster.releases.push_back({now + length, static_cast<int>(slots)});
  auto spend = [&](const MeterUse& use) {
    meters[use.meter].room -= use.per_job * static_cast<double>(jobs) + use.per_slot * slots;
  };
  for (const auto& use : cluster.uses) spend(use);
  for (const auto& use : campaign.uses) spend(use);
  for (int i = 0; i < placement.uses; ++i) spend(placement_uses[placement.uses_begin + i]);
  placement.left -= static_cast<int>(jobs);
  campaign.held_slots += slots;
  campaign.held_jobs += jobs;
  campaign.cap -= jobs;
  if (!placement.served) {
    placement.served = true;
    served.push_back(static_cast<int>(&placement - placements.data()));
  }
  const std::int64_t here =
      placement.given + placement.copies + (placement.prologue ? 1 : 0) + jobs;
  if (here > cluster.winner_jobs) cluster.winner = placement.campaign, cluster.winner_jobs = here;
}

// Cut to what was offered: whatever a scheduler answers, no limit can be passed.
std::int64_t AllocationState::AskScheduler(const PlacementAllocation& placement,
                                           std::int64_t tasks) const {
  const Offer offer{FreeJobs(placement), QueuePlaces(placement), tasks, placement.given};
  const std::int64_t most = std::min(offer.free_jobs + offer.queue_places, tasks);
  const std::int64_t n = campaigns[placement.campaign].scheduler->Jobs(*placement.row, offer);
  return std::max<std::int64_t>(0, std::min(n, most));
}

std::int64_t AllocationState::Take(int l, std::int64_t want) {
  want = std::min(want, RoomOf(l).jobs);
  if (want <= 0) return 0;
  PlacementAllocation& placement = placements[l];
  CampaignAllocation& campaign = campaigns[placement.campaign];
  if (placement.row->prologue == Prologue::kNeeded) {
    Spend(placement, 1);
    placement.prologue = true;
    NextMultiSlot(clusters[placement.cluster]);
    return 1;
  }
  const std::int64_t copies = TakeCopies(l, std::min(want, OverdueElsewhere(placement)));
  campaign.overdue -= copies;
  const std::int64_t n =
      AskScheduler(placement, std::min(want - copies, campaign.left - placement.avoid));
  if (n > 0) Spend(placement, n);
  placement.given += static_cast<int>(n);
  campaign.left -= n;
  if (clusters[placement.cluster].HasMultiSlot()) NextMultiSlot(clusters[placement.cluster]);
  if (n > 0 && campaign.row->test) placement.block = Code::kTestDone;
  return copies + n;
}

std::int64_t AllocationState::TakeCopies(int l, std::int64_t want) {
  if (want <= 0) return 0;
  PlacementAllocation& placement = placements[l];
  const Offer offer{FreeJobs(placement), 0, want, placement.copies};
  const std::int64_t n =
      std::min(want, campaigns[placement.campaign].copies->Jobs(*placement.row, offer));
  if (n <= 0) return 0;
  Spend(placement, n);
  placement.copies += static_cast<int>(n);
  return n;
}

// The rules for a task that waits hold for a copy and for a recalled job too: room as if `waiting`
// tasks waited.
std::int64_t AllocationState::RoomAsIf(int l, std::int64_t waiting) {
  if (waiting <= 0 || placements[l].row->prologue == Prologue::kNeeded) return 0;
  CampaignAllocation& campaign = campaigns[placements[l].campaign];
  const std::int64_t left = std::exchange(campaign.left, waiting + placements[l].avoid);
  const std::int64_t room = RoomOf(l).jobs;
  campaign.left = left;
  return std::min(waiting, room);
}

std::int64_t AllocationState::TakeSpare(int l, std::int64_t want) {
  return TakeCopies(l, RoomAsIf(l, want));
}

std::int64_t AllocationState::TakeIdle(int l, std::int64_t want) {
  const std::int64_t n = std::min(RoomAsIf(l, want), FreeJobs(placements[l]));
  if (n > 0) Spend(placements[l], n);
  return n;
}

std::vector<Unit> MakeUnits(AllocationState& alloc, const std::vector<int>& campaigns) {
  std::vector<Unit> units;
  units.reserve(campaigns.size());
  const int parallel = alloc.config.parallel_campaigns;
  if (parallel <= 0) {
    for (const int i : campaigns) units.push_back({{i}});
    return units;
  }
  std::vector<int> order = campaigns;
  // TECH-17: the best priority, then the earliest.
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return alloc.campaigns[a].row->priority > alloc.campaigns[b].row->priority;
  });
  std::unordered_map<std::string, std::vector<int>> of_user;  // user -> places in units
  std::unordered_map<std::string, std::size_t> seen;
  for (const int i : order) {
    if (!alloc.campaigns[i].in_play || alloc.Demand(i) == 0) continue;
    auto& mine = of_user[alloc.campaigns[i].row->user];
    const std::size_t nth = seen[alloc.campaigns[i].row->user]++;
    if (nth < static_cast<std::size_t>(parallel)) {
      mine.push_back(static_cast<int>(units.size()));
      units.push_back({{i}});
    } else {
      Unit& unit = units[mine[nth % parallel]];
      alloc.campaigns[i].behind = unit.campaigns.back();
      unit.campaigns.push_back(i);
    }
  }
  std::sort(units.begin(), units.end(),
            [](const Unit& a, const Unit& b) { return a.head() < b.head(); });
  return units;
}

}  // namespace cigri::policy
