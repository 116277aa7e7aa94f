// What a placement can be given now, why not more, and what its taking leaves to the others.
#include <algorithm>
#include <cmath>
#include <utility>

#include "policy/allocation_state.h"
#include "policy/guard.h"

namespace cigri::policy {
namespace {

constexpr std::int64_t kMostOffered = 1'000'000;

// Jobs that start when `free` is idle of what one needs `needs` of, and takes `cost` by its ratio.
std::int64_t Startable(const PlacementAllocation& placement, double free, int needs, double cost) {
  const bool fits = free + kEpsilon >= needs;
  // A job wider than what is idle cannot start, unless it was measured to take less than it says.
  if (free <= 0 || (placement.whole && !fits)) return 0;
  const auto jobs = static_cast<std::int64_t>(free / cost + kEpsilon);
  if (jobs > 0 || !fits || placement.given + placement.copies > 0) return jobs;
  // CIG-29: however low its ratio is, one job goes when it fits and none is on its way there: with
  // nothing sent the ratio would never rise.
  return placement.row->in_flight == placement.row->running ? 1 : 0;
}

// What `jobs` take of `free`: the one job that goes whatever the ratio is takes what it asks for.
void TakeFrom(double& free, std::int64_t jobs, double cost, int needs) {
  const double each = cost > free + kEpsilon ? needs : cost;
  free = std::max(0.0, free - static_cast<double>(jobs) * each);
}

// What ratios would have left of whole slots.
double More(double cost, int needs, std::int64_t jobs) {
  return std::max(0.0, needs - cost) * static_cast<double>(jobs);
}

std::int64_t PlacesIn(double queue, const PlacementAllocation& placement) {
  if (queue < 1 - kEpsilon) return 0;
  // One may take more than what is left, and whoever comes then gets none until it has started: a
  // queue that short jobs fill again and again would never have room for a long one.
  return std::max<std::int64_t>(
      1, static_cast<std::int64_t>(queue / std::max(1.0, placement.place) + kEpsilon));
}

}  // namespace

double AllocationState::IdleFor(const PlacementAllocation& placement) const {
  double slots = clusters[placement.cluster].free;
  EachUse(placement, [&](const MeterUse& use) {
    if (use.per_slot > 0) slots = std::min(slots, meters[use.meter].room / use.per_slot);
  });
  return slots;
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

// The job ratio holds for units as for slots.
double AllocationState::ClassCost(const PlacementAllocation& placement) const {
  return CostOf(placement) * placement.units() / placement.slots;
}

std::int64_t AllocationState::ClusterJobs(const PlacementAllocation& placement) const {
  return Startable(placement, clusters[placement.cluster].free, placement.slots, CostOf(placement));
}

std::int64_t AllocationState::ClassJobs(const PlacementAllocation& placement) const {
  return Startable(placement, classes[placement.resource_class - 1].free, placement.units(),
                   ClassCost(placement));
}

std::int64_t AllocationState::FreeJobs(const PlacementAllocation& placement) const {
  const std::int64_t jobs = ClusterJobs(placement);
  if (placement.resource_class == 0 || jobs == 0) return jobs;
  return std::min(jobs, ClassJobs(placement));
}

std::int64_t AllocationState::QueuePlaces(const PlacementAllocation& placement) const {
  const ClusterAllocation& cluster = clusters[placement.cluster];
  if (placement.resource_class == 0) return PlacesIn(cluster.queue, placement);
  if (cluster.Full()) return 0;
  // A job waits for what is scarcer.
  const std::int64_t on_cluster = ClusterJobs(placement), in_class = ClassJobs(placement);
  const std::int64_t for_units =
      PlacesIn(classes[placement.resource_class - 1].queue, placement);
  if (in_class <= on_cluster) return for_units;
  return std::min(PlacesIn(cluster.queue, placement), in_class - on_cluster + for_units);
}

double AllocationState::WaitsOf(const PlacementAllocation& placement) const {
  const double on_cluster = clusters[placement.cluster].waits;
  if (placement.resource_class == 0) return on_cluster;
  const double for_units = classes[placement.resource_class - 1].waits;
  return for_units + (1 - for_units) * on_cluster;
}

Code AllocationState::NoRoom(const PlacementAllocation& placement) const {
  if (placement.resource_class != 0 && ClassJobs(placement) <= 0) return Code::kClassFull;
  return clusters[placement.cluster].winner >= 0 ? Code::kServedBefore : Code::kFull;
}

Room AllocationState::MeterRoom(const PlacementAllocation& placement, Room room,
                                const std::vector<double>* own) const {
  EachUse(placement, [&](const MeterUse& use) {
    const double each = use.per_job + use.per_slot * placement.slots;
    if (each <= 0) return;
    const Meter& meter = meters[use.meter];
    if (own != nullptr && meter.code == Code::kRate) return;
    const double left =
        own == nullptr ? meter.room : std::max(0.0, meter.limit - (*own)[use.meter]);
    const auto n = static_cast<std::int64_t>(std::floor(left / each + kEpsilon));
    if (n < room.jobs) room = {n, meter.code, use.meter};
  });
  return room;
}

std::vector<AllocationState::Part> AllocationState::ToKeep(int l, const Room& room) const {
  const PlacementAllocation& placement = placements[l];
  const bool full = room.code == Code::kFull || room.code == Code::kServedBefore;
  const bool queues = full && clusters[placement.cluster].queue_later >= 1 - kEpsilon;
  std::vector<Part> parts;
  if (room.jobs > 0 || (room.meter < 0 && !queues)) return parts;
  bool other = false;
  EachUse(placement, [&](const MeterUse& use) {
    const Meter& meter = meters[use.meter];
    const double each = use.per_job + use.per_slot * placement.slots;
    if (each <= 0) return;
    const bool several = meter.code == Code::kLicence || (use.per_slot > 0 && placement.slots > 1);
    other = other || (each > meter.room + kEpsilon && (!several || each > meter.limit));
    if (several) parts.push_back({use.meter, std::min(meter.room, each)});
  });
  return other ? std::vector<Part>() : parts;
}

// Slots that later jobs may use without keeping the multi-slot one from starting when it could: of
// the idle ones, and of what a limit leaves that both draw from.
double AllocationState::BypassSlots(const PlacementAllocation& passing) const {
  const ClusterAllocation& c = clusters[passing.cluster];
  const PlacementAllocation& multi_slot = placements[c.multi_slots[c.multi_slot].placement];
  const double needs = multi_slot.slots;
  double slots = c.free >= needs ? c.free - needs : config.backfill ? c.spare : 0;
  EachUse(multi_slot, [&](const MeterUse& common) {
    if (common.per_slot <= 0) return;
    EachUse(passing, [&](const MeterUse& use) {
      if (use.meter == common.meter)
        slots = std::min(slots, std::max(0.0, meters[use.meter].room / use.per_slot - needs));
    });
  });
  return slots;
}

// Jobs of the placement that take none of the slots that are kept. Each needs all of its own: one
// that a job ratio lets go for fewer waits in the queue, for the next that come free.
double AllocationState::HarmlessJobs(const PlacementAllocation& passing) const {
  const double needs = std::max<double>(CostOf(passing), passing.slots);
  return std::floor(BypassSlots(passing) / needs + kEpsilon);
}

// Whether a start of the placement passes the multi-slot job that its cluster looks after: a
// narrower one of another campaign. Where campaigns share, an earlier one has no right to go first.
bool AllocationState::MayBypass(const PlacementAllocation& placement) const {
  const ClusterAllocation& c = clusters[placement.cluster];
  const PlacementAllocation& multi_slot = placements[c.multi_slots[c.multi_slot].placement];
  if (placement.campaign == multi_slot.campaign || placement.slots >= multi_slot.slots)
    return false;
  return !in_order || placement.campaign > multi_slot.campaign;
}

// A multi-slot job that narrower ones have passed too often keeps them out, save those that do not
// delay it.
Room AllocationState::ReservationRoom(const PlacementAllocation& placement, Room room) const {
  const ClusterAllocation& c = clusters[placement.cluster];
  const Campaign& who = *campaigns[placement.campaign].row;
  if (!MayBypass(placement)) return room;
  if (who.test || who.cls == "urgent") return room;
  const double need = LengthOf(who);
  if (config.backfill && need > 0 && c.ends_by > 0 && now + need <= c.ends_by + kEpsilon)
    return room;
  const auto pass = static_cast<std::int64_t>(c.multi_slots[c.multi_slot].pass) +
                    static_cast<std::int64_t>(HarmlessJobs(placement));
  return pass < room.jobs ? Room{pass, Code::kMultiSlotReservation, -1} : room;
}

// Counts `jobs` that start before a multi-slot job.
void AllocationState::BypassMultiSlot(const PlacementAllocation& placement, std::int64_t jobs) {
  ClusterAllocation& c = clusters[placement.cluster];
  if (!c.HasMultiSlot() || !MayBypass(placement)) return;
  auto& multi_slot = c.multi_slots[c.multi_slot];
  const double passing = std::max(0.0, static_cast<double>(jobs) - HarmlessJobs(placement));
  multi_slot.bypassed += passing;
  multi_slot.pass = std::max(0.0, multi_slot.pass - passing);
}

void AllocationState::NextMultiSlot(ClusterAllocation& c) {
  for (; c.HasMultiSlot(); ++c.multi_slot) {
    const PlacementAllocation& placement = placements[c.multi_slots[c.multi_slot].placement];
    const bool wants = campaigns[placement.campaign].left > placement.avoid && placement.left > 0;
    if (wants && placement.given == 0 && HasUnits(placement)) break;
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

// Where campaigns go in order, none that is waited for is parked in a queue (FBS-19). Where they
// share, a narrow one is: what starts there is a part of its user's share. One that takes much of
// the cluster would keep idle slots from all others until it starts, for hours.
bool AllocationState::WaitsInGrid(const PlacementAllocation& placement) const {
  if (placement.slots <= 1) return false;
  const ClusterAllocation& c = clusters[placement.cluster];
  const Campaign& campaign = *campaigns[placement.campaign].row;
  if (in_order) return config.MultiSlotOf(campaign.cls).age >= 0;
  return !campaign.test && c.narrowest < placement.slots &&
         config.TooWideToQueue(campaign.cls, placement.slots, c.row->max);
}

MultiSlotRule AllocationState::MultiSlotOf(const PlacementAllocation& placement) const {
  MultiSlotRule rule = config.MultiSlotOf(campaigns[placement.campaign].row->cls);
  if (rule.age < 0 && WaitsInGrid(placement)) rule.age = 0;
  return rule;
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
  const std::int64_t free_jobs = FreeJobs(placement);
  const std::int64_t places = free_jobs + (WaitsInGrid(placement) ? 0 : QueuePlaces(placement));
  if (places <= 0) return {0, NoRoom(placement), -1};
  Room room{places, Code::kFull, -1};
  if (placement.left < room.jobs) room = {placement.left, placement.limit, -1};
  // Copies take idle slots only.
  const std::int64_t copies = std::min(free_jobs, OverdueElsewhere(placement));
  const std::int64_t tasks = std::max<std::int64_t>(0, campaign.left - placement.avoid);
  const std::int64_t demand = std::min(tasks + copies, campaign.cap);
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
  if (room.code != Code::kFull && room.code != Code::kServedBefore && room.code != Code::kClassFull)
    return room;
  if (placements[l].left <= 0) return {0, placements[l].limit, -1};
  // A scheduler that takes no more on an empty cluster either is the reason, not the cluster.
  const CampaignAllocation& campaign = campaigns[placements[l].campaign];
  const Offer empty{kMostOffered, kMostOffered, kMostOffered, placements[l].given};
  if (campaign.selected && campaign.scheduler->Jobs(*placements[l].row, empty) <= 0)
    return {0, Code::kScheduler, -1};
  const Room rule = MeterRoom(placements[l], {1, Code::kNone, -1});
  return rule.jobs <= 0 ? rule : room;
}

std::int64_t AllocationState::RulesAllow(int l, const std::vector<double>* own) const {
  const PlacementAllocation& placement = placements[l];
  const CampaignAllocation& campaign = campaigns[placement.campaign];
  if (clusters[placement.cluster].block != Code::kNone || placement.block != Code::kNone) return 0;
  const std::int64_t jobs = std::min<std::int64_t>(placement.left, campaign.left - placement.avoid);
  return jobs <= 0 ? 0 : MeterRoom(placement, {jobs, Code::kNone, -1}, own).jobs;
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

// The jobs among `jobs` for which no unit is left; they wait for one.
std::int64_t AllocationState::SpendClass(const PlacementAllocation& placement, std::int64_t jobs) {
  ClassAllocation& c = classes[placement.resource_class - 1];
  const std::int64_t with_unit = std::min(jobs, ClassJobs(placement));
  TakeFrom(c.free, with_unit, ClassCost(placement), placement.units());
  if (whole_slots)
    c.more +=
        More(placement.cost * placement.units() / placement.slots, placement.units(), with_unit);
  c.queue -= static_cast<double>(jobs - with_unit) * std::max(1.0, placement.place);
  return jobs - with_unit;
}

void AllocationState::Spend(PlacementAllocation& placement, std::int64_t jobs) {
  ClusterAllocation& cluster = clusters[placement.cluster];
  CampaignAllocation& campaign = campaigns[placement.campaign];
  BypassMultiSlot(placement, jobs);
  const std::int64_t start = std::min(jobs, FreeJobs(placement));
  const std::int64_t for_units = placement.resource_class == 0 ? 0 : SpendClass(placement, jobs);
  const auto idle = static_cast<std::int64_t>(cluster.Idle() / placement.slots + kEpsilon);
  TakeFrom(cluster.free, start, CostOf(placement), placement.slots);
  if (whole_slots) cluster.more += More(placement.cost, placement.slots, start);
  cluster.queue -= static_cast<double>(jobs - start - for_units) * std::max(1.0, placement.place);
  const double slots = static_cast<double>(jobs) * placement.slots;
  if (const double length = LengthOf(*campaign.row); cluster.HasMultiSlot() && length > 0)
    cluster.releases.push_back({now + length, static_cast<int>(slots)});
  EachUse(placement, [&](const MeterUse& use) {
    meters[use.meter].room -= use.per_job * static_cast<double>(jobs) + use.per_slot * slots;
  });
  placement.left -= static_cast<int>(jobs);
  campaign.held_slots += slots;
  campaign.queued_slots += static_cast<double>(jobs - std::min(start, idle)) * placement.slots;
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

}  // namespace cigri::policy
