#include "policy/why.h"

namespace cigri::policy {
namespace {

// The lane that idle slots are kept for.
int WideLane(const Ledger& ledger, const ClusterBook& cluster, int place) {
  if (cluster.held_for < 0) return cluster.HasWide() ? cluster.wides[cluster.wide].lane : -1;
  const CampaignBook& holder = ledger.campaigns[cluster.held_for];
  for (int l = holder.lanes_begin; l < holder.lanes_end; ++l)
    if (ledger.lanes[l].cluster == place) return l;
  return -1;
}

double HeldUntil(const State& next, const Reason& reason) {
  const auto it = next.holds.find({reason.campaign, reason.cluster});
  return it == next.holds.end() ? 0 : it->second.until;
}

// Numbers as NumberNames() calls them.
void Explain(const Ledger& ledger, const State& next, int l, const Room& room, Reason& reason) {
  const LaneBook& lane = ledger.lanes[l];
  const ClusterBook& cluster = ledger.clusters[lane.cluster];
  const CampaignBook& campaign = ledger.campaigns[lane.campaign];
  switch (reason.code) {
    case Code::kSuspended:
      reason.numbers = {double(campaign.row->priority)};
      break;
    case Code::kNoTask:
    case Code::kTestDone:
    case Code::kAvoided:
      reason.numbers = {double(campaign.left)};
      break;
    case Code::kTooWide:
      reason.numbers = {double(lane.slots), double(cluster.row->max)};
      break;
    case Code::kHeld:
      reason.numbers = {double(lane.row->in_flight)};
      reason.detail = lane.row->held;
      break;
    case Code::kSink:
      reason.numbers = {double(lane.row->recent), lane.row->recent_longest_s,
                        HeldUntil(next, reason)};
      break;
    case Code::kTooShortLives:
      reason.numbers = {campaign.row->need_s, lane.row->median_life_s, double(lane.row->kills)};
      break;
    case Code::kAffinityWait:
      reason.numbers = {ledger.now - campaign.row->waiting_since,
                        campaign.row->affinity_wait_s > 0 ? campaign.row->affinity_wait_s
                                                          : ledger.config.affinity_wait_s};
      break;
    case Code::kPrologueRuns:
      reason.numbers = {double(lane.row->in_flight)};
      break;
    case Code::kMaxJobs:
    case Code::kFirstTen: {
      const bool own = reason.code == Code::kMaxJobs;
      reason.numbers = {double(own ? lane.row->max_jobs : ledger.config.first_ten),
                        double(lane.row->in_flight + lane.given + lane.copies),
                        own ? 0 : double(lane.row->tried)};
      break;
    }
    case Code::kBadGroup:
      reason.detail = campaign.row->sla_group;
      break;
    case Code::kAfter:
      reason.other = campaign.row->after;
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
      reason.numbers = {cluster.free, double(lane.slots),
                        double(cluster.row->waiting + cluster.row->launching)};
      break;
    case Code::kServedBefore:
      reason.numbers = {cluster.free, double(lane.slots), double(cluster.winner_jobs)};
      reason.other = ledger.campaigns[cluster.winner].row->id;
      break;
    case Code::kGapHold: {
      const int wide = WideLane(ledger, cluster, lane.cluster);
      if (wide < 0) break;
      reason.numbers = {cluster.free, double(ledger.lanes[wide].slots)};
      reason.other = ledger.campaigns[ledger.lanes[wide].campaign].row->id;
      break;
    }
    default:
      break;
  }
  if (room.meter >= 0) {
    const Meter& meter = ledger.meters[room.meter];
    reason.numbers = {meter.limit, meter.room};
    reason.detail = meter.name;
  }
}

// The nearest to being served names the campaign: a full cluster before a closed one.
int Distance(Code code) {
  switch (code) {
    case Code::kServedBefore:
      return 0;
    case Code::kGapHold:
      return 1;
    case Code::kFull:
      return 2;
    case Code::kAffinityWait:
    case Code::kRate:
    case Code::kPrologueRuns:
    case Code::kFirstTen:
      return 3;
    case Code::kMaxJobs:
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

void FillReason(const Ledger& ledger, const State& next, int l, Reason& reason) {
  const LaneBook& lane = ledger.lanes[l];
  const Room room = ledger.WhyOf(l);
  reason.campaign = ledger.campaigns[lane.campaign].row->id;
  reason.cluster = ledger.clusters[lane.cluster].row->id;
  reason.code = room.code;
  // Its own jobs filled the cluster: nobody was served before it.
  if (room.code == Code::kServedBefore && ledger.clusters[lane.cluster].winner == lane.campaign)
    reason.code = Code::kFull;
  Explain(ledger, next, l, room, reason);
}

// What holds the whole campaign, if anything does.
Reason WholeReason(const Ledger& ledger, const CampaignBook& campaign) {
  Reason reason{.campaign = campaign.row->id, .main = true};
  if (campaign.block != Code::kNone) {
    reason.code = campaign.block;
    reason.numbers = {double(campaign.row->priority)};
    if (reason.code == Code::kBadGroup) reason.detail = campaign.row->sla_group;
    if (reason.code == Code::kAfter) reason.numbers = {}, reason.other = campaign.row->after;
  } else if (campaign.behind >= 0 && ledger.campaigns[campaign.behind].left > 0) {
    reason.code = Code::kBehindOwn;
    reason.numbers = {double(ledger.config.parallel_campaigns)};
    reason.other = ledger.campaigns[campaign.behind].row->id;
  } else if (campaign.lanes_begin == campaign.lanes_end) {
    reason.code = Code::kNoCluster;
  }
  return reason;
}

}  // namespace

std::vector<Reason> ReasonsOf(const Ledger& ledger, const State& next) {
  std::vector<Reason> reasons;
  reasons.reserve(ledger.lanes.size() + ledger.campaigns.size());
  for (const auto& campaign : ledger.campaigns) {
    if (campaign.left <= 0) continue;
    const std::size_t first = reasons.size();
    Reason whole = WholeReason(ledger, campaign);
    if (whole.code != Code::kNone) reasons.push_back(whole);
    std::size_t main = first;
    for (int l = campaign.lanes_begin; l < campaign.lanes_end; ++l) {
      FillReason(ledger, next, l, reasons.emplace_back());
      if (Distance(reasons.back().code) < Distance(reasons[main].code)) main = reasons.size() - 1;
    }
    if (whole.code == Code::kNone) std::swap(reasons[first], reasons[main]);
    reasons[first].main = true;
  }
  return reasons;
}

}  // namespace cigri::policy
