#include "policy/preempt.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace cigri::policy {
namespace {

struct Victim {
  const RunningJob* job;
  int campaign;  // place in the allocation state
  double value;
  bool taken = false;
};

// Running jobs by cluster, the lowest value first; of equals the youngest, then the latest made.
using Victims = std::map<std::int64_t, std::vector<Victim>>;

Victims Candidates(const AllocationState& alloc, const Snapshot& snapshot) {
  std::map<std::int64_t, int> place;
  for (std::size_t i = 0; i < alloc.campaigns.size(); ++i)
    place[alloc.campaigns[i].row->id] = static_cast<int>(i);
  Victims victims;
  for (const auto& job : snapshot.running) {
    if (job.for_campaign != 0) continue;
    const auto it = place.find(job.campaign);
    if (it == place.end()) continue;
    const Campaign& c = *alloc.campaigns[it->second].row;
    const double value =
        VictimValue(c.priority, alloc.now - job.started_at, alloc.config.preempt_threshold_s);
    victims[job.cluster].push_back({&job, it->second, value});
  }
  for (auto& [cluster, list] : victims)
    std::sort(list.begin(), list.end(), [](const Victim& a, const Victim& b) {
      return std::tuple(a.value, -a.job->started_at, -a.job->job) <
             std::tuple(b.value, -b.job->started_at, -b.job->job);
    });
  return victims;
}

class Chooser {
 public:
  Chooser(const AllocationState& alloc, const Snapshot& snapshot)
      : alloc_(alloc), victims_(Candidates(alloc, snapshot)) {
    // A kill takes a while: what is on its way is not asked for again.
    for (const auto& job : snapshot.running)
      if (job.for_campaign != 0) {
        coming_[job.for_campaign] += job.slots;
        going_[job.campaign] += job.slots;
      }
  }

  /// Slots that are being freed for campaign i, and that are being taken from it.
  double Coming(int i) const { return Of(coming_, i); }
  double Going(int i) const { return Of(going_, i); }
  /// What campaign i still lacks.
  double Missing(int i) const {
    const CampaignAllocation& c = alloc_.campaigns[i];
    const Placement* placement = c.row->placements.empty() ? nullptr : &c.row->placements.front();
    const double slots =
        static_cast<double>(c.left) * (placement == nullptr ? 1 : placement->slots);
    return std::max(0.0, slots - Coming(i));
  }

  /// Frees up to `slots` slots where campaign i may run, from victims that `allowed` names.
  template <typename Allowed>
  double Free(int i, double slots, const char* code, Allowed allowed) {
    double freed = 0;
    const CampaignAllocation& campaign = alloc_.campaigns[i];
    for (int l = campaign.placements_begin; l < campaign.placements_end && freed < slots; ++l) {
      const PlacementAllocation& placement = alloc_.placements[l];
      // Only where nothing but room is missing does a kill help.
      const Code why = alloc_.RoomOf(l).code;
      const bool by_units = why == Code::kClassFull;
      if (why != Code::kFull && why != Code::kServedBefore && !by_units) continue;
      // And only for as many as may start then: a slot freed for nobody is taken by the victim's
      // own campaign, and so on without end.
      const double useful = static_cast<double>(alloc_.RulesAllow(l)) * placement.slots;
      const auto frees = [&](int victim) {
        return allowed(victim) && (!by_units || SharesClass(victim, placement));
      };
      freed += FreeOn(i, placement.row->cluster, std::min(slots - freed, useful), code, frees);
    }
    return freed;
  }

  std::vector<Preempt> chosen;

 private:
  // A job that has no unit of the class gives none back.
  bool SharesClass(int victim, const PlacementAllocation& placement) const {
    const CampaignAllocation& c = alloc_.campaigns[victim];
    for (int l = c.placements_begin; l < c.placements_end; ++l)
      if (alloc_.placements[l].cluster == placement.cluster)
        return alloc_.placements[l].resource_class == placement.resource_class;
    return false;
  }

  template <typename Allowed>
  double FreeOn(int i, std::int64_t cluster, double slots, const char* code, Allowed allowed) {
    double freed = 0;
    for (auto& victim : victims_[cluster]) {
      if (victim.taken || victim.campaign == i || !allowed(victim.campaign)) continue;
      if (freed + victim.job->slots > slots + 1e-9) continue;  // never more than was asked for
      victim.taken = true;
      freed += victim.job->slots;
      const double ran = std::max(0.0, alloc_.now - victim.job->started_at);
      chosen.push_back({victim.job->job, victim.job->campaign, cluster, alloc_.campaigns[i].row->id,
                        code, victim.value, victim.job->slots, ran * victim.job->slots});
    }
    return freed;
  }

