// Small grids for tests of decisions: a cluster is a name and free slots, a campaign a few words.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "policy/decide.h"
#include "policy/reason.h"

namespace cigri::policy::test {

class PolicyFixture {
 public:
  Snapshot snapshot;
  State state;
  double now = 1000;
  std::uint64_t seed = 1;

  explicit PolicyFixture(PolicyKind policy = PolicyKind::kFifo) {
    snapshot.config.policy = policy;
    snapshot.config.aggregate = Aggregate::kNone;
    snapshot.config.canary_jobs = 1'000'000;
  }

  /// A cluster of `free` idle slots and no queue; its id is its number from 1.
  Cluster& AddCluster(int free, double speed = 1) {
    const auto id = static_cast<std::int64_t>(snapshot.clusters.size()) + 1;
    snapshot.clusters.push_back({.id = id,
                                 .name = "c" + std::to_string(id),
                                 .max = free,
                                 .free = free,
                                 .waiting_allowed = 0,
                                 .speed = speed});
    return snapshot.clusters.back();
  }

  /// A campaign allowed on `clusters` (all of those there are when empty), submitted after those
  /// before it; its id is its number from 1.
  Campaign& AddCampaign(std::int64_t waiting, const std::string& user = "alice",
                        std::vector<std::int64_t> clusters = {}, int slots = 1) {
    const auto id = static_cast<std::int64_t>(snapshot.campaigns.size()) + 1;
    Campaign c{.id = id, .user = user, .submitted_at = double(id), .waiting = waiting};
    if (clusters.empty())
      for (const auto& cluster : snapshot.clusters) clusters.push_back(cluster.id);
    for (const auto cluster : clusters)
      c.placements.push_back({.cluster = static_cast<int>(cluster), .slots = slots});
    snapshot.campaigns.push_back(c);
    return snapshot.campaigns.back();
  }

  Campaign& campaign(std::int64_t id) { return snapshot.campaigns.at(id - 1); }
  Cluster& cluster(std::int64_t id) { return snapshot.clusters.at(id - 1); }
  Placement& placement(std::int64_t campaign_id, std::int64_t cluster_id) {
    for (auto& placement : campaign(campaign_id).placements)
      if (placement.cluster == cluster_id) return placement;
    throw std::out_of_range("no such placement");
  }

  PlanResult Run() {
    result = Decide(snapshot, state, now, seed);
    state = result.next;
    return result;
  }
  PlanResult result;

  /// Jobs given to a campaign, on one cluster or (0) everywhere.
  int Given(std::int64_t campaign_id, std::int64_t cluster_id = 0) const {
    int n = 0;
    for (const auto& g : result.plan.allocations)
      if (!g.shadow && g.campaign == campaign_id && (cluster_id == 0 || g.cluster == cluster_id))
        n += g.n;
    return n;
  }
  int GivenOf(std::int64_t campaign_id, BatchKind kind) const {
    int n = 0;
    for (const auto& g : result.plan.allocations)
      if (g.campaign == campaign_id && g.kind == kind) n += g.n;
    return n;
  }
  int GivenInAll() const {
    int n = 0;
    for (const auto& g : result.plan.allocations) n += g.shadow ? 0 : g.n;
    return n;
  }
  /// "SERVED_BEFORE" and the like; "" when there is no reason for the pair. Cluster 0: the main
  /// one.
  std::string Why(std::int64_t campaign_id, std::int64_t cluster_id = 0) const {
    for (const auto& r : result.reasons)
      if (r.campaign == campaign_id && (cluster_id == 0 ? r.main : r.cluster == cluster_id))
        return std::string(ToString(r.code));
    return "";
  }
  /// The grants went out: their jobs now run there and use slots.
  void Start() {
    for (const auto& g : result.plan.allocations) {
      if (g.shadow) continue;
      Placement& l = placement(g.campaign, g.cluster);
      Cluster& c = cluster(g.cluster);
      if (g.kind == BatchKind::kTask || g.kind == BatchKind::kTest)
        campaign(g.campaign).waiting -= g.n;
      l.in_flight += g.n;
      l.running += g.n;
      l.running_since += g.n * now;
      c.free -= g.n * l.slots;
      c.running += g.n;
      c.running_slots += g.n * l.slots;
    }
  }
  /// `n` running jobs of a campaign end on a cluster at `now`; the usage of all is counted.
  void End(std::int64_t campaign_id, std::int64_t cluster_id, int n) {
    Placement& l = placement(campaign_id, cluster_id);
    Cluster& c = cluster(cluster_id);
    const double since = l.running_since / l.running;
    Campaign& who = campaign(campaign_id);
    snapshot.usage.push_back(
        {who.id, who.user, who.project, since, now - since, (now - since) * n * l.slots, n});
    l.running_since -= n * since;
    l.running -= n, l.in_flight -= n;
    c.free += n * l.slots, c.running -= n, c.running_slots -= n * l.slots;
    who.done += n;
  }
  void EndAll() {
    for (auto& c : snapshot.campaigns)
      for (auto& l : c.placements)
        if (l.running > 0) End(c.id, l.cluster, l.running);
  }
};

}  // namespace cigri::policy::test
