#include "policy/multi_slot.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "policy/own_order.h"
#include "policy/usage_summary.h"
#include "policy/user_due.h"

namespace cigri::policy {
namespace {

State::Pair KeyOf(const AllocationState& alloc, const PlacementAllocation& placement) {
  return {alloc.campaigns[placement.campaign].row->id, placement.row->cluster};
}

bool Resting(const State& next, const State::Pair& key, double now) {
  const auto it = next.ageing.find(key);
  return it != next.ageing.end() && now < it->second.rest_until;
}

double AgeOf(const State& next, const State::Pair& key, const MultiSlotRule& rule) {
  const auto it = next.ageing.find(key);
  return it == next.ageing.end() ? rule.start : it->second.age;
}

// Ready, allowed, and kept out by nothing but its width.
bool WantsSlots(const AllocationState& alloc, const PlacementAllocation& placement) {
  const CampaignAllocation& campaign = alloc.campaigns[placement.campaign];
  const ClusterAllocation& cluster = alloc.clusters[placement.cluster];
  return placement.slots > 1 && placement.block == Code::kNone && placement.left > 0 &&
         campaign.in_play && campaign.left > placement.avoid && cluster.block == Code::kNone &&
         alloc.HasUnits(placement);
}

// Starts that may still pass before the gap is reached: its age only grows, by a step each.
double PassLeft(const MultiSlotRule& rule, double age) {
  return std::max(0.0, std::ceil((rule.age - age) / rule.step - 1e-9));
}

constexpr double kNever = 1e9;

// Jobs may last longer than a hold, so the next one is longer, and the rest before it too: slots
// that never come free together are kept for half of the time at most.
double Grown(double seconds, const State::Ageing& ageing) {
  constexpr int kMostDoublings = 5;
  return std::ldexp(seconds, std::min(ageing.in_vain, kMostDoublings));
}

// Shares deal out whole jobs: the last one that half fits is due, and the first one always.
bool IsDue(const UserDue& due, const AllocationState& alloc, const PlacementAllocation& placement) {
  const CampaignAllocation& campaign = alloc.campaigns[placement.campaign];
  return due.HoldsNothing(campaign) || placement.slots / 2.0 <= due.Left(campaign) + kEpsilon;
}

// Which of a user's campaigns may have slots kept on a cluster: the one that comes first in his own
// order, and the oldest, for a tenth of what he is due.
class OwnTurns {
 public:
  explicit OwnTurns(AllocationState& alloc) : alloc_(alloc), firsts_(alloc.campaigns.size()) {
    std::unordered_map<std::string, int> users;
    std::vector<std::vector<int>> campaigns;
    for (std::size_t i = 0; i < alloc.campaigns.size(); ++i) {
      const CampaignAllocation& c = alloc.campaigns[i];
      const auto [it, fresh] = users.try_emplace(UserKey(c.project, c.row->user), users.size());
      if (fresh) campaigns.emplace_back();
      campaigns[it->second].push_back(static_cast<int>(i));
      users_.push_back(it->second);
    }
    std::vector<bool> in_grid(users.size(), false);
    for (const auto& placement : alloc.placements)
      if (alloc.WaitsInGrid(placement)) in_grid[users_[placement.campaign]] = true;
    for (std::size_t u = 0; u < campaigns.size(); ++u)
      if (in_grid[u]) Order(OwnPlaces(alloc, campaigns[u]));
    for (std::size_t l = 0; l < alloc.placements.size(); ++l) {
      const PlacementAllocation& placement = alloc.placements[l];
      if (!in_grid[users_[placement.campaign]]) continue;
      if (!alloc.campaigns[placement.campaign].in_play || alloc.RulesAllow(l) <= 0) continue;
      const OwnPlace first = firsts_[placement.campaign], oldest = OldestOf(placement);
      const auto [it, fresh] = turns_.try_emplace(KeyOf(placement), Turns{first, oldest});
      if (fresh) continue;
      it->second.first = std::min(it->second.first, first);
      it->second.oldest = std::min(it->second.oldest, oldest);
    }
  }
  bool Has(const UserDue& due, const PlacementAllocation& placement) const {
    const auto it = turns_.find(KeyOf(placement));
    if (it == turns_.end()) return false;
    return it->second.first == firsts_[placement.campaign] ||
           (it->second.oldest == OldestOf(placement) && HadLittle(due, placement));
  }
  /// Its user has had more than his due: until the others have had theirs, his narrower jobs do not
  /// go, neither there nor, of campaigns that come after it, elsewhere. They would use all that he
  /// is due then.
  void MakeRoomFor(const PlacementAllocation& placement) { wide_.push_back(&placement); }
  /// `rests`: by cluster, the slots from which on a job is not waited for.
  void Limit(const std::vector<int>& rests, AllocationState& alloc) const {
    std::map<std::pair<int, int>, const PlacementAllocation*> here;    // by user and cluster
    std::map<int, std::map<int, const PlacementAllocation*>> of_user;  // by campaign
    for (const PlacementAllocation* wide : wide_) {
      if (wide->slots >= rests[wide->cluster]) continue;
      here[KeyOf(*wide)] = wide;
      of_user[users_[wide->campaign]][wide->campaign] = wide;
    }
    if (here.empty()) return;
    for (auto& placement : alloc.placements) {
      const auto user = of_user.find(users_[placement.campaign]);
      if (user == of_user.end()) continue;
      const Campaign& campaign = *alloc.campaigns[placement.campaign].row;
      if (campaign.test || campaign.cls == "urgent") continue;
      const auto limit = [&](const PlacementAllocation& wide) {
        if (placement.slots >= wide.slots) return;
        placement.left = 0, placement.limit = Code::kOwnFirst;
        alloc.campaigns[placement.campaign].own_wide = wide.campaign;
      };
      if (const auto it = here.find(KeyOf(placement)); it != here.end()) limit(*it->second);
      for (const auto& [i, wide] : user->second)
        if (firsts_[i] < firsts_[placement.campaign]) limit(*wide);
    }
  }

