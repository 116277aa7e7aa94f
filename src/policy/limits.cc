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

std::string RateKey(const StartRate& rate, const std::string& name) {
  return rate.scope + ":" + name;
}

// A clock that steps back fills nothing and loses nothing.
double Tokens(const StartRate& rate, State& next, const std::string& key, double now) {
  const double burst = std::max(1.0, rate.burst);
  const auto [it, fresh] = next.rates.try_emplace(key, State::Bucket{burst, now});
  State::Bucket& bucket = it->second;
  if (!fresh) bucket.tokens += std::max(0.0, now - bucket.at) * rate.per_minute / 60;
  bucket = {std::min(bucket.tokens, burst), now};
  return bucket.tokens;
}

void AddRate(Ledger& ledger, State& next, const StartRate& rate) {
  std::map<std::string, int> meter;
  auto meter_of = [&](const std::string& name) {
    if (const auto it = meter.find(name); it != meter.end()) return it->second;
    const std::string key = RateKey(rate, name);
    const double tokens = Tokens(rate, next, key, ledger.now);
    const int m = ledger.AddMeter(tokens, 0, Code::kRate, key);
    ledger.meters[m].limit = rate.per_minute;
    return meter[name] = m;
  };
  if (rate.scope == "cluster") {
    for (auto& c : ledger.clusters)
      if (Matches(rate.name, c.row->name)) c.uses.push_back({meter_of(c.row->name), 1, 0});
    return;
  }
  for (auto& c : ledger.campaigns) {
    const std::string name = NameIn(rate.scope, c);
    if (Matches(rate.scope == "grid" ? "" : rate.name, name))
      c.uses.push_back({meter_of(name), 1, 0});
  }
}

}  // namespace

void AddLimits(Ledger& ledger, State& next) {
  LaneUse lane_use;
  for (const auto& quota : ledger.config.quotas) AddQuota(ledger, lane_use, quota);
  for (const auto& reserve : ledger.config.reserves) AddReserve(ledger, lane_use, reserve);
  AddLicences(ledger);
  for (const auto& rate : ledger.config.start_rates) AddRate(ledger, next, rate);
  for (const auto& [l, uses] : lane_use) {
    ledger.lanes[l].uses_begin = static_cast<int>(ledger.lane_uses.size());
    ledger.lane_uses.insert(ledger.lane_uses.end(), uses.begin(), uses.end());
    ledger.lanes[l].uses_end = static_cast<int>(ledger.lane_uses.size());
  }
}

void SpendRates(const Ledger& ledger, State& next) {
  for (const auto& meter : ledger.meters) {
    if (meter.code != Code::kRate) continue;
    if (const auto it = next.rates.find(meter.name); it != next.rates.end())
      it->second.tokens = std::max(0.0, meter.room);
  }
}

}  // namespace cigri::policy
