// From tables to the placements of a Snapshot: each campaign on each of its clusters, its jobs in
// flight there, and the measurements of its jobs there.
#include <sql/jobs.h>
#include <sql/placements.h>
#include <sql/survival.h>
#include <sql/tasks.h>

#include <cmath>
#include <limits>
#include <unordered_map>

#include "metascheduler/store.h"
#include "policy/forecast/flow.h"
#include "policy/forecast/forecast.h"
#include "policy/forecast/speed.h"
#include "policy/forecast/stragglers.h"
#include "policy/guard.h"
#include "policy/multi_slot.h"

namespace cigri::metascheduler {
namespace {

using policy::kNoLimit;

// A class that no poll has counted yet: one job may wait for it meanwhile.
constexpr int kMostUnits = std::numeric_limits<std::uint16_t>::max();

policy::Prologue PrologueOf(bool has, const std::string& state, bool in_flight) {
  if (!has) return policy::Prologue::kNone;
  if (state == "done") return policy::Prologue::kDone;
  if (state == "failed") return policy::Prologue::kFailed;
  return in_flight ? policy::Prologue::kRunning : policy::Prologue::kNeeded;
}

// CIG-11: of the last ends, the latest successes in a row (a failure is infinite), `most` at most.
void ReadRecent(const std::vector<double>& ends, int most, policy::Placement& placement) {
  for (auto it = ends.rbegin(); it != ends.rend() && placement.recent < most; ++it) {
    if (!std::isfinite(*it)) break;
    ++placement.recent;
    placement.recent_longest_s = std::max(placement.recent_longest_s, *it);
  }
}

void CountInFlight(const sql::InFlightRow& row, Loaded& loaded) {
  const auto kind = FromString<BatchKind>(row.kind).value();
  loaded.in_flight[{row.campaign_id, row.cluster_id, kind}] += row.n;
  auto& f = loaded.flights[{row.campaign_id, row.cluster_id}];
  if (kind == BatchKind::kPrologue) f.prologue += row.n;
  f.n += row.n;
  if (row.state != "running") return;
  f.running += row.n;
  f.running_slots += row.slots;
  f.since += row.sum_start;
}

void CountOnCluster(const sql::InFlightRow& row, policy::Cluster& c) {
  const int jobs = static_cast<int>(row.n), slots = static_cast<int>(row.slots);
  if (row.state == "running") {
    c.running += jobs;
    c.running_slots += slots;
  } else if (row.state == "remote_waiting") {
    c.waiting += jobs;
    c.waiting_slots += slots;
  } else {
    c.launching += jobs;
    c.launching_slots += slots;
  }
}

policy::Placement PlacementOf(const sql::LoadPlacementsRow& row, const Loaded::Flight& f) {
  policy::Placement placement;
  placement.cluster = row.cluster_id;
  placement.in_flight = static_cast<int>(f.n);
  placement.running = static_cast<int>(f.running);
  placement.slots = row.slots;
  // The counter sums over slots, the placement over jobs.
  if (f.running_slots > 0)
    placement.running_since = f.since / static_cast<double>(f.running_slots) * placement.running;
  // test_mode: one job at a time, as in CiGri 3.
  placement.max_jobs = row.test_mode ? 1 : row.max_jobs.value_or(kNoLimit);
  // Jobs that failed before the first success count too (policy key canary_jobs).
  placement.tried = row.tried;
  placement.waiting_allowed = row.waiting_allowed;
  placement.job_ratio = row.job_ratio;
  placement.verified = row.verified;
  if (row.held) placement.held = "CANARY_FAILED";
  if (!row.blocked.empty()) placement.held = row.blocked;
  placement.prologue = PrologueOf(row.has_prologue, row.prologue, f.prologue > 0);
  placement.affinity = row.affinity;
  placement.local = row.prologue == "done" || placement.verified || row.staged;
  placement.tested = row.answered_test;
  placement.mean_s = row.mean_s;
  placement.transfer_s = std::clamp(row.transfer_s, 0.0, row.mean_s);
  placement.median_s = row.p50_s;
  if (row.start_rate)
    placement.start_rate = std::max(0.0, std::strtod(row.start_rate->c_str(), nullptr));
  return placement;
}

}  // namespace

void Store::LoadInFlight(db::Tx& tx, Loaded& loaded) {
  std::unordered_map<std::int64_t, policy::Cluster*> clusters;
  for (auto& c : loaded.snapshot.clusters) clusters[c.id] = &c;
  for (const auto& row : tx.Exec(sql::kInFlight)) {
    CountInFlight(row, loaded);
    if (const auto it = clusters.find(row.cluster_id); it != clusters.end())
      CountOnCluster(row, *it->second);
  }
  for (auto& c : loaded.snapshot.clusters) {
    c.free = std::clamp(c.free - c.running_slots, 0, c.max);
    // Raised by the predictor's estimate (LoadPlacements), which knows how fast jobs end there.
    c.waiting_allowed = policy::WaitingAllowed(1, 0, 0);
  }
}

void Store::LoadPlacements(db::Tx& tx, Loaded& loaded) {
  auto& snapshot = loaded.snapshot;
  std::unordered_map<std::int64_t, policy::Cluster*> clusters;
  std::unordered_map<std::int64_t, policy::Campaign*> campaigns;
  std::vector<std::int64_t> ids, replicating, counted;
  for (auto& c : snapshot.clusters) clusters[c.id] = &c;
  for (auto& c : snapshot.campaigns) {
    campaigns[c.id] = &c;
    ids.push_back(c.id);
    if (c.replicas && c.waiting == 0) replicating.push_back(c.id);
  }
  if (ids.empty()) return;
  const bool rates = !snapshot.config.start_rates.empty();
  std::unordered_map<std::int64_t, double> longest_killed;
  std::vector<policy::MeasuredPlacement> measured;
  for (const auto& row :
       tx.Exec(sql::kLoadPlacements.Of(ids.size()), ids, snapshot.config.black_hole_count > 0,
               snapshot.config.canary_jobs)) {
    auto& c = *campaigns.at(row.campaign_id);
    const auto flight = loaded.flights.find({row.campaign_id, row.cluster_id});
    policy::Placement placement =
        PlacementOf(row, flight == loaded.flights.end() ? Loaded::Flight{} : flight->second);
    c.walltime_s = std::max(c.walltime_s, row.walltime_s);
    measured.push_back({c.id, placement.cluster, row.n_ok,
                        placement.mean_s - placement.transfer_s});
    if (const auto it = clusters.find(placement.cluster); it != clusters.end())
      it->second->waiting_allowed = std::max(it->second->waiting_allowed, row.waiting_allowed);
    ReadRecent(row.recent_s, policy::BlackHoleCount(snapshot.config, c), placement);
    placement.bursts = row.bursts;
    placement.killed_at = row.killed_at;
    if (row.longest_killed_s)
      longest_killed[c.id] = std::max(longest_killed[c.id], *row.longest_killed_s);
    if (rates || placement.start_rate > 0)
      if (counted.empty() || counted.back() != c.id) counted.push_back(c.id);
    c.placements.push_back(std::move(placement));
  }
  LoadClasses(tx, loaded);
  policy::MeasureSpeeds(measured, snapshot.clusters);
  // Until one has succeeded, a job needs longer than the clusters let any of its like live.
  for (const auto& [id, seconds] : longest_killed)
    if (auto& c = *campaigns.at(id); c.need_s <= 0) c.need_s = seconds;
  const auto each = [&](const auto& rows, auto set) {
    for (const auto& row : rows)
      for (auto& placement : campaigns.at(row.campaign_id)->placements)
        if (placement.cluster == row.cluster_id) set(placement, row);
  };
  if (!counted.empty()) {
    each(tx.Exec(sql::kJobsByPlacement, counted),
         [](policy::Placement& placement, const auto& row) { placement.started = row.started; });
    // A placement without a row of counters has started nothing.
    for (const auto id : counted)
      for (auto& placement : campaigns.at(id)->placements)
        placement.started = std::max<std::int64_t>(0, placement.started);
  }
  LoadSurvival(tx, loaded);
  if (!replicating.empty())
    each(tx.Exec(sql::kSingleCopies, replicating),
         [](policy::Placement& placement, const auto& row) { placement.single = row.n; });
  each(tx.Exec(sql::kAvoidedClusters.Of(ids.size()), ids),
       [](policy::Placement& placement, const auto& row) { placement.avoid = row.n; });
  LoadOverdue(tx, loaded);
  LoadStragglers(tx, loaded);
  LoadReleases(tx, loaded);
}

// TECH-21, FAIR-21. What is idle of a class now: what was at the poll, and what our jobs held then,
// less what they hold now.
void Store::LoadClasses(db::Tx& tx, Loaded& loaded) {
  std::unordered_map<std::int64_t, policy::Cluster*> clusters;
  std::map<Pair, policy::Placement*> placements;
  std::vector<std::int64_t> ids;
  for (auto& c : loaded.snapshot.clusters) clusters[c.id] = &c;
  for (auto& c : loaded.snapshot.campaigns) ids.push_back(c.id);
  const auto rows = tx.Exec(sql::kPlacementClasses.Of(ids.size()), ids);
  if (rows.empty()) return;
  for (auto& c : loaded.snapshot.campaigns)
    for (auto& placement : c.placements) placements[{c.id, placement.cluster}] = &placement;
  std::string last;  // the rows come by cluster and request
  const policy::Cluster* of = nullptr;
  for (const auto& row : rows) {
    const auto cluster = clusters.find(row.cluster_id);
    const auto placement = placements.find({row.campaign_id, row.cluster_id});
    if (cluster == clusters.end() || placement == placements.end()) continue;
    auto& classes = cluster->second->classes;
    if (of != cluster->second || last != row.request)
      classes.push_back({.name = row.name.empty() ? policy::kNotCounted : row.name,
                         .total = row.total,
                         .free = row.free + row.used_by_cigri});
    of = cluster->second, last = row.request;
    policy::Placement& p = *placement->second;
    p.resource_class = static_cast<std::uint16_t>(classes.size());
    p.class_units = static_cast<std::uint16_t>(std::min(row.units, kMostUnits));
    classes.back().free -= p.running * row.units;
  }
  for (auto& c : loaded.snapshot.clusters)
    for (auto& k : c.classes) k.free = std::clamp(k.free, 0, k.total);
}

// How long jobs survived on each cluster, as measured.
void Store::LoadSurvival(db::Tx& tx, Loaded& loaded) {
  std::unordered_map<std::int64_t, double> median;
  std::unordered_map<std::int64_t, double> life;
  for (const auto& row : tx.Exec(sql::kClusterSurvival)) {
    median[row.cluster_id] = policy::MedianSurvival(row.killed, row.ended).value_or(0);
    life[row.cluster_id] = policy::MeanLife(row.killed, row.ended);
  }
  for (auto& c : loaded.snapshot.clusters) c.life_s = life[c.id];
  for (auto& c : loaded.snapshot.campaigns)
    for (auto& placement : c.placements)
      if (placement.bursts > 0) placement.median_survival_s = median[placement.cluster];
}

// TECH-12. Every few seconds is often enough: no job is overdue by less.
void Store::LoadOverdue(db::Tx& tx, Loaded& loaded) {
  constexpr double kEvery = 10;
  if (now_ - overdue_at_ >= kEvery || now_ < overdue_at_) {
    overdue_at_ = now_;
    overdue_.clear();
    for (const auto& row : tx.Exec(sql::kOverdueJobs))
      overdue_.push_back({row.campaign_id, row.cluster_id, row.n, row.copies, row.overdue_s,
                          row.average_s.value_or(0), row.ran_s, row.grid_user});
    loaded.overdue_fresh = true;
  }
  loaded.overdue = overdue_;
  for (auto& c : loaded.snapshot.campaigns)
    for (const auto& o : overdue_)
      if (o.copies && o.campaign == c.id)
        for (auto& placement : c.placements)
          if (placement.cluster == o.cluster) placement.overdue = o.n;
}

// Call after LoadOverdue().
void Store::LoadStragglers(db::Tx& tx, Loaded& loaded) {
  constexpr double kEvery = 60;
  constexpr int kEnded = 200;  // campaigns
  const double times = loaded.snapshot.config.straggler_times;
  if (times <= 0) return;
  const bool read = now_ - long_jobs_at_ >= kEvery || now_ < long_jobs_at_;
  if (read) {
    long_jobs_at_ = now_;
    long_jobs_.clear();
    for (const auto& row : tx.Exec(sql::kLongJobs, kEnded)) {
      long_jobs_.push_back(
          {.user = row.grid_user, .cluster = row.cluster_id, .killed = double(row.killed)});
      if (row.overdue_s)
        policy::AddSuccesses(row.hist, *row.overdue_s, *row.average_s, long_jobs_.back());
      else
        long_jobs_.back().n = double(row.n);
    }
  }
  if (read || loaded.overdue_fresh) {
    auto jobs = long_jobs_;
    for (const auto& o : loaded.overdue) {
      if (o.average_s <= 0) continue;
      jobs.push_back({.user = o.user, .cluster = o.cluster});
      policy::AddRunning(o.n, o.ran_s, o.average_s, jobs.back());
    }
    stragglers_ = policy::FindStragglers(jobs, times);
  }
  if (!stragglers_.own.empty()) policy::SetStragglers(stragglers_, loaded.snapshot.campaigns);
}

// FAIR-08: when slots of ours become free, for jobs that may start before a multi-slot job.
void Store::LoadReleases(db::Tx& tx, Loaded& loaded) {
  if (!policy::MayKeepSlots(loaded.snapshot)) return;
  std::unordered_map<std::int64_t, double> length;
  std::unordered_map<std::int64_t, policy::Cluster*> clusters;
  for (const auto& c : loaded.snapshot.campaigns)
    length[c.id] = c.need_s > 0 ? c.need_s : c.walltime_s;
  for (auto& c : loaded.snapshot.clusters) clusters[c.id] = &c;
  for (const auto& row : tx.Exec(sql::kSlotReleases)) {
    const auto cluster = clusters.find(row.cluster_id);
    const auto lasts = length.find(row.campaign_id);
    if (cluster == clusters.end() || lasts == length.end() || lasts->second <= 0) continue;
    const double at = std::max(loaded.now, row.start + lasts->second);
    cluster->second->releases.push_back({at, row.slots});
  }
}

}  // namespace cigri::metascheduler
