// What the grid sees of its clusters, `see` seconds after it has happened, and what it counts.
#include <algorithm>
#include <cmath>

#include "core/histogram.h"
#include "policy/guard.h"
#include "sim/impl.h"

namespace cigri::sim {
namespace {

constexpr std::size_t kSample = 300;  // durations and survivals from which medians are taken

// The last kSample, in a ring.
template <typename T>
void Remember(std::vector<T>& sample, T value, std::int64_t n) {
  if (sample.size() < kSample)
    sample.push_back(value);
  else
    sample[static_cast<std::size_t>(n) % kSample] = value;
}

}  // namespace

void Engine::Impl::Publish(int cluster, const Seen& happened) {
  ClusterState& c = clusters_[cluster];
  if (c.spec->see_s <= 0) return Apply(cluster, happened);
  Seen seen = happened;
  seen.at = now_ + c.spec->see_s;
  if (c.seen.empty() || c.seen.back().at != seen.at) Push(seen.at, Kind::kSeen, cluster);
  c.seen.push_back(std::move(seen));
}

void Engine::Impl::NotifyCluster(int cluster) {
  const ClusterState& c = clusters_[cluster];
  const int reported = c.down ? 0 : c.up + c.spec->overstates;
  std::vector<int> units;
  for (const auto& of : c.classes) units.push_back(of.local);
  Publish(cluster, {.capacity = reported, .local = c.local, .local_units = units, .down = c.down});
}

void Engine::Impl::See(int cluster) {
  ClusterState& c = clusters_[cluster];
  while (!c.seen.empty() && c.seen.front().at <= now_) {
    const Seen seen = c.seen.front();
    c.seen.pop_front();
    Apply(cluster, seen);
  }
}

void Engine::Impl::Apply(int cluster, const Seen& seen) {
  ClusterState& c = clusters_[cluster];
  dirty_ = true;
  ++c.polls;
  if (seen.job >= 0) {
    if (seen.view == View::kGone)
      ApplyEnd(seen.job);
    else
      Move(seen.job, seen.view);
    return;
  }
  policy::Cluster& row = Row(cluster);
  c.seen_capacity = seen.capacity;
  c.seen_local = seen.local;
  for (std::size_t k = 0; k < seen.local_units.size(); ++k)
    c.classes[k].seen_local = seen.local_units[k];
  row.unusable = seen.down ? policy::Unusable::kStale
                           : (c.closed ? policy::Unusable::kHours : policy::Unusable::kNo);
  row.why = seen.down ? "down" : (c.closed ? "closed by its operator" : "");
  if (!seen.down) row.max = std::max(0, seen.capacity);
}

void Engine::Impl::Move(int place, View view) {
  Job& job = jobs_[place];
  if (job.view == View::kGone) return;
  PlacementState& placement = PlacementOf(job);
  policy::Cluster& row = Row(placement.cluster);
  const int slots = campaigns_[placement.campaign].spec->slots;
  const auto add = [&](View v, int n) {
    if (v == View::kLaunching) {
      row.launching += n, row.launching_slots += n * slots, placement.launching += n;
    } else if (v == View::kWaiting) {
      row.waiting += n, row.waiting_slots += n * slots, placement.waiting += n;
    } else if (v == View::kRunning) {
      row.running += n, row.running_slots += n * slots;
      placement.row->running += n;
      placement.row->running_since += n * (kEpoch + job.started);
      if (placement.row->running == 0) placement.row->running_since = 0;  // no rounding left behind
    }
  };
  add(job.view, -1);
  add(view, 1);
  job.view = view;
  placement.fresh = true;
}

void Engine::Impl::ApplyEnd(int place) {
  Job& job = jobs_[place];
  PlacementState& placement = PlacementOf(job);
  CampaignState& campaign = campaigns_[placement.campaign];
  const int i = placement.campaign;
  Move(place, View::kGone);
  --placement.row->in_flight;
  --campaign.in_flight;
  --in_flight_;
  ++placement.ended;
  const double length = job.begun ? job.stopped - job.started : 0;
  if (job.begun) {
    const double used = length * campaign.spec->slots;
    campaign.used_slot_s += used;
    usage_.Add(Row(campaign), kEpoch + now_, used, snapshot_.usage);
  }
  if (job.begun) {
    ClusterState& c = clusters_[placement.cluster];
    Remember(c.survival, {length, job.end == End::kPreempted}, ++c.ended);
    c.ran_s += length;
    c.kills += job.end == End::kPreempted;
    if (c.ended % 20'000 == 0) c.ran_s /= 2, c.kills /= 2;
  }
  if (job.kind == BatchKind::kTest) placement.row->tested = true;
  const bool tried = job.end == End::kFailed || job.end == End::kWalltime;
  if (job.kind == BatchKind::kReplica && job.end != End::kDone && job.end != End::kCopy) {
    FailedCopies& failed = campaign.failed_copies[job.task];
    ++failed.all;
    failed.of_program += tried;
  }
  if (campaign.spec->replicas)
    if (const auto it = campaign.live.find(job.task); it != campaign.live.end()) {
      std::erase(it->second, place);
      if (it->second.empty()) campaign.live.erase(it);
    }
  if (job.kind == BatchKind::kPrologue) {
    placement.row->prologue =
        job.end == End::kDone ? policy::Prologue::kDone : policy::Prologue::kNeeded;
    placement.row->local = placement.row->local || job.end == End::kDone;
  } else if (job.end == End::kDone) {
    CountSuccess(job, placement, campaign, length);
  } else if (tried) {
    CountTry(job, placement, campaign);
  } else if (job.end != End::kCopy) {
    if (job.end == End::kPreempted && job.begun) CountKill(placement, campaign, length);
    Requeue(job, campaign, job.tries);
  }
  free_jobs_.push_back(place);
  if (campaign.place < 0) return;  // its last copy ended with this one
  CountWaiting(campaign);
  if (IsOver(i)) Over(i);
}

// One burst of local users is one observation, however many jobs it kills.
void Engine::Impl::CountKill(PlacementState& placement, CampaignState& campaign, double length) {
  policy::Placement& row = *placement.row;
  ++placement.killed;
  placement.long_jobs.killed += campaign.overdue_s > 0;
  const bool same_burst = row.killed_at > 0 && kEpoch + now_ - row.killed_at < policy::kBurstS;
  if (!same_burst) row.killed_at = kEpoch + now_;
  row.bursts = same_burst ? std::max(1, row.bursts) : row.bursts + 1;
  // Until one has succeeded, a job needs longer than the clusters let any of its like live.
  if (campaign.spec->need_s <= 0 && campaign.n_ok == 0)
    Row(campaign).need_s = std::max(Row(campaign).need_s, length);
}

void Engine::Impl::CountSuccess(Job& job, PlacementState& placement, CampaignState& campaign,
                                double length) {
  const int black_hole_count = BlackHoleCount(campaign);
  const bool counted = campaign.spec->replicas || black_hole_count > 0;
  if (counted && !campaign.settled.insert(job.task).second) return;
  ++campaign.done;
  ++campaign.n_ok;
  campaign.sum_s += length;
  ++placement.n_ok;
  placement.sum_s += length;
  placement.sum_sq += length * length;
  placement.hist.resize(kDurationBuckets);
  ++placement.hist[static_cast<std::size_t>(DurationBucket(length))];
  if (campaign.overdue_s > 0)
    policy::AddSuccesses(1, length, campaign.overdue_s,
                         campaign.sum_s / static_cast<double>(campaign.n_ok), placement.long_jobs);
  policy::Campaign& row = Row(campaign);
  row.done = campaign.done;
  placement.row->verified = placement.row->local = true;
  placement.row->tried = placement.row->bursts = 0;
  placement.row->mean_s = placement.sum_s / static_cast<double>(placement.n_ok);
  row.mean_s = campaign.sum_s / static_cast<double>(campaign.n_ok);
  if (campaign.spec->need_s <= 0) row.need_s = row.mean_s;
  if (black_hole_count > 0) {
    Remember(placement.lengths, length, placement.n_ok);
    placement.recent.emplace_back(job.task, length);
    if (placement.recent.size() > static_cast<std::size_t>(black_hole_count))
      placement.recent.pop_front();
  }
  if (campaign.spec->replicas) EndCopies(job.task, campaign);
}

// A failure counts; as many as there are canary jobs (policy key canary_jobs) before the first
// success hold the placement (design section 8).
void Engine::Impl::CountTry(Job& job, PlacementState& placement, CampaignState& campaign) {
  ++placement.not_ok;
  placement.recent.clear();
  const int canary_jobs = snapshot_.config.canary_jobs;
  if (!placement.row->verified && campaign.spec->tasks > canary_jobs && !campaign.spec->test) {
    const int left = std::max<int>(0, canary_jobs - static_cast<int>(placement.not_ok));
    if (left == 0) placement.row->held = "CANARY_FAILED";
    placement.row->tried = static_cast<int>(placement.not_ok);
    return Requeue(job, campaign, job.tries);  // not the tasks' fault, if they all fail
  }
  if (campaign.spec->test) {
    ++campaign.failed;
    return;
  }
  // The copy that is left decides.
  if (campaign.live.count(job.task) != 0 || campaign.settled.count(job.task) != 0) return;
  if (job.tries + 1 >= campaign.spec->tries)
    ++campaign.failed;
  else
    Requeue(job, campaign, job.tries + 1);
}

void Engine::Impl::Requeue(const Job& job, CampaignState& campaign, int tries) {
  if (job.kind == BatchKind::kReplica || job.kind == BatchKind::kPrologue) {
    if (job.kind == BatchKind::kPrologue || campaign.live.count(job.task) != 0) return;
  }
  if (campaign.live.count(job.task) != 0 || campaign.settled.count(job.task) != 0) return;
  campaign.redo.push_back(
      {job.task, static_cast<std::int16_t>(std::min(tries, 30000)), job.starts});
}

void Engine::Impl::EndCopies(std::int64_t task, CampaignState& campaign) {
  const auto it = campaign.live.find(task);
  if (it == campaign.live.end()) return;
  const std::vector<std::int32_t> copies = it->second;
  for (const auto copy : copies) EndJob(copy, End::kCopy);
}

void Engine::Impl::CountWaiting(CampaignState& campaign) {
  policy::Campaign& row = Row(campaign);
  const std::int64_t before = row.waiting;
  row.waiting =
      campaign.spec->tasks - campaign.next +
      static_cast<std::int64_t>(campaign.redo.size() + campaign.ahead.size());
  if (before == 0 && row.waiting > 0) row.waiting_since = kEpoch + now_;
}

}  // namespace cigri::sim
