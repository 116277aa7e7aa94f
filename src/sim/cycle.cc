// One cycle, in the grid's order: the predictor looks, the metascheduler decides, the runner
// claims and sends.
#include <algorithm>

#include "core/histogram.h"
#include "policy/forecast/flow.h"
#include "policy/forecast/stragglers.h"
#include "policy/guard.h"
#include "policy/multi_slot.h"
#include "sim/impl.h"
#include "sim/random.h"

namespace cigri::sim {
namespace {

constexpr int kVictims = 1000;   // youngest jobs of a cluster that a preemption may choose from
constexpr int kPendingKept = 1;  // the default of clusters.pending_kept
constexpr double kWindow = 60;   // s: CAMPAIGN_THROUGHPUT_WINDOW

}  // namespace

void Engine::Impl::Cycle() {
  dirty_ = false;
  last_cycle_ = now_;
  ++cycles_;
  ++totals_.decisions;
  usage_.Tidy(kEpoch + now_, snapshot_.usage);
  const auto jobs = job_ids_;
  if (scenario_.clairvoyant)
    ForeseeingCycle();
  else
    DecidingCycle();
  const bool idle = job_ids_ == jobs && in_flight_ == 0 && to_come_ == 0;
  idle_cycles_ = idle ? idle_cycles_ + 1 : 0;
  if (scenario_.clairvoyant || tick_set_ || !DependsOnClock()) return;
  const bool waits = std::any_of(snapshot_.campaigns.begin(), snapshot_.campaigns.end(),
                                 [](const auto& c) { return c.waiting > 0 || c.replicas; });
  if (!waits) return;
  tick_set_ = true;
  Push(now_ + scenario_.tick_s, Kind::kCycle, 0, 1);
}

void Engine::Impl::DecidingCycle() {
  Poll();
  FillClusters();
  FillCampaigns();
  FillStragglers();
  FillRunning();
  auto result = policy::Decide(snapshot_, std::move(state_), kEpoch + now_,
                               Key(scenario_.seed, Variate::kDecide, cycles_), reasons_);
  for (auto* o : observers_) o->Decided({now_, snapshot_, result});
  CarryOver(result);
  WakeForProbe();
}

// A probe goes at its time, with nothing else happening.
void Engine::Impl::WakeForProbe() {
  double at = 1e300;
  for (const auto& c : snapshot_.campaigns)
    for (const auto& placement : c.placements)
      if (c.waiting > 0 && placement.bursts > 0 &&
          policy::OnlyProbes(snapshot_.config, c, placement))
        if (const double probe = policy::NextProbe(snapshot_.config, placement) - kEpoch;
            probe > now_)
          at = std::min(at, probe);
  if (at >= 1e300 || at == probe_at_) return;
  probe_at_ = at;
  Push(at, Kind::kCycle, 0, 2);
}

void Engine::Impl::Poll() {
  for (std::size_t k = 0; k < clusters_.size(); ++k)
    Row(static_cast<int>(k)).waiting_allowed = std::min(1, clusters_[k].spec->max_waiting);
  for (const auto& c : snapshot_.campaigns) {
    const CampaignState& campaign = campaigns_[c.id - 1];
    const int end = campaign.first_placement + campaign.placements;
    for (int l = campaign.first_placement; l < end; ++l) {
      PlacementState& placement = *placements_[l];
      if (placement.fresh) PollPlacement(placement);
      int& allowed = Row(placement.cluster).waiting_allowed;
      if (allowed > 0) allowed = std::max(allowed, placement.row->waiting_allowed);
    }
  }
}

// Jobs that ended on their own lived at least so long: without them a cluster that kills one job
// in a hundred, early, would look as if none lived there.
void Engine::Impl::UpdateSurvival(PlacementState& placement) {
  if (scenario_.policy.survival_kills <= 0 ||
      placement.row->bursts < scenario_.policy.survival_kills)
    return;
  policy::Durations survival;
  for (const auto& [length, killed] : clusters_[placement.cluster].survival)
    (killed ? survival.ended : survival.running).push_back(length);
  placement.row->median_survival_s = policy::Quantile(survival, 0.5).value_or(0);
}

void Engine::Impl::PollPlacement(PlacementState& placement) {
  const ClusterState& c = clusters_[placement.cluster];
  placement.fresh = false;
  UpdateSurvival(placement);
  predictor::PlacementStats f;
  f.slots = placement.row->slots;
  f.rule = c.spec->ratio;
  f.queue_s = c.spec->queue_s;
  f.max_waiting = c.spec->max_waiting;
  f.polls = c.polls;
  f.max_resources = c.seen_capacity;
  f.free_resources = Row(placement.cluster).free;
  f.submitted = placement.launching;
  f.waiting = placement.waiting;
  f.running = placement.row->running;
  f.ended = placement.ended;
  const CampaignState& campaign = campaigns_[placement.campaign];
  f.campaign_mean_s = predictor::KnownMean(campaign.n_ok, campaign.sum_s);
  f.n_ok = placement.n_ok;
  f.sum_s = placement.sum_s;
  f.sum_sq = placement.sum_sq;
  const auto forecast = placement.predictor.Update(f, now_, kWindow);
  placement.row->waiting_allowed = forecast.waiting_allowed.value_or(1);
  if (c.spec->ratio != "none") placement.row->job_ratio = forecast.job_ratio;
}

void Engine::Impl::FillClusters() {
  const bool releases = policy::MayKeepSlots(snapshot_);
  for (std::size_t k = 0; k < clusters_.size(); ++k) {
    ClusterState& c = clusters_[k];
    policy::Cluster& row = Row(static_cast<int>(k));
    row.free = std::clamp(c.seen_capacity - c.seen_local - row.running_slots, 0, row.max);
    row.life_s = c.kills > 0 ? c.ran_s / c.kills : 0;
    for (std::size_t i = 0; i < c.classes.size(); ++i)
      row.classes[i].free = c.classes[i].total - c.classes[i].seen_local;
    for (int of = 0; of <= static_cast<int>(c.classes.size()); ++of)
      TrimExcess(static_cast<int>(k), of);
    row.releases.clear();
    if (!releases) continue;
    for (auto j = c.first; j >= 0; j = jobs_[j].after) {
      const CampaignState& campaign = campaigns_[PlacementOf(jobs_[j]).campaign];
      const policy::Campaign& who = Row(campaign);
      const double length = who.need_s > 0 ? who.need_s : who.walltime_s;
      if (length > 0)
        row.releases.push_back({kEpoch + jobs_[j].started + length, campaign.spec->slots});
    }
  }
  // As the grid counts them: what is idle, less what our jobs hold as far as it has seen them.
  for (const auto& placement : placements_)
    if (placement != nullptr && placement->needs.of != 0)
      Row(placement->cluster).classes[static_cast<std::size_t>(placement->needs.of) - 1].free -=
          placement->row->running * placement->needs.units;
  for (auto& row : snapshot_.clusters)
    for (auto& of : row.classes) of.free = std::clamp(of.free, 0, of.total);
}

// As nikita trims the queue of a cluster (CIG-36), by what its jobs wait for: units of a class, 0:
// slots.
void Engine::Impl::TrimExcess(int cluster, int of_class) {
  const ClusterState& c = clusters_[cluster];
  if (c.queue.size() <= 2) return;  // twice the least that may wait
  std::vector<std::int32_t> newest_first;
  std::copy_if(c.queue.rbegin(), c.queue.rend(), std::back_inserter(newest_first), [&](auto job) {
    return PlacementOf(jobs_[job]).needs.of == of_class;
  });
  std::vector<policy::PendingJob> pending;
  for (const auto job : newest_first)
    pending.push_back({now_ - jobs_[job].sent, PlacementOf(jobs_[job]).row->waiting_allowed});
  for (const auto i : policy::ExcessPending(pending, kPendingKept))
    EndJob(newest_first[i], End::kCancelled);
}

void Engine::Impl::FillCampaigns() {
  for (const auto& c : snapshot_.campaigns)
    if (c.replicas) FillCopies(static_cast<int>(c.id) - 1);
  if (!black_holes_) return;
  for (auto& placement : placements_) {
    if (placement == nullptr || BlackHoleCount(campaigns_[placement->campaign]) == 0) continue;
    placement->row->recent = static_cast<int>(placement->recent.size());
    placement->row->recent_longest_s = 0;
    for (const auto& [task, length] : placement->recent)
      placement->row->recent_longest_s = std::max(placement->row->recent_longest_s, length);
    if (placement->lengths.empty()) continue;
    std::vector<double> lengths = placement->lengths;
    const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
    std::nth_element(lengths.begin(), middle, lengths.end());
    placement->row->median_s = *middle;
  }
}

// Successes in a row that make a black hole of a cluster for this campaign, 0 = off.
int Engine::Impl::BlackHoleCount(const CampaignState& campaign) {
  return black_holes_ ? policy::BlackHoleCount(scenario_.policy, Row(campaign)) : 0;
}

void Engine::Impl::FillCopies(int campaign) {
  CampaignState& c = campaigns_[campaign];
  CountLongJobs(c);
  for (int l = c.first_placement; l < c.first_placement + c.placements; ++l)
    placements_[l]->row->single = placements_[l]->row->overdue = 0;
  for (const auto& [task, jobs] : c.live) {
    if (jobs.size() != 1 || !c.MayBeCopied(task)) continue;
    const Job& job = jobs_[jobs[0]];
    policy::Placement& row = *PlacementOf(job).row;
    ++row.single;
    if (c.overdue_s > 0 && job.view == View::kRunning && now_ - job.started > c.overdue_s)
      ++row.overdue;
  }
}

// By its threshold, which is learnt again when there are a tenth more successes.
void Engine::Impl::CountLongJobs(CampaignState& c) {
  if (c.n_ok < c.counted_n) return;
  c.counted_n = c.n_ok + c.n_ok / 10 + 1;
  std::vector<std::int64_t> hist(kDurationBuckets);
  const int end = c.first_placement + c.placements;
  for (int l = c.first_placement; l < end; ++l)
    for (std::size_t i = 0; i < placements_[l]->hist.size(); ++i)
      hist[i] += placements_[l]->hist[i];
  c.overdue_s = policy::StragglerThreshold(hist).value_or(0);
  if (c.overdue_s <= 0) return;
  for (int l = c.first_placement; l < end; ++l) {
    PlacementState& placement = *placements_[l];
    placement.long_jobs = {.user = c.spec->user,
                           .cluster = placement.cluster + 1,
                           .killed = static_cast<double>(placement.killed)};
    policy::AddSuccesses(placement.hist, c.overdue_s, c.sum_s / static_cast<double>(c.n_ok),
                         placement.long_jobs);
  }
}

// As the metascheduler does, once a minute: campaigns at work, and the last ones that are over.
void Engine::Impl::FillStragglers() {
  constexpr double kEvery = 60;
  constexpr int kOldest = 1000;  // jobs of a cluster that are looked at
  if (scenario_.policy.straggler_times <= 0 || now_ < stragglers_at_) return;
  stragglers_at_ = now_ + kEvery;
  std::vector<policy::LongJobs> jobs(long_jobs_.begin(), long_jobs_.end());
  double least = 1e300;
  for (const auto& row : snapshot_.campaigns) {
    CampaignState& c = campaigns_[row.id - 1];
    CountLongJobs(c);
    if (c.overdue_s <= 0) continue;
    least = std::min(least, c.overdue_s);
    for (int l = c.first_placement; l < c.first_placement + c.placements; ++l)
      jobs.push_back(placements_[l]->long_jobs);
  }
  for (std::size_t k = 0; k < clusters_.size(); ++k) {
    int looks = kOldest;
    for (auto j = clusters_[k].first; j >= 0 && looks > 0; j = jobs_[j].after, --looks) {
      const Job& job = jobs_[j];
      const double ran_s = now_ - job.started;
      if (ran_s <= least) break;
      const CampaignState& c = campaigns_[PlacementOf(job).campaign];
      if (job.view != View::kRunning || c.overdue_s <= 0 || ran_s <= c.overdue_s) continue;
      jobs.push_back({.user = c.spec->user, .cluster = static_cast<std::int64_t>(k) + 1});
      policy::AddRunning(1, ran_s, c.sum_s / static_cast<double>(c.n_ok), jobs.back());
    }
  }
  policy::SetStragglers(policy::FindStragglers(jobs, scenario_.policy.straggler_times),
                        snapshot_.campaigns);
}

void Engine::Impl::FillRunning() {
  snapshot_.running.clear();
  const auto& config = scenario_.policy;
  if (config.urgent_percent <= 0 && !config.scavenger_preempt && !config.sla_preempt) return;
  for (std::size_t k = 0; k < clusters_.size(); ++k) {
    int n = 0;
    for (auto j = clusters_[k].last; j >= 0 && n < kVictims; j = jobs_[j].before) {
      const Job& job = jobs_[j];
      if (job.view != View::kRunning || job.kind == BatchKind::kPrologue) continue;
      const PlacementState& placement = PlacementOf(job);
      snapshot_.running.push_back({.job = j,
                                   .campaign = placement.campaign + 1,
                                   .cluster = static_cast<std::int64_t>(k) + 1,
                                   .slots = placement.row->slots,
                                   .started_at = kEpoch + job.started});
      ++n;
    }
  }
}

void Engine::Impl::CarryOver(policy::PlanResult& result) {
  state_ = std::move(result.next);
  for (const auto& hold : result.plan.holds) TakeBack(hold);
  for (const auto& victim : result.plan.preempt)
    EndJob(static_cast<int>(victim.job), End::kCancelled);
  for (const auto& recall : result.plan.recalls) Recall(recall);
  for (const auto& allocation : result.plan.allocations)
    if (!allocation.shadow) Claim(allocation);
}

// The newest first; a job that waits no longer than a queue is meant to last may start soon.
void Engine::Impl::Recall(const policy::Recall& recall) {
  const int cluster = static_cast<int>(recall.cluster) - 1;
  ClusterState& c = clusters_[cluster];
  const int l = PlacementOn(static_cast<int>(recall.campaign) - 1, cluster);
  std::vector<std::int32_t> waiting;
  for (const auto job : c.queue)
    if (jobs_[job].placement == l) waiting.push_back(job);
  int booting = 0;
  for (auto j = c.first; j >= 0; j = jobs_[j].after)
    booting += jobs_[j].placement == l && !jobs_[j].begun;
  // Those whose end is not yet seen are being taken back already.
  int n = recall.n -
          std::max(0, placements_[l]->waiting - booting - static_cast<int>(waiting.size()));
  for (; n > 0 && !waiting.empty(); --n, waiting.pop_back())
    if (now_ - jobs_[waiting.back()].sent >= c.spec->queue_s)
      EndJob(waiting.back(), End::kCancelled);
}

// CIG-11: what a black hole has swallowed is not believed and is retried.
void Engine::Impl::TakeBack(const policy::Hold& hold) {
  CampaignState& c = campaigns_[hold.campaign - 1];
  PlacementState& placement = *placements_[PlacementOn(static_cast<int>(hold.campaign) - 1,
                                                       static_cast<int>(hold.cluster) - 1)];
  int left = hold.requeue;
  for (; left > 0 && !placement.recent.empty(); --left) {
    const std::int64_t task = placement.recent.back().first;
    placement.recent.pop_back();
    if (c.settled.erase(task) == 0) continue;
    --c.done;
    c.redo.push_back({task, 0, 0});
  }
  Row(c).done = c.done;
  Forget(placement, c);
  CountWaiting(c);
}

// What it has learnt there was of jobs that did nothing.
void Engine::Impl::Forget(PlacementState& placement, CampaignState& campaign) {
  campaign.n_ok -= placement.n_ok;
  campaign.sum_s -= placement.sum_s;
  placement.n_ok = 0;
  placement.sum_s = placement.sum_sq = placement.row->mean_s = placement.row->median_s = 0;
  placement.lengths.clear();
  placement.row->verified = false;
  placement.fresh = true;
  if (campaign.spec->need_s > 0) return;
  const auto n = static_cast<double>(campaign.n_ok);
  Row(campaign).need_s = n > 0 ? campaign.sum_s / n : 0;
}

int Engine::Impl::PlacementOn(int campaign, int cluster) const {
  const CampaignState& c = campaigns_[campaign];
  for (int l = c.first_placement; l < c.first_placement + c.placements; ++l)
    if (placements_[l]->cluster == cluster) return l;
  return -1;
}

std::vector<Redo> Engine::Impl::CopiesFor(int campaign, int cluster, int n) const {
  const CampaignState& c = campaigns_[campaign];
  std::vector<std::tuple<bool, double, std::int64_t>> order;  // here already, start, task
  for (const auto& [task, jobs] : c.live)
    if (jobs.size() == 1 && c.MayBeCopied(task)) {
      const Job& job = jobs_[jobs[0]];
      order.emplace_back(placements_[job.placement]->cluster == cluster,
                         job.started < 0 ? 1e300 : job.started, task);
    }
  std::sort(order.begin(), order.end());
  std::vector<Redo> copies;
  for (const auto& [here, started, task] : order) {
    if (static_cast<int>(copies.size()) >= n) break;
    const Job& first = jobs_[c.live.at(task)[0]];
    copies.push_back({task, first.tries, static_cast<std::int16_t>(first.starts + 1000)});
  }
  return copies;
}

void Engine::Impl::Claim(const policy::Allocation& allocation) {
  const int i = static_cast<int>(allocation.campaign) - 1,
            cluster = static_cast<int>(allocation.cluster) - 1;
  const int placement = PlacementOn(i, cluster);
  CampaignState& c = campaigns_[i];
  if (c.place < 0 || placement < 0) return;
  if (allocation.kind == BatchKind::kPrologue) {
    Send(placement, allocation.kind, {-1, 0, 0});
    placements_[placement]->row->prologue = policy::Prologue::kRunning;
    return;
  }
  if (allocation.kind == BatchKind::kReplica) {
    for (const auto& copy : CopiesFor(i, cluster, allocation.n))
      Send(placement, allocation.kind, copy);
    return;
  }
  for (int n = 0; n < allocation.n; ++n) {
    Redo task{c.next, 0, 0};
    if (!c.redo.empty()) {
      task = c.redo.front();
      c.redo.pop_front();
    } else if (c.next < c.spec->tasks) {
      ++c.next;
    } else {
      break;
    }
    Send(placement, allocation.kind, task);
  }
  CountWaiting(c);
}

int Engine::Impl::NewJob() {
  if (free_jobs_.empty()) {
    jobs_.emplace_back();
    return static_cast<int>(jobs_.size()) - 1;
  }
  const int place = free_jobs_.back();
  free_jobs_.pop_back();
  const auto turn = jobs_[place].turn + 1;
  jobs_[place] = Job{};
  jobs_[place].turn = turn;
  return place;
}

int Engine::Impl::Send(int l, BatchKind kind, const Redo& task) {
  PlacementState& placement = *placements_[l];
  CampaignState& campaign = campaigns_[placement.campaign];
  ClusterState& c = clusters_[placement.cluster];
  const int place = NewJob();
  Job& job = jobs_[place];
  job.id = ++job_ids_;
  job.task = task.task;
  job.placement = l;
  job.kind = kind;
  job.tries = task.tries;
  job.starts = static_cast<std::int16_t>(std::min(task.starts + 1, 30000));
  job.sent = now_;
  ++placement.row->in_flight;
  ++campaign.in_flight;
  ++in_flight_;
  ++placement.launching;
  policy::Cluster& row = Row(placement.cluster);
  ++row.launching;
  row.launching_slots += placement.row->slots;
  placement.fresh = true;
  if (campaign.spec->replicas && kind != BatchKind::kPrologue)
    campaign.live[job.task].push_back(place);
  const double at = now_ + c.spec->submit_s;
  if (c.arriving.empty() || c.arriving.back().first != at)
    Push(at, Kind::kArrive, placement.cluster);
  c.arriving.emplace_back(at, place);
  return place;
}

}  // namespace cigri::sim
