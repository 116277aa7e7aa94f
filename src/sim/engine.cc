#include "sim/engine.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "policy/multi_slot.h"
#include "sim/impl.h"
#include "sim/random.h"

namespace cigri::sim {
namespace {

constexpr double kLongest = 20 * 365 * 86400.0;  // of a scenario that says no end
constexpr std::size_t kLongJobsOver = 1000;      // what ended campaigns say, a row for a cluster
constexpr int kIdleCycles = 20'000;              // in a row with nothing in flight: it hangs

// The longer they run, the more may follow them.
bool HasCanaries(const policy::Campaign& c) {
  return c.waiting > 0 && std::any_of(c.placements.begin(), c.placements.end(), [](const auto& l) {
           return !l.verified && l.running > 0 && l.held.empty();
         });
}

}  // namespace

std::string_view ToString(End end) {
  static constexpr std::array<std::string_view, 9> kWords = {
      "done", "failed", "walltime", "preempted", "lost", "cancelled", "copy", "running", "never"};
  return kWords[static_cast<std::size_t>(end)];
}

Engine::Engine(const Scenario& scenario, std::vector<Observer*> observers)
    : impl_(std::make_unique<Impl>(scenario, std::move(observers))) {}
Engine::~Engine() = default;
Totals Engine::Run(double until) { return impl_->Run(until); }

Engine::Impl::Impl(const Scenario& scenario, std::vector<Observer*> observers)
    : scenario_(scenario), observers_(std::move(observers)), usage_(scenario.policy) {
  for (const auto* o : observers_) reasons_ = reasons_ || o->ReadsReasons();
  black_holes_ = scenario.policy.black_hole_count > 0;
  snapshot_.config = scenario.policy;
  snapshot_.usage = scenario.usage;
  for (auto& row : snapshot_.usage) row.start += kEpoch;
  for (std::size_t k = 0; k < scenario.clusters.size(); ++k) {
    const ClusterSpec& spec = scenario.clusters[k];
    ClusterState c;
    c.spec = &spec;
    c.up = spec.slots;
    c.nodes = Nodes(spec.slots, spec.nodes);
    c.on_node.resize(static_cast<std::size_t>(spec.nodes));
    c.seen_capacity = spec.slots + spec.overstates;
    for (const auto& of : spec.resource_classes) c.classes.push_back({.total = of.second});
    for (std::size_t n = 0; n < spec.local.size(); ++n) {
      c.streams.emplace_back(spec.local[n], scenario.seed, static_cast<int>(k),
                             static_cast<int>(n), spec.slots);
      c.next_local.push_back(c.streams.back().Next());
    }
    clusters_.push_back(std::move(c));
    snapshot_.clusters.push_back({.id = static_cast<std::int64_t>(k) + 1,
                                  .name = spec.name,
                                  .max = spec.slots + spec.overstates,
                                  .free = spec.slots + spec.overstates,
                                  .speed = spec.speed,
                                  .mode = spec.mode,
                                  .limited = spec.limited,
                                  .max_running = spec.max_running});
    for (const auto& [name, units] : spec.resource_classes)
      snapshot_.clusters.back().classes.push_back({name, units, units});
    const int who = static_cast<int>(k);
    for (std::size_t n = 0; n < spec.local.size(); ++n)
      if (const auto& next = clusters_.back().next_local[n])
        Push(next->at, Kind::kLocalNext, who, static_cast<std::uint32_t>(n));
    for (const auto* windows : {&spec.down, &spec.closed})
      for (const auto& w : *windows)
        for (const double at : {w.from, w.until})
          if (std::isfinite(at)) Push(at, Kind::kWindow, who);
    ScheduleNode(who);
  }
  for (std::size_t i = 0; i < scenario.campaigns.size(); ++i) {
    CampaignState c;
    c.spec = &scenario.campaigns[i];
    black_holes_ = black_holes_ || c.spec->min_duration_s > 0;
    campaigns_.push_back(std::move(c));
    Push(scenario.campaigns[i].at, Kind::kCampaign, static_cast<int>(i));
    ++to_come_;
  }
}

void Engine::Impl::Push(double at, Kind kind, int who, std::uint32_t n) {
  events_.push({at, seq_++, who, n, kind});
}

Totals Engine::Impl::Run(double until) {
  if (scenario_.until > 0) until = std::min(until, scenario_.until);
  until = std::min(until, kLongest);
  while (!events_.empty() && idle_cycles_ <= kIdleCycles) {
    // Without an end in the scenario it stops with the last campaign.
    if (scenario_.until <= 0 && to_come_ == 0 && snapshot_.campaigns.empty()) break;
    if (events_.top().at > until) break;
    now_ = events_.top().at;
    while (!events_.empty() && events_.top().at <= now_) {
      const Event event = events_.top();
      events_.pop();
      Handle(event);
    }
    TryCycle();
    TryCycle();  // what a cycle itself has taken back is decided on in the next
  }
  if (scenario_.until > 0 || (!events_.empty() && events_.top().at > until)) now_ = until;
  totals_.until = now_;
  StopAll();
  return totals_;
}

void Engine::Impl::Handle(const Event& event) {
  ++totals_.events;
  switch (event.kind) {
    case Kind::kJobEnd:
      if (jobs_[event.who].turn == event.n) EndJob(event.who, jobs_[event.who].end);
      break;
    case Kind::kJobBegins:
      if (jobs_[event.who].turn == event.n) Begin(event.who);
      break;
    case Kind::kArrive:
      return Arrive(event.who);
    case Kind::kSeen:
      return See(event.who);
    case Kind::kCampaign:
      return Submit(event.who);
    case Kind::kLocalNext:
      return LocalNext(event.who, event.n);
    case Kind::kLocalEnd:
      return LocalEnd(event.who, event.n);
    case Kind::kNodeFails:
      return NodeFails(event.who);
    case Kind::kNodeBack:
      return NodeBack(event.who, static_cast<int>(event.n));
    case Kind::kWindow:
      return WindowTurns(event.who);
    case Kind::kCycle:
      if (event.n < 2) (event.n == 0 ? cycle_set_ : tick_set_) = false;
      dirty_ = true;
      break;
  }
}

void Engine::Impl::OpenPlacement(int campaign, int cluster) {
  const CampaignSpec& spec = *campaigns_[campaign].spec;
  policy::Placement row;
  row.cluster = cluster + 1;
  row.slots = spec.slots;
  row.max_jobs = spec.max_jobs;
  row.start_rate = spec.start_rate;
  const std::string& name = scenario_.clusters[cluster].name;
  if (const auto it = spec.affinity.find(name); it != spec.affinity.end())
    row.affinity = it->second;
  const auto needs = spec.needs.find(name);
  if (needs != spec.needs.end()) {
    row.resource_class = static_cast<std::uint16_t>(needs->second.of);
    row.class_units = static_cast<std::uint16_t>(needs->second.units);
  }
  row.local = std::find(spec.data_on.begin(), spec.data_on.end(), name) != spec.data_on.end();
  const auto& verified = spec.verified_on;
  row.verified = scenario_.clairvoyant ||
                 std::find(verified.begin(), verified.end(), name) != verified.end();
  if (spec.prologue_s > 0 && !row.local && !scenario_.clairvoyant) row.prologue = policy::Prologue::kNeeded;
  snapshot_.campaigns.back().placements.push_back(row);
  auto placement = std::make_unique<PlacementState>();
  placement->campaign = campaign;
  placement->cluster = cluster;
  if (needs != spec.needs.end()) placement->needs = needs->second;
  placements_.push_back(std::move(placement));
}

void Engine::Impl::Submit(int i) {
  CampaignState& c = campaigns_[i];
  const CampaignSpec& spec = *c.spec;
  --to_come_;
  c.place = static_cast<int>(snapshot_.campaigns.size());
  c.first_placement = static_cast<int>(placements_.size());
  c.waiting_since = now_;
  policy::Campaign row{.id = i + 1, .user = spec.user, .project = spec.project};
  row.test = spec.test;
  row.priority = spec.priority;
  row.weight = spec.weight;
  row.sla_group = spec.sla_group;
  row.cls = spec.cls;
  row.scheduler = spec.scheduler;
  row.submitted_at = row.waiting_since = kEpoch + now_;
  row.waiting = spec.tasks;
  row.replicas = spec.replicas;
  row.affinity_wait_s = spec.affinity_wait_s;
  row.min_duration_s = spec.min_duration_s;
  if (spec.deadline > 0) row.deadline = kEpoch + spec.deadline;
  row.after = AwaitedBy(c);
  row.need_s = spec.need_s;
  row.walltime_s = spec.walltime_s;
  row.licences = spec.licences;
  snapshot_.campaigns.push_back(std::move(row));
  for (std::size_t k = 0; k < clusters_.size(); ++k) {
    const auto& names = spec.clusters;
    if (names.empty() ||
        std::find(names.begin(), names.end(), scenario_.clusters[k].name) != names.end())
      OpenPlacement(i, static_cast<int>(k));
  }
  c.placements = static_cast<int>(placements_.size()) - c.first_placement;
  if (scenario_.clairvoyant)
    for (; c.next < spec.tasks; ++c.next) c.redo.push_back({c.next, 0, 0});
  auto& rows = snapshot_.campaigns.back().placements;  // moves with its campaign, its items do not
  for (int l = 0; l < c.placements; ++l) placements_[c.first_placement + l]->row = &rows[l];
  dirty_ = true;
  for (auto* o : observers_) o->Submitted(i, now_);
}

// The first campaign that has to be over before it; 0 = none.
std::int64_t Engine::Impl::AwaitedBy(const CampaignState& c) const {
  for (const int place : c.spec->after)
    if (!campaigns_[place].over) return place + 1;
  return 0;
}

bool Engine::Impl::IsOver(int i) const {
  const CampaignState& c = campaigns_[i];
  if (c.in_flight > 0) return false;
  if (c.done + c.failed >= c.spec->tasks) return true;
  if (!c.spec->test) return false;
  for (int l = c.first_placement; l < c.first_placement + c.placements; ++l)
    if (!placements_[l]->row->tested) return false;
  return c.placements > 0;
}

void Engine::Impl::Over(int i) {
  CampaignState& c = campaigns_[i];
  for (int l = c.first_placement; l < c.first_placement + c.placements; ++l) {
    if (placements_[l]->long_jobs.n > 0) long_jobs_.push_back(placements_[l]->long_jobs);
    placements_[l].reset();
  }
  while (long_jobs_.size() > kLongJobsOver) long_jobs_.pop_front();
  snapshot_.campaigns.erase(snapshot_.campaigns.begin() + c.place);
  for (std::size_t p = static_cast<std::size_t>(c.place); p < snapshot_.campaigns.size(); ++p)
    campaigns_[snapshot_.campaigns[p].id - 1].place = static_cast<int>(p);
  c.place = -1;
  c.over = true;
  for (auto& row : snapshot_.campaigns)
    if (row.after != 0) row.after = AwaitedBy(campaigns_[row.id - 1]);
  c.live.clear(), c.settled.clear(), c.redo.clear();
  dirty_ = true;
  for (auto* o : observers_) o->Over(i, now_);
}

// Rules that let work go on as time passes, with nothing else happening.
bool Engine::Impl::DependsOnClock() const {
  const auto& config = scenario_.policy;
  if (!config.start_rates.empty() || policy::MayKeepSlots(snapshot_) || !state_.holds.empty())
    return true;
  if (config.policy == policy::PolicyKind::kDynamic) return true;
  for (const auto& c : snapshot_.campaigns)
    if ((config.urgent_percent > 0 && c.cls == "urgent") || c.affinity_wait_s > 0 ||
        config.affinity_wait_s > 0 || c.replicas || campaigns_[c.id - 1].spec->start_rate > 0)
      return true;
  return std::any_of(snapshot_.campaigns.begin(), snapshot_.campaigns.end(), HasCanaries);
}

void Engine::Impl::TryCycle() {
  if (!dirty_) return;
  const double due = last_cycle_ + scenario_.cycle_s;
  if (now_ >= due) return Cycle();
  if (cycle_set_) return;
  cycle_set_ = true;
  dirty_ = false;
  Push(due, Kind::kCycle, 0);
}

void Engine::Impl::StopAll() {
  for (const auto& job : jobs_) {
    if (job.view == View::kGone || job.ended) continue;
    const PlacementState& placement = *placements_[job.placement];
    const Attempt attempt{job.id,
                          job.task,
                          placement.campaign,
                          placement.cluster,
                          campaigns_[placement.campaign].spec->slots,
                          job.kind,
                          job.sent,
                          job.begun ? job.started : -1,
                          now_,
                          job.begun ? End::kRunning : End::kNever};
    for (auto* o : observers_) o->Ended(attempt);
  }
  for (auto& c : clusters_) {
    CountTo(c, now_);
    totals_.capacity_slot_s += c.capacity_slot_s;
    totals_.local_slot_s += c.local_slot_s;
  }
  for (const auto& c : campaigns_) {
    totals_.done += c.done;
    totals_.failed += c.failed;
    totals_.active += c.place >= 0;
    if (!c.spec->test) totals_.not_done += c.spec->tasks - c.done - c.failed;
  }
  totals_.jobs = job_ids_;
}

}  // namespace cigri::sim
