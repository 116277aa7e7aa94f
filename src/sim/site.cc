// The clusters as they are: queues, running jobs, local users, nodes that fail.
#include <algorithm>
#include <cmath>

#include "sim/impl.h"
#include "sim/random.h"

namespace cigri::sim {

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
  for (std::size_t i = 0; i < c.queue.size() && c.free() > 0;) {
    const std::int32_t job = c.queue[i];
    if (campaigns_[PlacementOf(jobs_[job]).campaign].spec->slots > c.free()) {
      ++i;
      continue;
    }
    c.queue.erase(c.queue.begin() + static_cast<std::ptrdiff_t>(i));
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

// What ends it first: itself, its failure, its walltime, the end of its life there.
double Engine::Impl::LengthOf(const Job& job, const PlacementState& placement, End* end) const {
  const CampaignSpec& campaign = *campaigns_[placement.campaign].spec;
  const ClusterSpec& cluster = *clusters_[placement.cluster].spec;
  const auto c = static_cast<std::uint64_t>(placement.campaign);
  const auto task = static_cast<std::uint64_t>(job.task);
  *end = End::kDone;
  if (cluster.swallow_s > 0) return cluster.swallow_s;
  double length =
      job.kind == BatchKind::kPrologue
          ? campaign.prologue_s
          : campaign.duration.At(Key(scenario_.seed, Variate::kDuration, c, task), job.task);
  length /= cluster.speed;
  const auto attempt =
      static_cast<std::uint64_t>(job.starts) << 32 | static_cast<std::uint64_t>(placement.cluster);
  if (cluster.slow > 0 &&
      Uniform(Key(scenario_.seed, Variate::kSlow, c, task, attempt)) < cluster.slow)
    length *= cluster.slow_factor;
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

void Engine::Impl::Start(int place) {
  Job& job = jobs_[place];
  PlacementState& placement = PlacementOf(job);
  ClusterState& c = clusters_[placement.cluster];
  const double length = LengthOf(job, placement, &job.end);
  const double boot = BootOf(placement.campaign, job.task, placement.cluster);
  job.started = now_ + boot;
  job.running = true;
  c.used += campaigns_[placement.campaign].spec->slots;
  job.before = c.last, job.after = -1;
  (c.last >= 0 ? jobs_[c.last].after : c.first) = place;
  c.last = place;
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
  } else {
    std::erase(clusters_[cluster].queue, place);
    std::erase_if(clusters_[cluster].arriving, [&](const auto& a) { return a.second == place; });
  }
  const double started = job.begun ? job.started : -1;
  const Attempt attempt{job.id,   job.task, placement.campaign, cluster, slots,
                        job.kind, job.sent, started,            now_,    end};
  const bool ran = job.running;
  for (auto* o : observers_) o->Ended(attempt);
  Publish(cluster, {.job = place, .view = View::kGone});
  if (ran) {
    StartLocal(cluster);
    StartQueued(cluster);
  }
}

// The youngest first: they lose least.
bool Engine::Impl::MakeRoom(int cluster, int slots) {
  ClusterState& c = clusters_[cluster];
  if (c.free() >= slots) return true;
  if (!c.spec->preempts || c.capacity() - c.local < slots) return false;
  while (c.free() < slots && c.last >= 0) Kill(c.last, End::kPreempted);
  return c.free() >= slots;
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
  while (!c.local_queue.empty() && MakeRoom(cluster, c.local_queue.front().slots)) {
    const LocalJob job = c.local_queue.front();
    c.local_queue.pop_front();
    CountTo(c, now_);
    c.local += job.slots;
    const std::uint32_t id = c.local_ids++;
    c.local_running[id] = {now_, job.slots};
    Push(now_ + job.duration, Kind::kLocalEnd, cluster, id);
    any = true;
  }
  if (any) NotifyCluster(cluster);
}

void Engine::Impl::LocalEnd(int cluster, std::uint32_t id) {
  ClusterState& c = clusters_[cluster];
  const auto it = c.local_running.find(id);
  if (it == c.local_running.end()) return;  // went down with the cluster
  CountTo(c, now_);
  c.local -= it->second.slots;
  for (auto* o : observers_) o->LocalEnded(cluster, it->second.started, now_, it->second.slots);
  c.local_running.erase(it);
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
  const int node = std::max(1, c.spec->slots / c.spec->nodes);
  ScheduleNode(cluster);
  if (c.up < node) return;
  CountTo(c, now_);
  // Jobs on the node are lost: random ones, until as many slots of ours are gone as a node has.
  const int total = c.up;
  int due = static_cast<int>(std::lround(static_cast<double>(node) * c.used / std::max(1, total)));
  c.up -= node;
  while (c.last >= 0 && (due > 0 || c.free() < 0)) {
    const auto key =
        Key(scenario_.seed, Variate::kNode, static_cast<std::uint64_t>(cluster), c.draws++);
    std::int32_t victim = c.first;
    for (auto steps = Mixed(key) % 64; steps > 0 && jobs_[victim].after >= 0; --steps)
      victim = jobs_[victim].after;
    due -= campaigns_[PlacementOf(jobs_[victim]).campaign].spec->slots;
    Kill(victim, End::kLost);
  }
  Push(now_ + c.spec->node_repair_s, Kind::kNodeBack, cluster);
  NotifyCluster(cluster);
  StartQueued(cluster);
}

void Engine::Impl::NodeBack(int cluster) {
  ClusterState& c = clusters_[cluster];
  CountTo(c, now_);
  c.up += std::max(1, c.spec->slots / c.spec->nodes);
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
    for (const auto& [id, run] : c.local_running)
      for (auto* o : observers_) o->LocalEnded(cluster, run.started, now_, run.slots);
    c.local_running.clear();
    c.local = 0;
  }
  c.down = down;
  NotifyCluster(cluster);
  StartLocal(cluster);
  StartQueued(cluster);
}

}  // namespace cigri::sim
