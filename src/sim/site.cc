// The clusters as they are: queues, running jobs, local users, nodes that fail.
#include <algorithm>
#include <cmath>

#include "sim/impl.h"
#include "sim/random.h"

namespace cigri::sim {
namespace {

std::uint64_t AttemptKey(const Job& job, const PlacementState& placement) {
  return static_cast<std::uint64_t>(job.starts) << 32 |
         static_cast<std::uint64_t>(placement.cluster);
}

}  // namespace

void Engine::Impl::CountTo(ClusterState& c, double now) {
  c.capacity_slot_s += (now - c.counted_at) * c.capacity();
  c.local_slot_s += (now - c.counted_at) * c.local;
  c.counted_at = now;
}

void Engine::Impl::Arrive(int cluster) {
  ClusterState& c = clusters_[cluster];
  std::vector<std::int32_t> arrived;
  while (!c.arriving.empty() && c.arriving.front().first <= now_) {
    arrived.push_back(c.arriving.front().second);
    c.arriving.pop_front();
  }
  if (c.down) {
    for (const auto job : arrived) EndJob(job, End::kLost);
    return;
  }
  c.queue.insert(c.queue.end(), arrived.begin(), arrived.end());
  StartQueued(cluster);
  for (const auto job : arrived)
    if (!jobs_[job].begun && !jobs_[job].ended)
      Publish(cluster, {.job = job, .view = View::kWaiting});
}

// In order of arrival; a job that does not fit lets narrower ones past it.
void Engine::Impl::StartQueued(int cluster) {
  ClusterState& c = clusters_[cluster];
  // Local users go first; who can be killed for them may run until they fit.
  if (c.down || (!c.local_queue.empty() && !c.spec->preempts)) return;
  int too_wide = c.free() + 1;
  for (std::size_t i = 0; i < c.queue.size() && c.free() > 0;) {
    const std::int32_t job = c.queue[i];
    const PlacementState& placement = PlacementOf(jobs_[job]);
    const int slots = campaigns_[placement.campaign].spec->slots;
    if (!c.HasUnits(placement.needs)) {
      ++i;
      continue;
    }
    auto places = slots < too_wide ? c.nodes.Find(slots) : std::nullopt;
    if (!places) {
      too_wide = std::min(too_wide, slots);
      ++i;
      continue;
    }
    c.queue.erase(c.queue.begin() + static_cast<std::ptrdiff_t>(i));
    jobs_[job].places = std::move(*places);
    Start(job);
  }
}

double Engine::Impl::BootOf(int campaign, std::int64_t task, int cluster) const {
  const auto key = Key(scenario_.seed, Variate::kBoot, static_cast<std::uint64_t>(campaign),
                       static_cast<std::uint64_t>(task), static_cast<std::uint64_t>(cluster));
  return clusters_[cluster].spec->boot.At(key, std::max<std::int64_t>(0, task));
}

double Engine::Impl::TransferOf(int campaign, std::int64_t task, int cluster) const {
  const CampaignSpec& spec = *campaigns_[campaign].spec;
  const auto draw = [&](const Distribution& distribution, Variate what) {
    return distribution.At(Key(scenario_.seed, what, static_cast<std::uint64_t>(campaign),
                               static_cast<std::uint64_t>(task)), task);
  };
  const double seconds = draw(spec.transfer, Variate::kTransfer);
  const double bandwidth = clusters_[cluster].spec->bandwidth;
  if (bandwidth <= 0) return seconds;
  return seconds +
         (draw(spec.input, Variate::kInput) + draw(spec.output, Variate::kOutput)) / bandwidth;
}

// Its length on this cluster, without delays and luck.
double Engine::Impl::WorkOf(const Job& job, const PlacementState& placement) const {
  const CampaignSpec& campaign = *campaigns_[placement.campaign].spec;
  const auto key =
      Key(scenario_.seed, Variate::kDuration, static_cast<std::uint64_t>(placement.campaign),
          static_cast<std::uint64_t>(job.task));
  const double work = job.kind == BatchKind::kPrologue ? campaign.prologue_s
                                                       : campaign.duration.At(key, job.task);
  return work / clusters_[placement.cluster].spec->speed;
}

// What the cluster adds, if it is one of its slow jobs.
double Engine::Impl::SlowedBy(const Job& job, const PlacementState& placement) const {
  const ClusterSpec& cluster = *clusters_[placement.cluster].spec;
  if (cluster.slow <= 0 || cluster.swallow_s > 0) return 0;
  const auto key =
      Key(scenario_.seed, Variate::kSlow, static_cast<std::uint64_t>(placement.campaign),
          static_cast<std::uint64_t>(job.task), AttemptKey(job, placement));
  if (Uniform(key) >= cluster.slow) return 0;
  return WorkOf(job, placement) * (cluster.slow_factor - 1);
}

// What ends it first: itself, its failure, its walltime, the end of its life there.
double Engine::Impl::LengthOf(const Job& job, const PlacementState& placement, End* end) const {
  const CampaignSpec& campaign = *campaigns_[placement.campaign].spec;
  const ClusterSpec& cluster = *clusters_[placement.cluster].spec;
  const auto c = static_cast<std::uint64_t>(placement.campaign);
  const auto task = static_cast<std::uint64_t>(job.task);
  *end = End::kDone;
  if (cluster.swallow_s > 0) return cluster.swallow_s;
  const auto attempt = AttemptKey(job, placement);
  double length = WorkOf(job, placement) + SlowedBy(job, placement);
  if (job.kind != BatchKind::kPrologue)
    length += TransferOf(placement.campaign, job.task, placement.cluster);
  const double risk = 1 - (1 - campaign.failures) * (1 - cluster.failures);
  if (risk > 0 && job.kind != BatchKind::kPrologue) {
    const auto key = Key(scenario_.seed, Variate::kFailure, c, task, attempt);
    if (Uniform(key) < risk) *end = End::kFailed, length *= Uniform(key, 1);
  }
  if (campaign.walltime_s > 0 && length > campaign.walltime_s)
    *end = End::kWalltime, length = campaign.walltime_s;
  if (cluster.life) {
    const double life =
        cluster.life->At(Key(scenario_.seed, Variate::kLife, c, task, attempt), job.id);
    if (life < length) *end = End::kPreempted, length = life;
  }
  return length;
}

// REQUIRES: it has its places.
void Engine::Impl::Start(int place) {
  Job& job = jobs_[place];
  PlacementState& placement = PlacementOf(job);
  ClusterState& c = clusters_[placement.cluster];
  double length = LengthOf(job, placement, &job.end);
  if (job.places[0].node < c.spec->bad_nodes && length > c.spec->bad_after_s)
    length = c.spec->bad_after_s, job.end = End::kFailed;
  const double boot = BootOf(placement.campaign, job.task, placement.cluster);
  job.started = now_ + boot;
  job.running = true;
  c.used += campaigns_[placement.campaign].spec->slots;
  c.TakeUnits(placement.needs, 1, &ClassState::used);
  job.before = c.last, job.after = -1;
  (c.last >= 0 ? jobs_[c.last].after : c.first) = place;
  c.last = place;
  c.nodes.Take(job.places);
  if (c.nodes.count() > 1)
    for (const auto& part : job.places) c.on_node[part.node].push_back(place);
  Push(job.started + length, Kind::kJobEnd, place, job.turn);
  if (boot > 0) return Push(job.started, Kind::kJobBegins, place, job.turn);
  Begin(place);
}

// A batch scheduler says of a job that its node boots that it waits.
void Engine::Impl::Begin(int place) {
  Job& job = jobs_[place];
  const PlacementState& placement = PlacementOf(job);
  job.begun = true;
  for (auto* o : observers_) o->Started(placement.campaign, placement.row->slots, now_);
  Publish(placement.cluster, {.job = place, .view = View::kRunning});
}

void Engine::Impl::Unlink(int place) {
  Job& job = jobs_[place];
  ClusterState& c = clusters_[PlacementOf(job).cluster];
  (job.before >= 0 ? jobs_[job.before].after : c.first) = job.after;
  (job.after >= 0 ? jobs_[job.after].before : c.last) = job.before;
  job.before = job.after = -1;
  c.nodes.Give(job.places);
  if (c.nodes.count() > 1)
    for (const auto& part : job.places) std::erase(c.on_node[part.node], place);
}

// The end itself; the grid learns of it later.
void Engine::Impl::EndJob(int place, End end) {
  Job& job = jobs_[place];
  if (job.ended) return;
  const PlacementState& placement = PlacementOf(job);
  const int cluster = placement.cluster, slots = campaigns_[placement.campaign].spec->slots;
  ++job.turn;
  job.ended = true;
  job.end = end;
  job.stopped = now_;
  if (job.running) {
    Unlink(place);
    clusters_[cluster].used -= slots;
    clusters_[cluster].TakeUnits(placement.needs, -1, &ClassState::used);
  } else {
    std::erase(clusters_[cluster].queue, place);
    std::erase_if(clusters_[cluster].arriving, [&](const auto& a) { return a.second == place; });
  }
  const double started = job.begun ? job.started : -1;
  const Attempt attempt{job.id,   job.task, placement.campaign, cluster, slots,
                        job.kind, job.sent, started,            now_,    end,
                        SlowedBy(job, placement)};
  const bool ran = job.running;
  for (auto* o : observers_) o->Ended(attempt);
  Publish(cluster, {.job = place, .view = View::kGone});
  if (ran) {
    StartLocal(cluster);
    StartQueued(cluster);
  }
}

std::int32_t Engine::Impl::YoungestOn(const ClusterState& c, int node) const {
  if (c.nodes.count() == 1) return c.last;
  return c.on_node[node].empty() ? -1 : c.on_node[node].back();
}

// Slot-seconds of ours that are lost when `slots` slots of the node are wanted; -1: its own users
// hold too many.
double Engine::Impl::CostOfRoom(int cluster, int node, int slots) const {
  const ClusterState& c = clusters_[cluster];
  if (c.nodes.count() == 1) return c.capacity() - c.local >= slots ? 0 : -1;
  int room = c.nodes.free(node);
  double cost = 0;
  const auto& jobs = c.on_node[node];
  for (auto job = jobs.rbegin(); job != jobs.rend() && room < slots; ++job) {
    for (const auto& part : jobs_[*job].places) {
      cost += part.slots * std::max(0.0, now_ - jobs_[*job].started);
      if (part.node == node) room += part.slots;
    }
  }
  return room >= slots ? cost : -1;
}

// On the nodes where least is lost, the youngest first; then those that hold units it needs.
std::optional<Nodes::Places> Engine::Impl::MakeRoom(int cluster, const LocalJob& wanted) {
  ClusterState& c = clusters_[cluster];
  if (!c.HasUnits(wanted.needs)) {
    const ClassState& of = c.classes[static_cast<std::size_t>(wanted.needs.of) - 1];
    if (!c.spec->preempts || of.total - of.local < wanted.needs.units) return std::nullopt;
  }
  auto places = c.nodes.Find(wanted.slots);
  if (!places && c.spec->preempts)
    places = c.nodes.Cheapest(wanted.slots, [&](int node, int slots) {
      return CostOfRoom(cluster, node, slots);
    });
  if (!places) return std::nullopt;
  for (const auto& part : *places)
    while (c.nodes.free(part.node) < part.slots)
      Kill(YoungestOn(c, part.node), End::kPreempted);
  while (!c.HasUnits(wanted.needs)) {
    auto youngest = c.last;
    while (PlacementOf(jobs_[youngest]).needs.of != wanted.needs.of)
      youngest = jobs_[youngest].before;
    Kill(youngest, End::kPreempted);
  }
  return places;
}

// As EndJob, but no other job starts: the caller kills because it needs the slots.
void Engine::Impl::Kill(int place, End end) {
  ClusterState& c = clusters_[PlacementOf(jobs_[place]).cluster];
  const bool down = c.down;
  c.down = true;  // nothing starts meanwhile
  EndJob(place, end);
  c.down = down;
}

void Engine::Impl::LocalNext(int cluster, std::uint32_t n) {
  ClusterState& c = clusters_[cluster];
  const LocalJob job = *c.next_local[n];
  c.next_local[n] = c.streams[n].Next();
  if (c.next_local[n]) Push(c.next_local[n]->at, Kind::kLocalNext, cluster, n);
  LocalArrives(cluster, job);
}

void Engine::Impl::LocalArrives(int cluster, const LocalJob& job) {
  clusters_[cluster].local_queue.push_back(job);
  StartLocal(cluster);
  StartQueued(cluster);  // a multi-slot job may have gone for a narrow one
}

void Engine::Impl::StartLocal(int cluster) {
  ClusterState& c = clusters_[cluster];
  if (c.down) return;
  bool any = false;
  while (!c.local_queue.empty()) {
    const LocalJob job = c.local_queue.front();
    const auto places = MakeRoom(cluster, job);
    if (!places) break;
    c.local_queue.pop_front();
    CountTo(c, now_);
    c.local += job.slots;
    c.TakeUnits(job.needs, 1, &ClassState::local);
    c.nodes.Take(*places);
    const std::uint32_t id = c.local_ids++;
    c.local_running[id] = {now_, job.duration, job.slots, job.needs, *places};
    Push(now_ + job.duration, Kind::kLocalEnd, cluster, id);
    any = true;
  }
  if (any) NotifyCluster(cluster);
}

void Engine::Impl::EndLocal(int cluster, std::uint32_t id) {
  ClusterState& c = clusters_[cluster];
  const auto it = c.local_running.find(id);
  CountTo(c, now_);
  c.local -= it->second.slots;
  c.TakeUnits(it->second.needs, -1, &ClassState::local);
  c.nodes.Give(it->second.places);
  for (auto* o : observers_) o->LocalEnded(cluster, it->second.started, now_, it->second.slots);
  c.local_running.erase(it);
}

void Engine::Impl::LocalEnd(int cluster, std::uint32_t id) {
  if (clusters_[cluster].local_running.count(id) == 0) return;  // went down with its node
  EndLocal(cluster, id);
  NotifyCluster(cluster);
  StartLocal(cluster);
  StartQueued(cluster);
}

void Engine::Impl::ScheduleNode(int cluster) {
  ClusterState& c = clusters_[cluster];
  if (c.spec->node_mtbf_s <= 0) return;
  const auto key =
      Key(scenario_.seed, Variate::kNode, static_cast<std::uint64_t>(cluster), c.draws++);
  const double gap = -c.spec->node_mtbf_s / c.spec->nodes * std::log(1 - Uniform(key));
  Push(now_ + std::max(gap, 1.0), Kind::kNodeFails, cluster);
}

void Engine::Impl::NodeFails(int cluster) {
  ClusterState& c = clusters_[cluster];
  ScheduleNode(cluster);
  const auto key =
      Key(scenario_.seed, Variate::kNode, static_cast<std::uint64_t>(cluster), c.draws++);
  const int node = static_cast<int>(Mixed(key) % static_cast<std::uint64_t>(c.nodes.count()));
  if (!c.nodes.works(node)) return;
  LoseNode(cluster, node);
  Push(now_ + c.spec->node_repair_s, Kind::kNodeBack, cluster, static_cast<std::uint32_t>(node));
  NotifyCluster(cluster);
  StartLocal(cluster);
  StartQueued(cluster);
}

// All that runs there is lost. The cluster's own users begin again elsewhere.
void Engine::Impl::LoseNode(int cluster, int node) {
  ClusterState& c = clusters_[cluster];
  for (auto job = YoungestOn(c, node); job >= 0; job = YoungestOn(c, node)) Kill(job, End::kLost);
  std::vector<std::uint32_t> local;
  for (const auto& [id, run] : c.local_running)
    if (std::any_of(run.places.begin(), run.places.end(),
                    [&](const auto& part) { return part.node == node; }))
      local.push_back(id);
  std::sort(local.begin(), local.end());
  for (const auto id : local) {
    const LocalRun run = c.local_running[id];
    EndLocal(cluster, id);
    c.local_queue.push_front({now_, run.duration, run.slots, run.needs});
  }
  CountTo(c, now_);
  c.nodes.Fail(node);
  c.up -= c.nodes.size(node);
}

void Engine::Impl::NodeBack(int cluster, int node) {
  ClusterState& c = clusters_[cluster];
  CountTo(c, now_);
  c.nodes.Repair(node);
  c.up += c.nodes.size(node);
  NotifyCluster(cluster);
  StartLocal(cluster);
  StartQueued(cluster);
}

void Engine::Impl::WindowTurns(int cluster) {
  ClusterState& c = clusters_[cluster];
  const auto within = [&](const std::vector<Window>& windows) {
    return std::any_of(windows.begin(), windows.end(),
                       [&](const Window& w) { return now_ >= w.from && now_ < w.until; });
  };
  CountTo(c, now_);
  const bool down = within(c.spec->down);
  c.closed = within(c.spec->closed);
  if (down && !c.down) {
    c.down = true;
    while (c.last >= 0) EndJob(c.last, End::kLost);
    while (!c.queue.empty()) EndJob(c.queue.back(), End::kLost);
    while (!c.local_running.empty()) EndLocal(cluster, c.local_running.begin()->first);
  }
  c.down = down;
  NotifyCluster(cluster);
  StartLocal(cluster);
  StartQueued(cluster);
}

}  // namespace cigri::sim
