#include "policy/allocation_state.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "policy/guard.h"

namespace cigri::policy {
namespace {

constexpr std::int64_t kPlenty = std::numeric_limits<std::int32_t>::max();

Code CodeOf(Unusable why) {
  switch (why) {
    case Unusable::kNo:
      return Code::kNone;
    case Unusable::kDisabled:
      return Code::kDisabled;
    case Unusable::kStale:
      return Code::kStale;
    case Unusable::kDrained:
      return Code::kDrained;
    case Unusable::kHours:
      return Code::kHours;
    case Unusable::kBreaker:
      return Code::kBreaker;
    case Unusable::kStress:
      return Code::kStress;
  }
  return Code::kDisabled;
}

// Jobs that wait or are on their way take the free slots first, then places of the queue. Those
// that wait for units of a class take neither.
void Fill(ClusterAllocation& entry) {
  const Cluster& c = *entry.row;
  const double pending = std::max(0.0, c.waiting + c.launching - entry.for_units);
  const double slots =
      std::max(c.waiting_slots + c.launching_slots - entry.slots_for_units, pending);
  const double starts = pending == 0 ? 0 : std::min(1.0, std::max(0, c.free) / slots) * pending;
  const double left_waiting = std::ceil(pending - starts - kEpsilon);
  entry.free = std::max(0.0, c.free - slots);
  entry.queue = std::max(0.0, c.waiting_allowed - left_waiting);
  entry.waits = pending == 0 ? 0 : left_waiting / pending;
  entry.start_free = entry.free;
}

/// Places of clusters in the allocation state by their ids. Placements mostly come in the order of
/// ids, so the next one is looked at first.
class ClusterIndexes {
 public:
  explicit ClusterIndexes(const std::vector<ClusterAllocation>& clusters) {
    for (std::size_t i = 0; i < clusters.size(); ++i)
      ids_.emplace_back(clusters[i].row->id, static_cast<int>(i));
    std::sort(ids_.begin(), ids_.end());
  }
  /// -1: there is no such cluster.
  int Of(std::int64_t id) {
    if (at_ >= ids_.size() || ids_[at_].first != id)
      at_ = static_cast<std::size_t>(std::lower_bound(ids_.begin(), ids_.end(), std::pair(id, 0)) -
                                     ids_.begin());
    return at_ < ids_.size() && ids_[at_].first == id ? ids_[at_++].second : -1;
  }

