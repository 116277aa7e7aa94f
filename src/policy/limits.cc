#include "policy/limits.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace cigri::policy {
namespace {

// The name under which a campaign falls in a scope; "" = it does not.
std::string NameIn(const std::string& scope, const CampaignBook& c) {
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

// Lanes of one campaign keep the uses of cluster-wise quotas side by side: [uses_begin, uses_end).
using LaneUse = std::map<int, std::vector<MeterUse>>;

struct Held {
  double slots = 0, jobs = 0;
};

// What those a quota speaks of hold now: over the grid, or on its cluster alone.
Held HeldIn(const Ledger& ledger, const CampaignBook& campaign, const std::string& cluster) {
  if (cluster.empty()) return {campaign.held_slots, double(campaign.held_jobs)};
  Held held;
  for (int l = campaign.lanes_begin; l < campaign.lanes_end; ++l) {
    const LaneBook& lane = ledger.lanes[l];
    if (ledger.clusters[lane.cluster].row->name != cluster) continue;
    held.slots += double(lane.row->in_flight) * lane.slots;
    held.jobs += lane.row->in_flight;
  }
  return held;
}

void AddUse(Ledger& ledger, LaneUse& lane_use, int campaign, const std::string& cluster,
            MeterUse use) {
  CampaignBook& book = ledger.campaigns[campaign];
  if (cluster.empty()) {
    book.uses.push_back(use);
    return;
  }
  for (int l = book.lanes_begin; l < book.lanes_end; ++l)
    if (ledger.clusters[ledger.lanes[l].cluster].row->name == cluster) lane_use[l].push_back(use);
}

void AddQuota(Ledger& ledger, LaneUse& lane_use, const Quota& quota) {
  std::map<std::string, std::vector<int>> members;
  std::map<std::string, Held> held;
  for (std::size_t i = 0; i < ledger.campaigns.size(); ++i) {
    const std::string name = NameIn(quota.scope, ledger.campaigns[i]);
    if (!Matches(quota.scope == "grid" ? "" : quota.name, name)) continue;
    members[name].push_back(static_cast<int>(i));
    const Held more = HeldIn(ledger, ledger.campaigns[i], quota.cluster);
    held[name].slots += more.slots;
    held[name].jobs += more.jobs;
  }
  for (const auto& [name, who] : members) {
    const std::string label = (quota.scope == "grid" ? "the grid" : quota.scope + " " + name) +
                              (quota.cluster.empty() ? "" : " on " + quota.cluster);
    if (quota.slots >= 0) {
      const int m = ledger.AddMeter(quota.slots, held[name].slots, Code::kQuota, label + ", slots");
      for (const int i : who) AddUse(ledger, lane_use, i, quota.cluster, {m, 0, 1});
    }
    if (quota.jobs >= 0) {
      const int m = ledger.AddMeter(quota.jobs, held[name].jobs, Code::kQuota, label + ", jobs");
      for (const int i : who) AddUse(ledger, lane_use, i, quota.cluster, {m, 1, 0});
    }
  }
}

void AddLicences(Ledger& ledger) {
  std::map<std::string, double> used;
  for (const auto& c : ledger.campaigns)
    for (const auto& [name, each] : c.row->licences) used[name] += double(each) * c.held_jobs;
  std::map<std::string, int> meter;
  for (auto& c : ledger.campaigns) {
    for (const auto& [name, each] : c.row->licences) {
      if (meter.count(name) == 0) {
        const auto pool = ledger.config.licences.find(name);
        const double size = pool == ledger.config.licences.end() ? 0 : pool->second;
        meter[name] = ledger.AddMeter(size, used[name], Code::kLicence, name);
      }
      c.uses.push_back({meter[name], double(each), 0});
    }
  }
}

// FAIR-23: who is not of the class may fill what the reserve leaves, and no more.
void AddReserve(Ledger& ledger, LaneUse& lane_use, const Reserve& reserve) {
  std::vector<int> meter(ledger.clusters.size(), -1);
  std::vector<double> used(ledger.clusters.size(), 0);
  auto outside = [&](const CampaignBook& c) { return NameIn("class", c) != reserve.cls; };
  for (const auto& lane : ledger.lanes)
    if (outside(ledger.campaigns[lane.campaign]))
      used[lane.cluster] += double(lane.row->in_flight) * lane.slots;
  for (std::size_t k = 0; k < ledger.clusters.size(); ++k) {
    const Cluster& c = *ledger.clusters[k].row;
    if (!reserve.cluster.empty() && reserve.cluster != c.name) continue;
    const double others = std::floor(c.max * (1 - reserve.fraction) + 1e-9);
    meter[k] = ledger.AddMeter(others, used[k], Code::kReserve, reserve.cls);
  }
  for (std::size_t l = 0; l < ledger.lanes.size(); ++l) {
    const LaneBook& lane = ledger.lanes[l];
    if (meter[lane.cluster] >= 0 && outside(ledger.campaigns[lane.campaign]))
      lane_use[static_cast<int>(l)].push_back({meter[lane.cluster], 0, 1});
  }
}

// Jobs ever claimed of a campaign, on one cluster (a place in the ledger) or on all (-1); -1 = not
// told.
std::int64_t StartedOf(const Ledger& ledger, const CampaignBook& c, int cluster) {
  std::int64_t sum = 0;
  for (int l = c.lanes_begin; l < c.lanes_end; ++l) {
    if (cluster >= 0 && ledger.lanes[l].cluster != cluster) continue;
    if (ledger.lanes[l].row->started < 0) return -1;
    sum += ledger.lanes[l].row->started;
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
  Rates(Ledger& ledger, State& next) : ledger_(ledger), next_(next), old_(std::move(next.rates)) {
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
      for (std::size_t k = 0; k < ledger_.clusters.size(); ++k)
        for (const auto& c : ledger_.campaigns)
          count(ledger_.clusters[k].row->name, StartedOf(ledger_, c, static_cast<int>(k)));
      for (auto& c : ledger_.clusters)
        if (Matches(rule.name, c.row->name))
          c.uses.push_back({Meter(rule, c.row->name, rate, started), 1, 0});
      return;
    }
    const std::string wanted = rule.scope == "grid" ? "" : rule.name;
    for (const auto& c : ledger_.campaigns)
      if (const auto name = NameIn(rule.scope, c); Matches(wanted, name))
        count(name, StartedOf(ledger_, c, -1));
    for (auto& c : ledger_.campaigns)
      if (const auto name = NameIn(rule.scope, c); Matches(wanted, name))
        c.uses.push_back({Meter(rule, name, rate, started), 1, 0});
  }

  /// start_rate of the JDL: a campaign on a cluster.
  void AddLanes(LaneUse& lane_use) {
    if (!ledger_.lane_rates) return;
    for (std::size_t l = 0; l < ledger_.lanes.size(); ++l) {
      const LaneBook& lane = ledger_.lanes[l];
      if (!(lane.row->start_rate > 0)) continue;
      // Ten seconds' worth at once: rounds are seconds apart.
      const Rate rate{lane.row->start_rate, std::max(1.0, lane.row->start_rate / 6)};
      const std::string key = "campaign " +
                              std::to_string(ledger_.campaigns[lane.campaign].row->id) + " on " +
                              ledger_.clusters[lane.cluster].row->name;
      lane_use[static_cast<int>(l)].push_back({Meter(key, rate, lane.row->started), 1, 0});
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
        fresh ? State::Bucket{.tokens = rate.burst, .at = ledger_.now} : kept->second;
    const double tokens = Tokens(rate, bucket, fresh, ledger_.now, started);
    const int m = ledger_.AddMeter(tokens, 0, Code::kRate, key);
    ledger_.meters[m].limit = rate.per_minute;
    return meter_[key] = m;
  }

  Ledger& ledger_;
  State& next_;
  std::map<std::string, State::Bucket> old_;
  std::map<std::string, int> meter_;
};

}  // namespace

void AddLimits(Ledger& ledger, State& next) {
  LaneUse lane_use;
  for (const auto& quota : ledger.config.quotas) AddQuota(ledger, lane_use, quota);
  for (const auto& reserve : ledger.config.reserves) AddReserve(ledger, lane_use, reserve);
  AddLicences(ledger);
  Rates rates(ledger, next);
  for (const auto& rule : ledger.config.start_rates) rates.Add(rule);
  rates.AddLanes(lane_use);
  for (const auto& [l, uses] : lane_use) {
    ledger.lanes[l].uses_begin = static_cast<int>(ledger.lane_uses.size());
    ledger.lane_uses.insert(ledger.lane_uses.end(), uses.begin(), uses.end());
    ledger.lanes[l].uses_end = static_cast<int>(ledger.lane_uses.size());
  }
}

void SpendRates(const Ledger& ledger, State& next) {
  for (const auto& meter : ledger.meters) {
    if (meter.code != Code::kRate) continue;
    const auto it = next.rates.find(meter.name);
    if (it == next.rates.end()) continue;
    const double left = std::max(0.0, meter.room);
    it->second.given = it->second.tokens - left;
    it->second.tokens = left;
  }
}

}  // namespace cigri::policy