  double Of(const std::map<std::int64_t, double>& slots, int i) const {
    const auto it = slots.find(alloc_.campaigns[i].row->id);
    return it == slots.end() ? 0 : it->second;
  }

  const AllocationState& alloc_;
  Victims victims_;
  std::map<std::int64_t, double> coming_, going_;  // by campaign
};

bool IsUrgent(const CampaignAllocation& c) { return c.row->cls == "urgent"; }
bool IsScavenger(const CampaignAllocation& c) { return c.row->cls == "scavenger"; }

// GRID-29: something is still wanted, for long enough, and urgent jobs stay within their part.
void ForUrgent(const AllocationState& alloc, Chooser& chooser) {
  if (alloc.config.urgent_percent <= 0) return;
  double all = 0, urgent = 0;
  for (const auto& c : alloc.clusters) all += c.row->max;
  for (std::size_t i = 0; i < alloc.campaigns.size(); ++i)
    if (IsUrgent(alloc.campaigns[i]))
      urgent += alloc.campaigns[i].held_slots + chooser.Coming(static_cast<int>(i));
  double allowed = std::floor(all * alloc.config.urgent_percent / 100 + 1e-9) - urgent;
  for (std::size_t i = 0; i < alloc.campaigns.size() && allowed > 0; ++i) {
    const CampaignAllocation& c = alloc.campaigns[i];
    if (!IsUrgent(c) || !c.in_play || c.left <= 0) continue;
    if (alloc.now - c.row->waiting_since < alloc.config.urgent_delay_s) continue;
    allowed -=
        chooser.Free(static_cast<int>(i), std::min(allowed, chooser.Missing(static_cast<int>(i))),
                     "URGENT", [&](int v) { return !IsUrgent(alloc.campaigns[v]); });
  }
}

// TECH-08: a scavenger gives way to campaigns of priority normal and higher, and to nobody else.
void ForNormal(const AllocationState& alloc, Chooser& chooser) {
  constexpr int kNormal = 4;
  if (!alloc.config.scavenger_preempt) return;
  for (std::size_t i = 0; i < alloc.campaigns.size(); ++i) {
    const CampaignAllocation& c = alloc.campaigns[i];
    if (IsScavenger(c) || !c.in_play || c.left <= 0 || c.row->priority < kNormal) continue;
    chooser.Free(static_cast<int>(i), chooser.Missing(static_cast<int>(i)), "SCAVENGER",
                 [&](int v) { return IsScavenger(alloc.campaigns[v]); });
  }
}

// GRID-45: a group below its number takes back from groups above theirs, never below.
void ForGroups(const AllocationState& alloc, Chooser& chooser) {
  if (!alloc.config.sla_preempt || alloc.config.policy != PolicyKind::kSla) return;
  std::map<std::string, double> over;
  double all = 0;
  for (const auto& c : alloc.clusters) all += c.row->max;
  for (const auto& [name, number] : alloc.config.sla_groups)
    over[name] = -(number < 1 ? number * all : number);
  for (std::size_t i = 0; i < alloc.campaigns.size(); ++i) {
    const CampaignAllocation& c = alloc.campaigns[i];
    const int place = static_cast<int>(i);
    over[c.row->sla_group] += c.held_slots + chooser.Coming(place) - chooser.Going(place);
  }
  for (std::size_t i = 0; i < alloc.campaigns.size(); ++i) {
    const CampaignAllocation& c = alloc.campaigns[i];
    double& mine = over[c.row->sla_group];
    if (!c.in_play || c.left <= 0 || mine >= 0) continue;
    const std::size_t before = chooser.chosen.size();
    mine += chooser.Free(static_cast<int>(i), std::min(-mine, chooser.Missing(static_cast<int>(i))),
                         "SLA", [&](int v) { return over[alloc.campaigns[v].row->sla_group] > 0; });
    for (std::size_t k = before; k < chooser.chosen.size(); ++k)
      for (const auto& v : alloc.campaigns)
        if (v.row->id == chooser.chosen[k].campaign)
          over[v.row->sla_group] -= chooser.chosen[k].slots;
  }
}

}  // namespace

double VictimValue(double priority, double running_s, double threshold_s) {
  return priority + (threshold_s > 0 ? std::max(0.0, running_s) / threshold_s : 0);
}

std::vector<Preempt> ChooseVictims(const AllocationState& alloc, const Snapshot& snapshot) {
  const PolicyConfig& config = alloc.config;
  if (snapshot.running.empty() ||
      (config.urgent_percent <= 0 && !config.scavenger_preempt && !config.sla_preempt))
    return {};
  Chooser chooser(alloc, snapshot);
  ForUrgent(alloc, chooser);
  ForNormal(alloc, chooser);
  ForGroups(alloc, chooser);
  return std::move(chooser.chosen);
}

}  // namespace cigri::policy