 private:
  std::vector<std::pair<std::int64_t, int>> ids_;
  std::size_t at_ = 0;
};

// The class that a placement's jobs need as a place in AllocationState::classes, from 1; 0 = none.
int ClassAt(const ClusterAllocation& cluster, const Placement& placement) {
  if (placement.resource_class == 0 || placement.resource_class > cluster.row->classes.size())
    return 0;
  const int at = cluster.classes_begin + placement.resource_class;
  return at <= std::numeric_limits<std::uint16_t>::max() ? at : 0;
}

// Kills per second of run time.
double Roughness(const Cluster& c) { return c.life_s > 0 ? 1 / c.life_s : 0; }

// How soon a job whose program takes `need_s` at speed 1 is done on a cluster, with its transfers
// there, kills counted in, as a step of 5 %.
int Pace(const Cluster& c, double need_s, double transfer_s) {
  constexpr double kStep = 0.05;
  const double there = need_s / c.speed + transfer_s;
  return static_cast<int>(std::lround(std::log(need_s / there * Yield(there, c.life_s)) / kStep));
}

// How long a campaign's transfers take where its jobs have succeeded.
struct Transfers {
  double least = 0, mean = 0;
};
Transfers TransfersOf(const std::vector<const Placement*>& by_cluster) {
  Transfers t;
  int n = 0;
  for (const auto* placement : by_cluster) {
    if (placement == nullptr || placement->mean_s <= 0) continue;
    t.least = n++ == 0 ? placement->transfer_s : std::min(t.least, placement->transfer_s);
    t.mean += placement->transfer_s;
  }
  if (n > 0) t.mean /= n;
  return t;
}

// Places of the clusters of a campaign: affine ones first (CIG-02), then where its data is
// (GRID-22), then where its jobs are done soonest. `by_cluster` has its placements, the fastest
// cluster first. Where jobs are killed, long ones so go to calm clusters, and short ones leave
// these to them. Where none of its jobs has succeeded yet, transfers are taken to be as short as
// anywhere, so that this is found out.
std::vector<int> BestFirst(const std::vector<ClusterAllocation>& clusters,
                           const std::vector<const Placement*>& by_cluster, double need_s) {
  std::vector<int> order;
  bool rough = false;
  for (std::size_t k = 0; k < by_cluster.size(); ++k) {
    if (by_cluster[k] == nullptr) continue;
    order.push_back(static_cast<int>(k));
    rough = rough || clusters[k].row->life_s > 0;
  }
  std::vector<std::pair<int, double>> by_pace(by_cluster.size());  // pace, roughness
  const auto transfers = TransfersOf(by_cluster);
  const double program_s = std::max(need_s - transfers.mean, need_s / 100);
  if ((rough || transfers.mean > 0) && need_s > 0)
    for (const int k : order)
      if (const Cluster& c = *clusters[k].row; c.speed > 0) {
        const auto& placement = *by_cluster[k];
        by_pace[k] = {
            Pace(c, program_s, placement.mean_s > 0 ? placement.transfer_s : transfers.least),
            Roughness(c)};
      }
  const auto key = [&](int k) {
    return std::tuple(by_cluster[k]->affinity, by_cluster[k]->local, by_pace[k]);
  };
  const auto better = [&](int a, int b) { return key(a) > key(b); };
  if (!std::is_sorted(order.begin(), order.end(), better))
    std::stable_sort(order.begin(), order.end(), better);
  return order;
}

// What is known of the length of its jobs; until one has ended, how long they have run.
double NeedOf(const CampaignAllocation& c) {
  if (const double length = LengthOf(*c.row); length > 0) return length;
  return c.running_slots > 0 ? c.running_seconds / c.running_slots : 0;
}

// FAIR-22: what the quality of service of its class adds to its weight.
double QosFactor(const Campaign& c, const PolicyConfig& config) {
  if (config.qos_weight <= 0) return 1;
  const auto own = config.qos.find(c.cls);
  if (own == config.qos.end()) return 1;
  double highest = 0;
  for (const auto& [cls, quality] : config.qos) highest = std::max(highest, quality);
  return 1 + config.qos_weight * own->second / highest;
}

double WeightOf(const Campaign& c, const PolicyConfig& config) {
  if (c.weight > 0) return c.weight;
  const auto it = config.weights.find(c.priority);
  return (it != config.weights.end() ? it->second : c.priority) * QosFactor(c, config);
}

// What keeps the whole campaign back, whatever its clusters are like.
Code BlockOf(const Campaign& c, double weight, const PolicyConfig& config, double now) {
  // GRID-39: refused at submission, but groups can be removed.
  if (config.policy == PolicyKind::kSla && config.sla_groups.count(c.sla_group) == 0)
    return Code::kBadGroup;
  if (c.priority == 0 || !(weight > 0)) return Code::kSuspended;
  if (c.after_failed != 0) return Code::kAfterFailed;
  if (c.after != 0) return Code::kAfter;
  return now < c.not_before ? Code::kNotBefore : Code::kNone;
}

}  // namespace

AllocationState::AllocationState(const Snapshot& snapshot, const State& carried, double at)
    : config(snapshot.config),
      now(at),
      keeps_slots(snapshot.config.KeepsSlots()),
      in_order(config.policy == PolicyKind::kFifo || config.policy == PolicyKind::kAffinity) {
  OpenClusters(snapshot);
  OpenCampaigns(snapshot, carried);
}

int AllocationState::AddMeter(double limit, double used, Code code, std::string name) {
  meters.push_back({limit, std::max(0.0, limit - used), code, std::move(name)});
  return static_cast<int>(meters.size()) - 1;
}

void AllocationState::OpenClusters(const Snapshot& snapshot) {
  for (const auto& row : snapshot.clusters) clusters.push_back({.row = &row});
  std::sort(clusters.begin(), clusters.end(), [](const auto& a, const auto& b) {
    return std::tuple(-a.row->speed, a.row->id) < std::tuple(-b.row->speed, b.row->id);
  });
  OpenClasses(snapshot);
  for (auto& entry : clusters) {
    const Cluster& c = *entry.row;
    entry.block = CodeOf(c.unusable);
    if (entry.block == Code::kNone && c.mode == ClusterMode::kObserve)
      entry.block = Code::kObserved;
    Fill(entry);
    const double ours = c.launching + c.waiting + c.running;
    if (c.mode == ClusterMode::kLimited && c.limited != kNoLimit)
      entry.uses.push_back({AddMeter(c.limited, ours, Code::kLimited, c.name), 1, 0});
    const double slots =
        std::max<double>(ours, c.launching_slots + c.waiting_slots + c.running_slots);
    if (c.max_running != kNoLimit)
      entry.uses.push_back({AddMeter(c.max_running, slots, Code::kMaxRunning, c.name), 0, 1});
  }
}

// Jobs that wait or are on their way take the idle units of their class first, too.
void AllocationState::OpenClasses(const Snapshot& snapshot) {
  for (auto& entry : clusters) {
    entry.classes_begin = static_cast<int>(classes.size());
    for (const auto& row : entry.row->classes)
      classes.push_back({.row = &row,
                         .free = std::max(0.0, double(row.free)),
                         .queue = double(entry.row->waiting_allowed)});
  }
  if (classes.empty()) return;
  struct Pending {
    double jobs = 0, slots = 0, units = 0;
  };
  std::vector<Pending> pending(classes.size());
  ClusterIndexes places(clusters);
  for (const auto& campaign : snapshot.campaigns)
    for (const auto& placement : campaign.placements) {
      const int place = placement.resource_class == 0 ? -1 : places.Of(placement.cluster);
      const int at = place < 0 ? 0 : ClassAt(clusters[place], placement);
      if (at == 0) continue;
      const double jobs = std::max(0, placement.in_flight - placement.running);
      Pending& p = pending[at - 1];
      p.jobs += jobs;
      p.slots += jobs * placement.slots;
      p.units += jobs * (placement.class_units > 0 ? placement.class_units : placement.slots);
    }
  for (auto& entry : clusters)
    for (std::size_t i = 0; i < entry.row->classes.size(); ++i) {
      ClassAllocation& c = classes[entry.classes_begin + i];
      const Pending& p = pending[entry.classes_begin + i];
      if (p.jobs <= 0) continue;
      const double starts = std::min(1.0, c.free / p.units) * p.jobs;
      c.waits = std::ceil(p.jobs - starts - kEpsilon) / p.jobs;
      c.free = std::max(0.0, c.free - p.units);
      entry.for_units += c.waits * p.jobs;
      entry.slots_for_units += c.waits * p.slots;
    }
}

void AllocationState::OpenCampaigns(const Snapshot& snapshot, const State& carried) {
  ClusterIndexes places(clusters);
  std::vector<const Campaign*> rows;
  std::size_t total = 0;
  for (const auto& row : snapshot.campaigns) rows.push_back(&row), total += row.placements.size();
  const auto before = [](const Campaign* a, const Campaign* b) {
    return a->submitted_at < b->submitted_at ||
           (a->submitted_at == b->submitted_at && a->id < b->id);
  };
  if (!std::is_sorted(rows.begin(), rows.end(), before))
    std::sort(rows.begin(), rows.end(), before);
  campaigns.resize(rows.size());
  const Campaign* one = nullptr;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto& entry = campaigns[i];
    const Campaign& c = *(entry.row = rows[i]);
    entry.weight = WeightOf(c, config);
    entry.block = BlockOf(c, entry.weight, config, now);
    entry.in_play = entry.block == Code::kNone;
    if (!entry.in_play || c.waiting == 0) continue;
    shared = shared || (one != nullptr && one->user != c.user);
    one = &c;
  }
  placements.reserve(total);
  std::vector<const Placement*> by_cluster(clusters.size());
  for (std::size_t i = 0; i < campaigns.size(); ++i) {
    auto& entry = campaigns[i];
    const Campaign& c = *entry.row;
    entry.scheduler = &SchedulerFor(c);
    entry.copies = &CopySchedulerFor(c);
    entry.selected = !c.scheduler.empty() && !c.test;
    entry.project = c.project;
    if (const auto u = config.users.find(c.user); entry.project.empty() && u != config.users.end())
      entry.project = u->second.parent;
    entry.left = c.waiting;
    entry.cap = kPlenty;
    std::fill(by_cluster.begin(), by_cluster.end(), nullptr);
    const auto& next = campaigns[std::min(i + 1, campaigns.size() - 1)].row->placements;
    for (const auto& placement : c.placements) {
      if (const int place = places.Of(placement.cluster); place >= 0)
        by_cluster[place] = &placement;
      CountRunning(entry, placement);
      entry.held_jobs += placement.in_flight;
      entry.held_slots += static_cast<double>(placement.in_flight) * placement.slots;
      if (c.replicas && !c.test) entry.overdue += placement.overdue;
    }
    if (c.max_jobs_total != kNoLimit)
      entry.uses.push_back(
          {AddMeter(c.max_jobs_total, double(entry.held_jobs), Code::kMaxJobsTotal, ""), 1, 0});
    entry.placements_begin = static_cast<int>(placements.size());
    for (const int k : BestFirst(clusters, by_cluster, NeedOf(entry))) {
      PlacementAllocation& placement =
          placements.emplace_back();  // filled where it is: copying costs more
      placement.row = by_cluster[k];
      placement.campaign = static_cast<int>(i);
      placement.cluster = k;
      const auto n = placements.size() - 1 - static_cast<std::size_t>(entry.placements_begin);
      if (n < next.size()) Prefetch(next[n]);
      OpenPlacement(placement, carried);
      if (placement.block == Code::kNone) ++entry.open_placements;
      affinities = affinities || placement.row->affinity > 0;
    }
    entry.placements_end = static_cast<int>(placements.size());
  }
}