 private:
  struct Turns {
    OwnPlace first, oldest;
  };
  // Of `theirs`, all of a user's, one whose jobs are not known goes first, to learn how long they
  // take; one at a time.
  void Order(const std::vector<OwnPlace>& theirs) {
    const auto unknown = [&](int i) { return !OwnWorkOf(alloc_, alloc_.campaigns[i]).known; };
    const bool learns = std::any_of(theirs.begin(), theirs.end(), [&](const OwnPlace& place) {
      const int i = std::get<2>(place);
      return alloc_.campaigns[i].held_jobs > 0 && unknown(i);
    });
    for (const auto& [weight, work, i] : theirs)
      firsts_[i] = {weight, !learns && unknown(i) ? 0 : work, i};
  }
  OwnPlace OldestOf(const PlacementAllocation& placement) const {
    return {-alloc_.campaigns[placement.campaign].weight, 0, placement.campaign};
  }
  // Less than a tenth of what its user was due since it was submitted; see GiveOldest().
  bool HadLittle(const UserDue& due, const PlacementAllocation& placement) const {
    constexpr double kPart = 0.1;
    const CampaignAllocation& campaign = alloc_.campaigns[placement.campaign];
    const Campaign& row = *campaign.row;
    double jobs = static_cast<double>(row.done);
    for (const auto& p : row.placements) jobs += p.in_flight;
    const double slots = due.Left(campaign) + due.Held(campaign);
    return jobs * LengthOf(row) * placement.slots < kPart * slots * (alloc_.now - row.submitted_at);
  }
  std::pair<int, int> KeyOf(const PlacementAllocation& placement) const {
    return {users_[placement.campaign], placement.cluster};
  }

