#include "policy/guard.h"

#include <algorithm>
#include <vector>

namespace cigri::policy {
namespace {

// Median of the campaign's medians on its other clusters; 0 = nothing to compare with.
double MedianElsewhere(const Ledger& ledger, const CampaignBook& campaign, int here) {
  std::vector<double> medians;
  for (int l = campaign.lanes_begin; l < campaign.lanes_end; ++l)
    if (l != here && ledger.lanes[l].row->median_s > 0)
      medians.push_back(ledger.lanes[l].row->median_s);
  if (medians.empty()) return 0;
  auto middle = medians.begin() + static_cast<std::ptrdiff_t>(medians.size() / 2);
  std::nth_element(medians.begin(), middle, medians.end());
  return *middle;
}

bool IsSink(const Ledger& ledger, const CampaignBook& campaign, int l) {
  const Lane& lane = *ledger.lanes[l].row;
  const int needed = SinkCount(ledger.config, *campaign.row);
  if (needed == 0 || lane.recent < needed) return false;
  if (lane.recent_longest_s < campaign.row->min_duration_s) return true;
  if (ledger.config.sink_count <= 0) return false;
  // Short jobs are short everywhere: without another cluster nothing is known.
  const double elsewhere = MedianElsewhere(ledger, campaign, l);
  return elsewhere > ledger.config.sink_min_s &&
         lane.recent_longest_s < elsewhere * ledger.config.sink_fraction;
}

}  // namespace

int SinkCount(const PolicyConfig& config, const Campaign& campaign) {
  constexpr int kUserSaysSo = 5;  // with min_duration in the JDL and no rule of the operator
  if (config.sink_count > 0) return config.sink_count;
  return campaign.min_duration_s > 0 ? kUserSaysSo : 0;
}

void HoldSinks(Ledger& ledger, PlanResult& result) {
  for (const auto& campaign : ledger.campaigns) {
    if (SinkCount(ledger.config, *campaign.row) == 0) continue;
    for (int l = campaign.lanes_begin; l < campaign.lanes_end; ++l) {
      LaneBook& lane = ledger.lanes[l];
      if (lane.block != Code::kNone || !IsSink(ledger, campaign, l)) continue;
      lane.block = Code::kSink;
      const Hold hold{.campaign = campaign.row->id,
                      .cluster = lane.row->cluster,
                      .code = "SINK",
                      .since = ledger.now,
                      .until = ledger.now + ledger.config.sink_hold_s,
                      .requeue = lane.row->recent};
      result.plan.holds.push_back(hold);
      result.next.holds[{hold.campaign, hold.cluster}] = hold;
    }
  }
}

void WaitForAffinity(Ledger& ledger) {
  for (auto& campaign : ledger.campaigns) {
    const double patience = campaign.row->affinity_wait_s > 0 ? campaign.row->affinity_wait_s
                                                              : ledger.config.affinity_wait_s;
    if (ledger.now - campaign.row->waiting_since >= patience) continue;
    bool has_local = false;
    for (int l = campaign.lanes_begin; l < campaign.lanes_end; ++l) {
      const LaneBook& lane = ledger.lanes[l];
      has_local = has_local || (lane.row->local && lane.block == Code::kNone &&
                                ledger.clusters[lane.cluster].block == Code::kNone);
    }
    for (int l = campaign.lanes_begin; has_local && l < campaign.lanes_end; ++l) {
      LaneBook& lane = ledger.lanes[l];
      if (lane.block == Code::kNone && !lane.row->local) lane.block = Code::kAffinityWait;
    }
  }
}

}  // namespace cigri::policy