void AllocationState::CountRunning(CampaignAllocation& campaign, const Placement& placement) const {
  if (placement.running <= 0) return;
  const double slots = static_cast<double>(placement.running) * placement.slots;
  const double age = std::max(0.0, now - placement.running_since / placement.running);
  campaign.running_slots += slots;
  campaign.running_seconds += slots * age;
  campaign.running_in_window += slots * std::min(age, config.usage_window_s);
}

void AllocationState::OpenPlacement(PlacementAllocation& entry, const State& carried) {
  const Placement& placement = *entry.row;
  const Campaign& campaign = *campaigns[entry.campaign].row;
  const Cluster& cluster = *clusters[entry.cluster].row;
  entry.slots = std::max(1, placement.slots);
  entry.avoid = placement.avoid;
  if (placement.in_flight > 0 || campaigns[entry.campaign].left > 0) {
    int& narrowest = clusters[entry.cluster].narrowest;
    narrowest = narrowest == 0 ? entry.slots : std::min(narrowest, entry.slots);
    keeps_slots = keeps_slots || config.TooWideToQueue(campaign.cls, entry.slots, cluster.max);
  }
  entry.whole = !(placement.job_ratio > 0);
  entry.cost = placement.job_ratio > 0 ? 1 / placement.job_ratio : std::max(1, placement.slots);
  ratios = ratios || entry.cost + kEpsilon < entry.slots;
  entry.left = kPlenty;
  entry.resource_class =
      static_cast<std::uint16_t>(ClassAt(clusters[entry.cluster], placement));
  // The queue is a time: a longer job takes more of it.
  if (placement.waiting_allowed != kNoLimit)
    entry.place = double(cluster.waiting_allowed) / std::max(1, placement.waiting_allowed);
  double pending = std::max(0, placement.in_flight - placement.running);
  campaigns[entry.campaign].queued_slots += WaitsOf(entry) * pending * placement.slots;
  if (entry.resource_class != 0) {
    ClassAllocation& c = classes[entry.resource_class - 1];
    c.queue -= std::max(1.0, entry.place) * c.waits * pending;
    pending *= 1 - c.waits;
  }
  // Fill() has counted each job as a short one.
  if (placement.waiting_allowed != kNoLimit)
    clusters[entry.cluster].queue -=
        std::max(0.0, entry.place - 1) * clusters[entry.cluster].waits * pending;
  placement_rates = placement_rates || placement.start_rate > 0;
  stragglers = stragglers || placement.straggler_share > 0;
  auto limit = [&](std::int64_t n, Code code) {
    if (n < entry.left)
      entry.left = static_cast<int>(std::max<std::int64_t>(0, n)), entry.limit = code;
  };
  if (placement.max_jobs != kNoLimit)
    limit(placement.max_jobs - placement.in_flight, Code::kMaxJobs);
  if (!placement.verified && !campaign.test)
    // The updator holds the placement when that many have failed: in all, not at a time.
    limit(CanaryJobsLeft(config, placement, now, shared), Code::kCanary);
  if (placement.prologue == Prologue::kNeeded) limit(1, Code::kPrologueRuns);
  if (OnlyProbes(config, campaign, placement))
    limit(now < NextProbe(config, placement) ? 0 : 1 - placement.in_flight, Code::kShortSurvival);

  const auto hold =
      carried.holds.empty() ? carried.holds.end() : carried.holds.find({campaign.id, cluster.id});
  if (placement.slots > cluster.max)
    entry.block = Code::kTooManySlots;
  else if (!placement.held.empty())
    entry.block = Code::kHeld;
  else if (hold != carried.holds.end() && now < hold->second.until)
    entry.block = Code::kBlackHole;
  else if (placement.prologue == Prologue::kRunning)
    entry.block = Code::kPrologueRuns;
  else if (placement.prologue == Prologue::kFailed)
    entry.block = Code::kPrologueFailed;
  else if (campaign.test && (placement.tested || placement.in_flight > 0))
    entry.block = Code::kTestDone;
}