  const AllocationState& alloc_;
  std::vector<int> users_{};      // by campaign, as firsts_
  std::vector<OwnPlace> firsts_;  // of users who have jobs in the grid
  std::map<std::pair<int, int>, Turns> turns_{};
  std::vector<const PlacementAllocation*> wide_{};
};

// What its wait is of its length: who waits a minute for a second goes before who waits an hour for
// a day, and everybody's grows.
double SlowdownOf(const AllocationState& alloc, int l) {
  const Campaign& campaign = *alloc.campaigns[alloc.placements[l].campaign].row;
  const double length = LengthOf(campaign);
  return length > 0 ? (alloc.now - campaign.waiting_since) / length : 0;
}

State::Ageing& AgeingOf(const AllocationState& alloc, const PlacementAllocation& placement,
                        State& next) {
  const State::Ageing fresh{.age = alloc.MultiSlotOf(placement).start};
  return next.ageing.try_emplace(KeyOf(alloc, placement), fresh).first->second;
}

// Slots are kept since then, be it for another job at first.
void KeepFor(const AllocationState& alloc, const ClusterAllocation::MultiSlot& multi_slot,
             double since, State& next) {
  const PlacementAllocation& placement = alloc.placements[multi_slot.placement];
  if (multi_slot.pass > 0 || alloc.IdleFor(placement) <= 0) return;
  State::Ageing& ageing = AgeingOf(alloc, placement, next);
  ageing.held_since = since;
  if (alloc.now - since < Grown(alloc.config.multi_slot_hold_s, ageing)) return;
  ageing = {.age = alloc.MultiSlotOf(placement).start,
            .rest_until = alloc.now + Grown(alloc.config.multi_slot_rest_s, ageing),
            .in_vain = ageing.in_vain + 1};
}

// Slot-seconds that the user is behind his due; < 0: he has had more.
double BehindOf(const State& next, const CampaignAllocation& campaign) {
  const auto lag = next.lags.find(UserKey(campaign.project, campaign.row->user));
  return lag == next.lags.end() ? 0 : lag->second.behind;
}

// A campaign that waits in the grid takes the place of others of its user, which would always fill
// all that he is due: what they hold is its own. The last job that half fits is due, and one for
// which he is behind: slots that are being kept are nobody's yet, so he gets less than his share.
bool IsDueInGrid(const UserDue& due, const State& next, const AllocationState& alloc,
                 const PlacementAllocation& placement) {
  const CampaignAllocation& campaign = alloc.campaigns[placement.campaign];
  const double length = LengthOf(*campaign.row);
  const double owed = length > 0 ? std::max(0.0, BehindOf(next, campaign)) / length : 0;
  const double left = due.Left(campaign) + due.Held(campaign) - campaign.held_slots;
  return campaign.held_slots <= 0 || placement.slots / 2.0 <= left + kEpsilon ||
         placement.slots <= left + owed + kEpsilon;
}

}  // namespace

bool MayKeepSlots(const Snapshot& snapshot) {
  const PolicyConfig& config = snapshot.config;
  if (config.KeepsSlots()) return true;
  struct Widths {
    int max = 0;          ///< slots of the cluster
    int narrowest = 1e9;  ///< slots of a job that is here or wants to be, the fewest
    int widest = 0;       ///< of one that waits and is too wide for the queue, the most
  };
  std::unordered_map<int, Widths> clusters;
  for (const auto& c : snapshot.clusters) clusters[c.id].max = c.max;
  for (const auto& campaign : snapshot.campaigns) {
    for (const auto& p : campaign.placements) {
      const auto it = clusters.find(p.cluster);
      if (it == clusters.end() || (campaign.waiting <= 0 && p.in_flight <= 0)) continue;
      Widths& widths = it->second;
      widths.narrowest = std::min(widths.narrowest, p.slots);
      if (campaign.waiting > 0 && config.TooWideToQueue(campaign.cls, p.slots, widths.max))
        widths.widest = std::max(widths.widest, p.slots);
    }
  }
  return std::any_of(clusters.begin(), clusters.end(),
                     [](const auto& c) { return c.second.narrowest < c.second.widest; });
}

void FindMultiSlot(AllocationState& alloc, State& next) {
  if (!alloc.keeps_slots) return;
  std::optional<UserDue> due;
  std::optional<OwnTurns> turns;
  // Slots that did not come free together for one job do not for those that are as wide either, and
  // would be kept for them in turns without end: they rest too.
  std::vector<int> rests(alloc.clusters.size(), std::numeric_limits<int>::max());
  for (std::size_t l = 0; l < alloc.placements.size(); ++l) {
    const PlacementAllocation& placement = alloc.placements[l];
    if (!WantsSlots(alloc, placement)) continue;
    const State::Pair key = KeyOf(alloc, placement);
    const MultiSlotRule rule = alloc.MultiSlotOf(placement);
    if (rule.age < 0 || rule.step <= 0) continue;
    if (Resting(next, key, alloc.now)) {
      rests[placement.cluster] = std::min(rests[placement.cluster], placement.slots);
      continue;
    }
    bool is_due = true;
    if (!alloc.in_order) {
      if (!due) due.emplace(alloc);
      const bool in_grid = alloc.WaitsInGrid(placement);
      if (in_grid && !turns) turns.emplace(alloc);
      is_due = in_grid ? turns->Has(*due, placement) && IsDueInGrid(*due, next, alloc, placement)
                       : IsDue(*due, alloc, placement);
      // Who is ahead waits until the others have had theirs, though he holds nothing.
      if (is_due && in_grid && BehindOf(next, alloc.campaigns[placement.campaign]) < 0)
        turns->MakeRoomFor(placement), is_due = false;
    }
    alloc.clusters[placement.cluster].multi_slots.push_back(
        {.placement = static_cast<int>(l),
         .pass = is_due ? PassLeft(rule, AgeOf(next, key, rule)) : kNever,
         .due = is_due});
  }
  for (std::size_t k = 0; k < alloc.clusters.size(); ++k) {
    auto& cluster = alloc.clusters[k];
    std::erase_if(cluster.multi_slots,
                  [&](const auto& m) { return alloc.placements[m.placement].slots >= rests[k]; });
    // The one passed most often first; of equals who waits longest for his length where campaigns
    // share, else the earliest (placements are in that order).
    const auto before = [&](const auto& a, const auto& b) {
      if (a.pass != b.pass || alloc.in_order) return a.pass < b.pass;
      return SlowdownOf(alloc, a.placement) > SlowdownOf(alloc, b.placement);
    };
    std::stable_sort(cluster.multi_slots.begin(), cluster.multi_slots.end(), before);
    cluster.releases = cluster.row->releases;
    alloc.NextMultiSlot(cluster);
  }
  if (turns) turns->Limit(rests, alloc);
}

void ServeReserved(AllocationState& alloc) {
  for (auto& cluster : alloc.clusters) {
    if (!cluster.HasMultiSlot() || cluster.multi_slots[cluster.multi_slot].pass > 0) continue;
    const int placement = cluster.multi_slots[cluster.multi_slot].placement;
    // 0: order of submission, nothing is brought forward
    if (alloc.MultiSlotOf(alloc.placements[placement]).age <= 0) continue;
    if (cluster.free >= alloc.placements[placement].slots) alloc.Take(placement, 1);
  }
}

void AgeMultiSlot(const AllocationState& alloc, State& next) {
  for (const auto& cluster : alloc.clusters) {
    double since = 0;
    for (const auto& multi_slot : cluster.multi_slots) {
      const PlacementAllocation& placement = alloc.placements[multi_slot.placement];
      if (placement.given > 0) {
        next.ageing.erase(KeyOf(alloc, placement));
        continue;
      }
      State::Ageing& ageing = AgeingOf(alloc, placement, next);
      if (multi_slot.due) ageing.age += alloc.MultiSlotOf(placement).step * multi_slot.bypassed;
      since = std::max(since, std::exchange(ageing.held_since, 0));
    }
    if (cluster.HasMultiSlot())
      KeepFor(alloc, cluster.multi_slots[cluster.multi_slot], since > 0 ? since : alloc.now, next);
  }
}

}  // namespace cigri::policy
