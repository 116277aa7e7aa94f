#include "policy/policies/common_limits.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace cigri::policy {
namespace {

constexpr int kEverywhere = -1;  // in place of a cluster

bool Open(const AllocationState& alloc, const PlacementAllocation& placement) {
  return placement.block == Code::kNone && alloc.clusters[placement.cluster].block == Code::kNone;
}

/// A limit that jobs of a campaign draw from.
struct Draw {
  int limit = 0;    ///< a meter; resource classes come after these
  int cluster = 0;  ///< where it counts, or kEverywhere
  double room = 0;  ///< what it leaves
  double each = 1;  ///< that a slot of its jobs takes
  int job = 1;      ///< slots of a job
  double slots() const { return room / each; }
};

template <typename What>
void EachDraw(const AllocationState& alloc, int i, const What& what) {
  const CampaignAllocation& campaign = alloc.campaigns[i];
  const auto meter = [&](const MeterUse& use, int cluster, int slots) {
    const double each = use.per_slot + use.per_job / slots;
    if (each > 0) what(Draw{use.meter, cluster, alloc.meters[use.meter].room, each, slots});
  };
  int widest = 1;
  for (int l = campaign.placements_begin; l < campaign.placements_end; ++l) {
    const PlacementAllocation& placement = alloc.placements[l];
    if (!Open(alloc, placement)) continue;
    widest = std::max(widest, placement.slots);
    for (const auto& use : alloc.clusters[placement.cluster].uses)
      meter(use, placement.cluster, placement.slots);
    for (int n = 0; n < placement.uses; ++n)
      meter(alloc.placement_uses[placement.uses_begin + n], placement.cluster, placement.slots);
    if (const int at = placement.resource_class; at > 0)
      what(Draw{static_cast<int>(alloc.meters.size()) + at, placement.cluster,
                alloc.classes[at - 1].free, double(placement.units()) / placement.slots,
                placement.slots});
  }
  for (const auto& use : campaign.uses) meter(use, kEverywhere, widest);
}

// What can be given on a cluster now: idle slots, or places in its queue.
double RoomOn(const ClusterAllocation& c) { return c.Idle() + std::max(0.0, c.queue); }

/// What the waiting jobs of a claim draw from a limit.
struct ClaimDraw {
  int limit = 0, cluster = 0;
  int campaigns = 0, placements = 0;     ///< that draw from it
  double room = 0, each = 0, slots = 0;  ///< the last two: at most
  bool binds = false;                    ///< it leaves less than its cluster could take
};

/// Of a draw from a limit of one cluster, what is needed for each group of claims that it is in.
struct OnCluster {
  int limit = 0, placements = 0;
  double slots = 0;
};

/// The draws of a claim, made once: limits of many clusters have many claims in common.
struct ClaimDraws {
  int campaigns = 0;
  std::vector<ClaimDraw> draws{};
  std::vector<OnCluster> on_clusters{};  ///< of limits that are no Caps
  std::vector<int> placements{};         ///< by cluster
  std::vector<std::uint64_t> on{};       ///< a bit for each cluster: it has some there
};

// `places` is by limit, -1 before and after.
ClaimDraws DrawsOf(const AllocationState& alloc, const Claim& claim, std::vector<int>& places) {
  ClaimDraws of;
  of.placements.resize(alloc.clusters.size());
  for (const int i : claim.unit.campaigns) {
    if (alloc.Demand(i) <= 0) continue;
    const CampaignAllocation& c = alloc.campaigns[i];
    for (int l = c.placements_begin; l < c.placements_end; ++l)
      if (Open(alloc, alloc.placements[l])) ++of.placements[alloc.placements[l].cluster];
    EachDraw(alloc, i, [&](const Draw& draw) {
      int& place = places[draw.limit];
      if (place < 0) {
        place = static_cast<int>(of.draws.size());
        of.draws.push_back({.limit = draw.limit, .cluster = draw.cluster});
      }
      ClaimDraw& all = of.draws[place];
      if (all.campaigns == of.campaigns) ++all.campaigns;
      ++all.placements;
      all.room = draw.room;
      all.each = std::max(all.each, draw.each);
      all.slots = std::max(all.slots, draw.slots());
      all.binds = all.binds || (draw.cluster != kEverywhere &&
                                (draw.slots() + kEpsilon < draw.job ||
                                 draw.slots() < RoomOn(alloc.clusters[draw.cluster])));
    });
    ++of.campaigns;
  }
  for (const ClaimDraw& draw : of.draws) places[draw.limit] = -1;
  of.on.resize(of.placements.size() / 64 + 1);
  for (std::size_t k = 0; k < of.placements.size(); ++k)
    of.on[k / 64] |= std::uint64_t{of.placements[k] > 0} << k % 64;
  return of;
}

std::vector<ClaimDraws> DrawsOf(const AllocationState& alloc, const std::vector<Claim>& claims) {
  std::vector<int> places(alloc.meters.size() + alloc.classes.size() + 1, -1);
  std::vector<ClaimDraws> draws;
  for (const auto& claim : claims) draws.push_back(DrawsOf(alloc, claim, places));
  return draws;
}

/// The limits that count on clusters.
struct ClusterLimits {
  std::vector<int> clusters{};  ///< by limit; kEverywhere: it is none of these
  /// Slots by cluster: what is left by limits from which every job there draws alike, as from a
  /// ceiling. They bind whoever is in a group.
  std::vector<double> caps{};
};

// Those that are no caps go to the `on_clusters` of the claims.
ClusterLimits ClusterLimitsOf(const AllocationState& alloc, std::vector<ClaimDraws>& draws) {
  struct Seen {
    int claims = 0;  // all of whose jobs on its cluster draw from it
    double least = std::numeric_limits<double>::infinity(), most = 0;
  };
  std::vector<Seen> seen(alloc.meters.size() + alloc.classes.size() + 1);
  std::vector<int> claims_on(alloc.clusters.size(), 0);
  ClusterLimits limits{std::vector<int>(seen.size(), kEverywhere), {}};
  for (const auto& claim : draws) {
    for (std::size_t k = 0; k < claims_on.size(); ++k) claims_on[k] += claim.placements[k] > 0;
    for (const ClaimDraw& draw : claim.draws) {
      if (draw.cluster == kEverywhere) continue;
      limits.clusters[draw.limit] = draw.cluster;
      Seen& s = seen[draw.limit];
      s.claims += draw.placements >= claim.placements[draw.cluster];
      s.least = std::min(s.least, draw.slots), s.most = std::max(s.most, draw.slots);
    }
  }
  for (const auto& cluster : alloc.clusters) limits.caps.push_back(RoomOn(cluster));
  const auto is_cap = [&](int limit) {
    const Seen& s = seen[limit];
    return s.claims == claims_on[limits.clusters[limit]] && s.least == s.most;
  };
  for (std::size_t i = 0; i < seen.size(); ++i)
    if (const int k = limits.clusters[i]; k != kEverywhere && is_cap(static_cast<int>(i)))
      limits.caps[k] = std::min(limits.caps[k], seen[i].most);
  for (auto& claim : draws)
    for (const ClaimDraw& draw : claim.draws)
      if (draw.cluster != kEverywhere && !is_cap(draw.limit))
        claim.on_clusters.push_back({draw.limit, draw.placements, draw.slots});
  return limits;
}

/// Claims all of whose waiting jobs draw from one limit.
struct Group {
  std::vector<std::size_t> claims{};  ///< their places...
  std::vector<double> each{};         ///< ...and what a slot of theirs takes
  double room = 0;
  bool everywhere = false, binds = false;
  double asked = 0;  ///< what they could take now, in parts of the room
};

// Those whose limit leaves less than they could take. A claim alone where the limit is of all
// clusters together: its want counts what each of these leaves.
std::vector<Group> GroupsOf(const std::vector<Claim>& claims,
                            const std::vector<ClaimDraws>& draws) {
  std::map<int, Group> groups;
  for (std::size_t n = 0; n < claims.size(); ++n)
    for (const ClaimDraw& draw : draws[n].draws) {
      Group& group = groups[draw.limit];
      group.everywhere = draw.cluster == kEverywhere;
      group.room = draw.room;
      group.binds = group.binds || draw.binds;
      if (draw.campaigns < draws[n].campaigns) continue;
      group.claims.push_back(n);
      group.each.push_back(draw.each);
      group.asked +=
          (claims[n].want - claims[n].held - claims[n].queued) / std::max(draw.slots, kEpsilon);
    }
  std::vector<Group> binding;
  std::set<std::vector<std::size_t>> on_clusters;  // limits of many clusters have the same claims
  for (auto& [limit, group] : groups)
    if (group.everywhere
            ? group.asked > 1 + kEpsilon
            : group.binds && group.claims.size() > 1 && on_clusters.insert(group.claims).second)
      binding.push_back(std::move(group));
  return binding;
}

// What claims with limits on clusters can have together now: one binds where all draw from it.
double RoomFor(const std::vector<ClaimDraws>& draws, const ClusterLimits& limits,
               const Group& group) {
  std::vector<std::uint64_t> on(limits.caps.size() / 64 + 1, 0);
  std::vector<int> drawing(limits.clusters.size(), 0);  // placements, by limit
  std::vector<double> most(limits.clusters.size(), 0);  // slots, by limit
  bool counted = false;
  for (const auto n : group.claims) {
    for (std::size_t w = 0; w < on.size(); ++w) on[w] |= draws[n].on[w];
    for (const OnCluster& draw : draws[n].on_clusters) {
      drawing[draw.limit] += draw.placements;
      most[draw.limit] = std::max(most[draw.limit], draw.slots);
      counted = true;
    }
  }
  std::vector<double> room(limits.caps.size(), 0);
  for (std::size_t k = 0; k < room.size(); ++k)
    if (on[k / 64] >> k % 64 & 1) room[k] = limits.caps[k];
  if (counted) {
    std::vector<int> placements(room.size(), 0);
    for (const auto n : group.claims)
      for (std::size_t k = 0; k < room.size(); ++k) placements[k] += draws[n].placements[k];
    for (std::size_t i = 0; i < drawing.size(); ++i)
      if (drawing[i] > 0 && drawing[i] >= placements[limits.clusters[i]])
        room[limits.clusters[i]] = std::min(room[limits.clusters[i]], most[i]);
  }
  double sum = 0;
  for (const double slots : room) sum += slots;
  return sum;
}

/// A group's members as a division sees them: what they have and want of the limit.
struct Part {
  double room = 0, weights = 0;
  std::vector<Claim*> members{};
  std::vector<double> each{};
};

Part PartOf(const std::vector<ClaimDraws>& draws, const ClusterLimits& limits,
            std::vector<Claim>& claims, const Group& group) {
  Part part;
  part.each = group.each;
  // On clusters these are slots: several limits may bind together.
  if (!group.everywhere) part.each.assign(group.claims.size(), 1);
  part.room = group.everywhere ? group.room : RoomFor(draws, limits, group);
  for (std::size_t n = 0; n < group.claims.size(); ++n) {
    Claim& claim = claims[group.claims[n]];
    part.room += part.each[n] * claim.held;
    part.weights += part.each[n] * claim.weight;
    part.members.push_back(&claim);
  }
  return part;
}

}  // namespace

void DivideCommonLimits(const AllocationState& alloc, std::vector<Claim>& claims) {
  if (alloc.meters.empty() && alloc.classes.empty()) return;
  auto draws = DrawsOf(alloc, claims);
  const auto limits = ClusterLimitsOf(alloc, draws);
  std::vector<Part> parts;
  for (const auto& group : GroupsOf(claims, draws))
    parts.push_back(PartOf(draws, limits, claims, group));
  // The tightest first: what it keeps from a claim is left to those of the next.
  std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
    return a.room * b.weights < b.room * a.weights;
  });
  for (const auto& part : parts) {
    std::vector<Claim> of_limit;
    for (std::size_t n = 0; n < part.members.size(); ++n) {
      const Claim& claim = *part.members[n];
      of_limit.push_back({.weight = claim.weight * part.each[n],
                          .want = claim.want * part.each[n],
                          .party = claim.party});
    }
    std::vector<Claim*> pointers;
    for (auto& claim : of_limit) pointers.push_back(&claim);
    const auto ideals = DivideTarget(part.room, pointers);
    for (std::size_t n = 0; n < ideals.size(); ++n)
      part.members[n]->want = std::min(part.members[n]->want, ideals[n] / part.each[n]);
  }
}

}  // namespace cigri::policy
