#include "policy/why.h"

#include <cmath>
#include <ctime>

#include "core/pluralize.h"
#include "core/text.h"
#include "policy/guard.h"
#include "policy/own_order.h"

namespace cigri::policy {
namespace {

// The placement that idle slots are kept for.
int ReservedPlacement(const AllocationState& alloc, const ClusterAllocation& cluster, int place) {
  if (cluster.held_for < 0)
    return cluster.HasMultiSlot() ? cluster.multi_slots[cluster.multi_slot].placement : -1;
  const CampaignAllocation& holder = alloc.campaigns[cluster.held_for];
  for (int l = holder.placements_begin; l < holder.placements_end; ++l)
    if (alloc.placements[l].cluster == place) return l;
  return -1;
}

// The placement among the multi-slot jobs of its cluster that may be waited for.
const ClusterAllocation::MultiSlot* LooksAfter(const ClusterAllocation& cluster, int placement) {
  for (const auto& multi_slot : cluster.multi_slots)
    if (multi_slot.placement == placement && multi_slot.due) return &multi_slot;
  return nullptr;
}

double TimesBypassed(const AllocationState& alloc, const State& next,
                     const PlacementAllocation& placement) {
  const Campaign& campaign = *alloc.campaigns[placement.campaign].row;
  const auto it = next.ageing.find({campaign.id, placement.row->cluster});
  const auto rule = alloc.MultiSlotOf(placement);
  return it == next.ageing.end() ? 0 : std::round((it->second.age - rule.start) / rule.step);
}

// What a job waits for that narrower ones pass: the slots that are kept for it, or will be.
Code WaitsForSlots(const AllocationState& alloc, const State& next, int l) {
  const PlacementAllocation& placement = alloc.placements[l];
  const ClusterAllocation& cluster = alloc.clusters[placement.cluster];
  if (cluster.held_for == placement.campaign) return Code::kSlotsKept;
  const auto* multi_slot = LooksAfter(cluster, l);
  if (multi_slot == nullptr) return Code::kNone;
  if (multi_slot->pass > 0)
    return TimesBypassed(alloc, next, placement) > 0 ? Code::kBypassed : Code::kNone;
  return ReservedPlacement(alloc, cluster, placement.cluster) == l ? Code::kSlotsKept : Code::kNone;
}

std::string DayAndTime(double epoch_s) {
  const auto at = static_cast<std::time_t>(epoch_s);
  std::tm tm{};
  char text[32];
  gmtime_r(&at, &tm);
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &tm);
  return text;
}

double HeldUntil(const State& next, const Reason& reason) {
  const auto it = next.holds.find({reason.campaign, reason.cluster});
  return it == next.holds.end() ? 0 : it->second.until;
}

// Numbers as NumberNames() calls them.
void Explain(const AllocationState& alloc, const State& next, int l, const Room& room,
             Reason& reason) {
  const PlacementAllocation& placement = alloc.placements[l];
  const ClusterAllocation& cluster = alloc.clusters[placement.cluster];
  const CampaignAllocation& campaign = alloc.campaigns[placement.campaign];
  switch (reason.code) {
    case Code::kSuspended:
      reason.numbers = {double(campaign.row->priority)};
      break;
    case Code::kNoTask:
    case Code::kTestDone:
    case Code::kAvoided:
      reason.numbers = {double(campaign.left)};
      break;
    case Code::kScheduler:
      reason.numbers = {double(placement.given)};
      reason.detail = campaign.row->scheduler;
      break;
    case Code::kTooManySlots:
      reason.numbers = {double(placement.slots), double(cluster.row->max)};
      break;
    case Code::kHeld:
      reason.numbers = {double(placement.row->in_flight)};
      reason.detail = placement.row->held;
      break;
    case Code::kBlackHole:
      reason.numbers = {double(placement.row->recent), placement.row->recent_longest_s,
                        HeldUntil(next, reason)};
      break;
    case Code::kShortSurvival:
      reason.numbers = {campaign.row->need_s, placement.row->median_survival_s,
                        NextProbe(alloc.config, *placement.row)};
      reason.detail = placement.row->in_flight + placement.given > 0
                          ? "a probe is in flight"
                          : "the next probe goes at " + ClockTime(reason.numbers[2]);
      break;
    case Code::kUnsafeSlots:
    case Code::kStragglers:
      reason.numbers = alloc.limit_numbers.at(l);
      if (room.code == Code::kUnsafeSlots && reason.numbers[2] > 0)
        reason.detail = "one goes there all the same at " + ClockTime(reason.numbers[2]);
      break;
    case Code::kAffinityWait:
      reason.numbers = {alloc.now - campaign.row->waiting_since,
                        campaign.row->affinity_wait_s > 0 ? campaign.row->affinity_wait_s
                                                          : alloc.config.affinity_wait_s};
      break;
    case Code::kPrologueRuns:
      reason.numbers = {double(placement.row->in_flight)};
      break;
    case Code::kMaxJobs:
    case Code::kCanary: {
      const bool own = reason.code == Code::kMaxJobs;
      reason.numbers = {
          double(own ? placement.row->max_jobs
                     : CanaryJobsLeft(alloc.config, *placement.row, alloc.now, alloc.shared) +
                           placement.row->in_flight + placement.row->tried),
          double(placement.row->in_flight + placement.given + placement.copies),
          own ? 0 : double(placement.row->tried)};
      break;
    }
    case Code::kBadGroup:
      reason.detail = campaign.row->sla_group;
      break;
    case Code::kDisabled:
    case Code::kStale:
    case Code::kDrained:
    case Code::kHours:
    case Code::kBreaker:
    case Code::kStress:
      reason.detail = cluster.row->why;
      break;
    case Code::kFull:
      reason.numbers = {cluster.free, double(placement.slots),
                        double(cluster.row->waiting + cluster.row->launching)};
      break;
    case Code::kClassFull: {
      const ClassAllocation& c = alloc.classes[placement.resource_class - 1];
      reason.numbers = {std::floor(c.free + kEpsilon), double(c.row->total),
                        double(placement.units())};
      reason.detail = c.row->name;
      break;
    }
    case Code::kServedBefore:
      reason.numbers = {cluster.free, double(placement.slots), double(cluster.winner_jobs)};
      reason.other = alloc.campaigns[cluster.winner].row->id;
      break;
    case Code::kOwnFirst: {
      const CampaignAllocation& first =
          alloc.campaigns[room.code == Code::kOwnFirst ? campaign.own_wide
                                                       : OwnFirst(alloc, placement.campaign)];
      reason.numbers = {OwnWorkOf(alloc, first).left_s, OwnWorkOf(alloc, campaign).left_s};
      reason.other = first.row->id;
      reason.detail = WhyOwnFirst(alloc, first, campaign);
      break;
    }
    case Code::kMultiSlotReservation: {
      const int multi_slot = ReservedPlacement(alloc, cluster, placement.cluster);
      if (multi_slot < 0) break;
      reason.numbers = {std::floor(alloc.IdleFor(alloc.placements[multi_slot])),
                        double(alloc.placements[multi_slot].slots)};
      reason.other = alloc.campaigns[alloc.placements[multi_slot].campaign].row->id;
      break;
    }
    case Code::kSlotsKept:
      reason.numbers = {std::floor(alloc.IdleFor(placement)), double(placement.slots)};
      return;
    case Code::kBypassed:
      reason.numbers = {TimesBypassed(alloc, next, placement), LooksAfter(cluster, l)->pass,
                        double(placement.slots)};
      return;
    default:
      break;
  }
  if (room.meter >= 0) {
    const Meter& meter = alloc.meters[room.meter];
    double each = 0;
    alloc.EachUse(placement, [&](const MeterUse& use) {
      if (use.meter == room.meter) each = use.per_job + use.per_slot * placement.slots;
    });
    // What is kept is not left to those for whom it would be enough.
    const double kept = each > meter.room + meter.kept ? meter.kept : 0;
    reason.numbers = {meter.limit, meter.room + kept};
    if (meter.code == Code::kLicence) reason.numbers[2] = each;
    reason.detail = meter.name;
  }
}

// The nearest to being served names the campaign: a full cluster before a closed one.
int Distance(Code code) {
  switch (code) {
    case Code::kServedBefore:
    case Code::kOwnFirst:
      return 0;
    case Code::kMultiSlotReservation:
    case Code::kSlotsKept:
    case Code::kBypassed:
      return 1;
    case Code::kFull:
    case Code::kClassFull:
      return 2;
    case Code::kAffinityWait:
    case Code::kRate:
    case Code::kPrologueRuns:
    case Code::kCanary:
    case Code::kUnsafeSlots:
    case Code::kStragglers:
      return 3;
    case Code::kMaxJobs:
    case Code::kMaxJobsTotal:
    case Code::kQuota:
    case Code::kLicence:
    case Code::kReserve:
    case Code::kLimited:
    case Code::kMaxRunning:
      return 4;
    case Code::kNoTask:
    case Code::kTestDone:
      return 9;
    default:
      return 5;
  }
}

// The clusters whose next free slot goes to another campaign of the same user.
std::vector<bool> OwnNext(const AllocationState& alloc, int campaign) {
  std::vector<bool> clusters(alloc.clusters.size(), false);
  const int first = OwnFirst(alloc, campaign);
  if (first < 0) return clusters;
  const CampaignAllocation& c = alloc.campaigns[first];
  for (int l = c.placements_begin; l < c.placements_end; ++l) {
    const Code code = alloc.WhyOf(l).code;
    clusters[alloc.placements[l].cluster] =
        code == Code::kNone || code == Code::kFull || code == Code::kServedBefore;
  }
  return clusters;
}

void FillReason(const AllocationState& alloc, const State& next, int l, bool own_next,
                Reason& reason) {
  const PlacementAllocation& placement = alloc.placements[l];
  const Room room = alloc.WhyOf(l);
  reason.campaign = alloc.campaigns[placement.campaign].row->id;
  reason.cluster = alloc.clusters[placement.cluster].row->id;
  reason.code = room.code;
  // Its own jobs filled the cluster, or what was left of it: nobody was served before it.
  if (room.code == Code::kServedBefore &&
      (placement.given > 0 || alloc.clusters[placement.cluster].winner == placement.campaign))
    reason.code = Code::kFull;
  if (own_next && (reason.code == Code::kServedBefore || reason.code == Code::kFull))
    reason.code = Code::kOwnFirst;
  if (reason.code == Code::kServedBefore || reason.code == Code::kFull ||
      reason.code == Code::kMaxRunning || reason.code == Code::kReserve)
    if (const Code code = WaitsForSlots(alloc, next, l); code != Code::kNone) reason.code = code;
  Explain(alloc, next, l, room, reason);
}

// What holds the whole campaign, if anything does.
Reason WholeReason(const AllocationState& alloc, const CampaignAllocation& campaign) {
  Reason reason{.campaign = campaign.row->id, .main = true};
  if (campaign.block != Code::kNone) {
    reason.code = campaign.block;
    reason.numbers = {double(campaign.row->priority)};
    if (reason.code == Code::kBadGroup) reason.detail = campaign.row->sla_group;
    if (reason.code == Code::kAfter || reason.code == Code::kAfterFailed)
      return *PredecessorReason(*campaign.row);
    if (reason.code == Code::kNotBefore) {
      reason.numbers = {campaign.row->not_before};
      reason.detail = DayAndTime(campaign.row->not_before);
    }
  } else if (campaign.behind >= 0 && alloc.campaigns[campaign.behind].left > 0) {
    reason.code = Code::kBehindOwn;
    reason.numbers = {double(alloc.config.parallel_campaigns)};
    reason.other = alloc.campaigns[campaign.behind].row->id;
  } else if (campaign.placements_begin == campaign.placements_end) {
    reason.code = Code::kNoCluster;
  }
  return reason;
}

}  // namespace