std::vector<Unit> MakeUnits(AllocationState& alloc, const std::vector<int>& campaigns) {
  std::vector<Unit> units;
  units.reserve(campaigns.size());
  const int parallel = alloc.config.parallel_campaigns;
  if (parallel <= 0) {
    for (const int i : campaigns) units.push_back({{i}});
    return units;
  }
  std::vector<int> order = campaigns;
  // TECH-17: the best priority, then the earliest.
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return alloc.campaigns[a].row->priority > alloc.campaigns[b].row->priority;
  });
  std::unordered_map<std::string, std::vector<int>> of_user;  // user -> places in units
  std::unordered_map<std::string, std::size_t> seen;
  for (const int i : order) {
    if (!alloc.campaigns[i].in_play || alloc.Demand(i) == 0) continue;
    auto& mine = of_user[alloc.campaigns[i].row->user];
    const std::size_t nth = seen[alloc.campaigns[i].row->user]++;
    if (nth < static_cast<std::size_t>(parallel)) {
      mine.push_back(static_cast<int>(units.size()));
      units.push_back({{i}});
    } else {
      Unit& unit = units[mine[nth % parallel]];
      alloc.campaigns[i].behind = unit.campaigns.back();
      unit.campaigns.push_back(i);
    }
  }
  std::sort(units.begin(), units.end(),
            [](const Unit& a, const Unit& b) { return a.head() < b.head(); });
  return units;
}

}  // namespace cigri::policy
