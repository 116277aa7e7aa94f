#include "policy/limits.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace cigri::policy {
namespace {

// The name under which a campaign falls in a scope; "" = it does not.
std::string NameIn(const std::string& scope, const CampaignAllocation& c) {
  if (scope == "grid") return "grid";
  if (scope == "user") return c.row->user;
  if (scope == "project") return c.project;
  if (scope == "campaign") return std::to_string(c.row->id);
  if (scope == "class") return c.row->test && c.row->cls.empty() ? "test" : c.row->cls;
  return "";
}

bool Matches(const std::string& wanted, const std::string& name) {
  return !name.empty() && (wanted.empty() || wanted == name);
}

// The uses of a placement by cluster-wise quotas stand side by side in placement_uses.
using PlacementUse = std::map<int, std::vector<MeterUse>>;

struct Held {
  double slots = 0, jobs = 0;
};

// What those a quota speaks of hold now: over the grid, or on its cluster alone.
Held HeldIn(const AllocationState& alloc, const CampaignAllocation& campaign,
            const std::string& cluster) {
  if (cluster.empty()) return {campaign.held_slots, double(campaign.held_jobs)};
  Held held;
  for (int l = campaign.placements_begin; l < campaign.placements_end; ++l) {
    const PlacementAllocation& placement = alloc.placements[l];
    if (alloc.clusters[placement.cluster].row->name != cluster) continue;
    held.slots += double(placement.row->in_flight) * placement.slots;
    held.jobs += placement.row->in_flight;
  }
  return held;
}

void AddUse(AllocationState& alloc, PlacementUse& placement_use, int campaign,
            const std::string& cluster, MeterUse use) {
  CampaignAllocation& entry = alloc.campaigns[campaign];
  if (cluster.empty()) {
    entry.uses.push_back(use);
    return;
  }
  for (int l = entry.placements_begin; l < entry.placements_end; ++l)
    if (alloc.clusters[alloc.placements[l].cluster].row->name == cluster)
      placement_use[l].push_back(use);
}

void AddQuota(AllocationState& alloc, PlacementUse& placement_use, const Quota& quota) {
  std::map<std::string, std::vector<int>> members;
  std::map<std::string, Held> held;
  for (std::size_t i = 0; i < alloc.campaigns.size(); ++i) {
    const std::string name = NameIn(quota.scope, alloc.campaigns[i]);
    if (!Matches(quota.scope == "grid" ? "" : quota.name, name)) continue;
    members[name].push_back(static_cast<int>(i));
    const Held more = HeldIn(alloc, alloc.campaigns[i], quota.cluster);
    held[name].slots += more.slots;
    held[name].jobs += more.jobs;
  }
  for (const auto& [name, who] : members) {
    const std::string label = (quota.scope == "grid" ? "the grid" : quota.scope + " " + name) +
                              (quota.cluster.empty() ? "" : " on " + quota.cluster);
    if (quota.slots >= 0) {
      const int m = alloc.AddMeter(quota.slots, held[name].slots, Code::kQuota, label + ", slots");
      for (const int i : who) AddUse(alloc, placement_use, i, quota.cluster, {m, 0, 1});
    }
    if (quota.jobs >= 0) {
      const int m = alloc.AddMeter(quota.jobs, held[name].jobs, Code::kQuota, label + ", jobs");
      for (const int i : who) AddUse(alloc, placement_use, i, quota.cluster, {m, 1, 0});
    }
  }
}

void AddLicences(AllocationState& alloc) {
  std::map<std::string, double> used;
  for (const auto& c : alloc.campaigns)
    for (const auto& [name, each] : c.row->licences) used[name] += double(each) * c.held_jobs;
  std::map<std::string, int> meter;
  for (auto& c : alloc.campaigns) {
    for (const auto& [name, each] : c.row->licences) {
      if (meter.count(name) == 0) {
        const auto pool = alloc.config.licences.find(name);
        const double size = pool == alloc.config.licences.end() ? 0 : pool->second;
        meter[name] = alloc.AddMeter(size, used[name], Code::kLicence, name);
      }
      c.uses.push_back({meter[name], double(each), 0});
    }
  }
}

// FAIR-23: who is not of the class may fill what the reserve leaves, and no more.
void AddReserve(AllocationState& alloc, PlacementUse& placement_use, const Reserve& reserve) {
  std::vector<int> meter(alloc.clusters.size(), -1);
  std::vector<double> used(alloc.clusters.size(), 0);
  auto outside = [&](const CampaignAllocation& c) { return NameIn("class", c) != reserve.cls; };
  for (const auto& placement : alloc.placements)
    if (outside(alloc.campaigns[placement.campaign]))
      used[placement.cluster] += double(placement.row->in_flight) * placement.slots;
  for (std::size_t k = 0; k < alloc.clusters.size(); ++k) {
    const Cluster& c = *alloc.clusters[k].row;
    if (!reserve.cluster.empty() && reserve.cluster != c.name) continue;
    const double others = std::floor(c.max * (1 - reserve.fraction) + 1e-9);
    meter[k] = alloc.AddMeter(others, used[k], Code::kReserve, reserve.cls);
  }
  for (std::size_t l = 0; l < alloc.placements.size(); ++l) {
    const PlacementAllocation& placement = alloc.placements[l];
    if (meter[placement.cluster] >= 0 && outside(alloc.campaigns[placement.campaign]))
      placement_use[static_cast<int>(l)].push_back({meter[placement.cluster], 0, 1});
  }
}

// Jobs ever claimed of a campaign, on one cluster (a place in the allocation state) or on all (-1);
// -1 = not reported.
std::int64_t StartedOf(const AllocationState& alloc, const CampaignAllocation& c, int cluster) {
  std::int64_t sum = 0;
  for (int l = c.placements_begin; l < c.placements_end; ++l) {
    if (cluster >= 0 && alloc.placements[l].cluster != cluster) continue;
    if (alloc.placements[l].row->started < 0) return -1;
    sum += alloc.placements[l].row->started;
  }
  return sum;
}

struct Rate {
  double per_minute = 0, burst = 1;
};

// What a bucket holds now. What the last decision spent and nobody claimed is given back: a cluster
// that is slow to take jobs must not pay for them twice. A clock that steps back fills nothing.
double Tokens(const Rate& rate, State::Bucket& bucket, bool fresh, double now,
              std::int64_t started) {
  if (!fresh) {
    if (bucket.started >= 0 && started >= bucket.started)
      bucket.tokens += std::max(0.0, bucket.given - static_cast<double>(started - bucket.started));
    bucket.tokens += std::max(0.0, now - bucket.at) * rate.per_minute / 60;
  }
  bucket = {.tokens = std::min(bucket.tokens, rate.burst), .at = now, .started = started};
  return bucket.tokens;
}

/// Makes the meters of start rates and drops the buckets that nothing draws from any more.
class Rates {
 public:
  Rates(AllocationState& alloc, State& next)
      : alloc_(alloc), next_(next), old_(std::move(next.rates)) {
    next_.rates.clear();
  }