std::optional<Reason> PredecessorReason(const Campaign& campaign) {
  Reason reason;
  reason.campaign = campaign.id;
  reason.main = true;
  if (campaign.after_failed != 0) {
    const int failed = campaign.failed_tasks;
    reason.code = Code::kAfterFailed;
    reason.numbers = {double(failed)};
    reason.other = campaign.after_failed;
    reason.detail = failed == 0 ? "it was cancelled" : Pluralize(failed, "task") + " of it failed";
  } else if (campaign.after != 0) {
    reason.code = Code::kAfter;
    reason.other = campaign.after;
  } else {
    return std::nullopt;
  }
  return reason;
}

void ReasonsOf(const AllocationState& alloc, const State& next, const TakeReason& take) {
  std::vector<Reason> reasons;  // of one campaign
  for (std::size_t i = 0; i < alloc.campaigns.size(); ++i) {
    const CampaignAllocation& campaign = alloc.campaigns[i];
    if (campaign.left <= 0) continue;
    const auto own_next = OwnNext(alloc, static_cast<int>(i));
    reasons.clear();
    Reason whole = WholeReason(alloc, campaign);
    if (whole.code != Code::kNone) reasons.push_back(whole);
    std::size_t main = 0;
    for (int l = campaign.placements_begin; l < campaign.placements_end; ++l) {
      FillReason(alloc, next, l, own_next[alloc.placements[l].cluster], reasons.emplace_back());
      if (Reason& here = reasons.back(); here.code == whole.code)
        here.numbers = whole.numbers, here.other = whole.other, here.detail = whole.detail;
      if (Distance(reasons.back().code) < Distance(reasons[main].code)) main = reasons.size() - 1;
    }
    if (whole.code == Code::kNone) std::swap(reasons[0], reasons[main]);
    reasons[0].main = true;
    for (const auto& reason : reasons) take(reason);
  }
}

}  // namespace cigri::policy
