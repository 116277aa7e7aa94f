#include "policy/policies/lags.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "policy/shares.h"

namespace cigri::policy {
namespace {

double LargestJob(const AllocationState& alloc, const std::vector<Claim>& claims) {
  double most = 0;
  for (const auto& claim : claims)
    for (const int i : claim.unit.campaigns) {
      const CampaignAllocation& c = alloc.campaigns[i];
      if (c.placements_begin == c.placements_end) continue;
      most = std::max(most, MeanOf(*c.row) * alloc.placements[c.placements_begin].slots);
    }
  return most > 0 ? most : std::numeric_limits<double>::max();
}

// What runs: a job that is on its way, or whose end has not been seen, uses nothing.
std::unordered_map<std::string, double> RunningSlots(const AllocationState& alloc) {
  std::unordered_map<std::string, double> slots;
  for (const auto& c : alloc.campaigns)
    if (c.running_slots > 0 && c.row->cls != "scavenger")
      slots[UserKey(c.project, c.row->user)] += c.running_slots;
  return slots;
}

// What each user got since the last decision, against its share of what all who wanted slots had.
void Advance(double now, Lags& lags) {
  double slots = 0;
  std::vector<double> shares, wants;
  for (const auto& [user, lag] : lags) {
    if (lag.at == now) return;
    slots += lag.slots;
    shares.push_back(lag.share);
    wants.push_back(lag.want);
  }
  const auto due = WaterFill(slots, shares, wants);
  auto mine = due.begin();
  for (auto& [user, lag] : lags) {
    const double behind = lag.behind + (*mine++ - lag.slots) * std::max(0.0, now - lag.at);
    lag = {.behind = behind};
  }
}

}  // namespace

LagKeeper::LagKeeper(const AllocationState& alloc, const std::vector<Claim>& claims, Lags& lags)
    : alloc_(alloc), own_(alloc.meters.size()) {
  if (claims.empty()) return;
  Advance(alloc.now, lags);
  const double most = LargestJob(alloc, claims);
  bool fresh = false;
  std::vector<std::string> keys;
  for (const auto& claim : claims) {
    const CampaignAllocation& head = alloc.campaigns[claim.unit.head()];
    keys.push_back(UserKey(head.project, head.row->user));
    State::Lag& lag = lags[keys.back()];
    lag.behind = std::clamp(lag.behind, -most, most);
    fresh = fresh || lag.at != alloc.now;
    members_.push_back({&lag, claim.unit.campaigns});
  }
  if (!fresh) return;
  // The first time in this decision.
  const auto running = RunningSlots(alloc);
  for (std::size_t i = 0; i < members_.size(); ++i) {
    State::Lag& lag = *members_[i].lag;
    if (lag.at == alloc.now) continue;
    const auto it = running.find(keys[i]);
    lag.slots = it == running.end() ? 0 : it->second;
    lag.at = alloc.now;
  }
}

double LagKeeper::HeldBy(const Member& member) const {
  double slots = 0;
  for (const int i : member.campaigns) slots += alloc_.campaigns[i].used_slots();
  return slots;
}

void LagKeeper::AddOwn(const std::vector<int>& campaigns, int times) {
  for (const int i : campaigns) {
    const CampaignAllocation& c = alloc_.campaigns[i];
    if (own_.empty() || c.held_jobs == 0) continue;
    for (int l = c.placements_begin; l < c.placements_end; ++l) {
      alloc_.PrefetchAfter(l);
      const PlacementAllocation& placement = alloc_.placements[l];
      const double jobs = placement.row->in_flight + placement.given + placement.copies;
      if (jobs == 0) continue;
      alloc_.EachUse(placement, [&](const MeterUse& use) {
        own_[use.meter] += times * jobs * (use.per_job + use.per_slot * placement.slots);
      });
    }
  }
}

// Slots that they could use if all were idle. What others hold of a limit is wanted too: a job that
// needs more than they leave would else never be missed.
double LagKeeper::Reach(const std::vector<int>& campaigns) {
  double slots = 0;
  AddOwn(campaigns, 1);
  for (const int i : campaigns) {
    const CampaignAllocation& c = alloc_.campaigns[i];
    double mine = 0;
    for (int l = c.placements_begin; l < c.placements_end; ++l) {
      const PlacementAllocation& placement = alloc_.placements[l];
      const double most = static_cast<double>(c.left + c.overdue) * placement.slots;
      if (mine >= most) break;
      const int max = alloc_.clusters[placement.cluster].row->max;
      mine += std::min({static_cast<double>(alloc_.RulesAllow(l, &own_)) * placement.slots,
                        static_cast<double>(max), most - mine});
    }
    slots += mine;
  }
  AddOwn(campaigns, -1);
  return slots;
}

void LagKeeper::Begin(const std::vector<Claim>& claims, const std::vector<Leaf>& leaves) {
  for (auto& member : members_) member.lag->share = member.lag->want = 0;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    Member& member = members_[i];
    member.held = HeldBy(member);
    member.lag->share += leaves[i].share;
    member.lag->want += claims[i].held + claims[i].queued + Reach(member.campaigns);
  }
}

void LagKeeper::End() {
  for (auto& member : members_) member.lag->slots += HeldBy(member) - member.held;
}

}  // namespace cigri::policy