  void Add(const StartRate& rule) {
    const Rate rate{rule.per_minute, std::max(1.0, rule.burst)};
    std::map<std::string, std::int64_t> started;
    auto count = [&](const std::string& name, std::int64_t n) {
      auto& sum = started[name];
      sum = n < 0 || sum < 0 ? -1 : sum + n;
    };
    if (rule.scope == "cluster") {
      for (std::size_t k = 0; k < alloc_.clusters.size(); ++k)
        for (const auto& c : alloc_.campaigns)
          count(alloc_.clusters[k].row->name, StartedOf(alloc_, c, static_cast<int>(k)));
      for (auto& c : alloc_.clusters)
        if (Matches(rule.name, c.row->name))
          c.uses.push_back({Meter(rule, c.row->name, rate, started), 1, 0});
      return;
    }
    const std::string wanted = rule.scope == "grid" ? "" : rule.name;
    for (const auto& c : alloc_.campaigns)
      if (const auto name = NameIn(rule.scope, c); Matches(wanted, name))
        count(name, StartedOf(alloc_, c, -1));
    for (auto& c : alloc_.campaigns)
      if (const auto name = NameIn(rule.scope, c); Matches(wanted, name))
        c.uses.push_back({Meter(rule, name, rate, started), 1, 0});
  }

  /// start_rate of the JDL: a campaign on a cluster.
  void AddPlacements(PlacementUse& placement_use) {
    if (!alloc_.placement_rates) return;
    for (std::size_t l = 0; l < alloc_.placements.size(); ++l) {
      const PlacementAllocation& placement = alloc_.placements[l];
      if (!(placement.row->start_rate > 0)) continue;
      // Ten seconds' worth at once: cycles are seconds apart.
      const Rate rate{placement.row->start_rate, std::max(1.0, placement.row->start_rate / 6)};
      const std::string key = "campaign " +
                              std::to_string(alloc_.campaigns[placement.campaign].row->id) +
                              " on " + alloc_.clusters[placement.cluster].row->name;
      placement_use[static_cast<int>(l)].push_back(
          {Meter(key, rate, placement.row->started), 1, 0});
    }
  }

 private:
  int Meter(const StartRate& rule, const std::string& name, const Rate& rate,
            const std::map<std::string, std::int64_t>& started) {
    const auto it = started.find(name);
    return Meter(rule.scope + ":" + name, rate, it == started.end() ? -1 : it->second);
  }

  int Meter(const std::string& key, const Rate& rate, std::int64_t started) {
    if (const auto it = meter_.find(key); it != meter_.end()) return it->second;
    const auto kept = old_.find(key);
    const bool fresh = kept == old_.end();
    auto& bucket = next_.rates[key] =
        fresh ? State::Bucket{.tokens = rate.burst, .at = alloc_.now} : kept->second;
    const double tokens = Tokens(rate, bucket, fresh, alloc_.now, started);
    const int m = alloc_.AddMeter(tokens, 0, Code::kRate, key);
    alloc_.meters[m].limit = rate.per_minute;
    return meter_[key] = m;
  }

  AllocationState& alloc_;
  State& next_;
  std::map<std::string, State::Bucket> old_;
  std::map<std::string, int> meter_;
};

}  // namespace

void AddLimits(AllocationState& alloc, State& next) {
  PlacementUse placement_use;
  for (const auto& quota : alloc.config.quotas) AddQuota(alloc, placement_use, quota);
  for (const auto& reserve : alloc.config.reserves) AddReserve(alloc, placement_use, reserve);
  AddLicences(alloc);
  Rates rates(alloc, next);
  for (const auto& rule : alloc.config.start_rates) rates.Add(rule);
  rates.AddPlacements(placement_use);
  for (const auto& [l, uses] : placement_use) {
    alloc.placements[l].uses_begin = static_cast<int>(alloc.placement_uses.size());
    alloc.placement_uses.insert(alloc.placement_uses.end(), uses.begin(), uses.end());
    alloc.placements[l].uses = static_cast<std::uint16_t>(uses.size());
  }
}

void SpendRates(const AllocationState& alloc, State& next) {
  for (const auto& meter : alloc.meters) {
    if (meter.code != Code::kRate) continue;
    const auto it = next.rates.find(meter.name);
    if (it == next.rates.end()) continue;
    const double left = std::max(0.0, meter.room);
    it->second.given = it->second.tokens - left;
    it->second.tokens = left;
  }
}

}  // namespace cigri::policy
