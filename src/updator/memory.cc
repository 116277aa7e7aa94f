#include "updator/memory.h"

#include "updator/store.h"

namespace cigri::updator {
namespace {

int& CountOf(Memory::Counts& counts, JobState state) {
  if (state == JobState::kRunning) return counts.running;
  return state == JobState::kRemoteWaiting ? counts.waiting : counts.submitted;
}

std::optional<cluster::RemoteState> Known(JobState state) {
  if (state == JobState::kRunning) return cluster::RemoteState::kRunning;
  if (state == JobState::kRemoteWaiting) return cluster::RemoteState::kWaiting;
  return std::nullopt;
}

}  // namespace

void Memory::Load(Store& store) {
  jobs_.clear();
  batches_.clear();
  by_tag_.clear();
  for (const auto& [cluster, counts] : counts_) ++versions_[cluster];
  counts_.clear();
  horizon_ = store.TransactionHorizon();
  Add(store, store.BatchesInFlight());
}

void Memory::Refresh(Store& store) {
  const auto next = store.TransactionHorizon();
  Add(store, store.BatchesRecordedSince(horizon_));
  horizon_ = next;
}

void Memory::Add(Store& store, const std::vector<KnownBatch>& batches) {
  const auto now = std::chrono::steady_clock::now();
  std::vector<KnownBatch> fresh;
  for (const auto& batch : batches)
    if (batches_.count(batch.id) == 0) fresh.push_back(batch);
  for (const auto& batch : fresh) {
    by_tag_[batch.tag] = batch.id;
    batches_[batch.id] = batch;
    batches_[batch.id].known_since = now;
    ++versions_[batch.cluster_id];
  }
  for (auto& job : store.JobsOf(fresh)) {
    auto& batch = batches_.at(job.batch_id);
    ++batch.live;
    ++CountOf(counts_[batch.cluster_id], job.state);
    jobs_[job.job_id] = std::move(job);
  }
  // All its jobs have ended: nothing would ever remove it.
  for (const auto& batch : fresh)
    if (batches_.at(batch.id).live == 0) Forget(batch.id);
}

void Memory::Forget(std::int64_t batch_id) {
  const auto batch = batches_.find(batch_id);
  by_tag_.erase(batch->second.tag);
  batches_.erase(batch);
}

const KnownJob* Memory::Find(std::int64_t job_id) const {
  const auto it = jobs_.find(job_id);
  return it == jobs_.end() ? nullptr : &it->second;
}

const KnownBatch* Memory::BatchOf(const std::string& tag) const {
  const auto it = by_tag_.find(tag);
  return it == by_tag_.end() ? nullptr : BatchById(it->second);
}

const KnownBatch* Memory::BatchById(std::int64_t id) const {
  const auto it = batches_.find(id);
  return it == batches_.end() ? nullptr : &it->second;
}

void Memory::Moved(std::int64_t job_id, JobState state) {
  const auto it = jobs_.find(job_id);
  if (it == jobs_.end()) return;
  const auto cluster = batches_.at(it->second.batch_id).cluster_id;
  auto& counts = counts_[cluster];
  ++versions_[cluster];
  --CountOf(counts, it->second.state);
  ++CountOf(counts, state);
  it->second.state = state;
}

void Memory::Ended(std::int64_t job_id) {
  const auto it = jobs_.find(job_id);
  if (it == jobs_.end()) return;
  const auto batch = batches_.find(it->second.batch_id);
  --CountOf(counts_[batch->second.cluster_id], it->second.state);
  ++versions_[batch->second.cluster_id];
  if (--batch->second.live == 0) Forget(batch->first);
  jobs_.erase(it);
}

std::vector<cluster::RemoteRef> Memory::RefsOf(std::int64_t cluster_id) const {
  const auto counts = CountsOf(cluster_id);
  const std::size_t all = counts.submitted + counts.waiting + counts.running;
  std::vector<cluster::RemoteRef> refs;
  refs.reserve(all);
  for (const auto& [id, batch] : batches_) {
    if (batch.cluster_id != cluster_id) continue;
    for (auto job_id = batch.first_job_id; job_id < batch.first_job_id + batch.n; ++job_id)
      if (const auto* job = Find(job_id))
        refs.push_back({job->remote_id, batch.tag, job->element, job_id, batch.cluster_user,
                        batch.walltime_s, Known(job->state), batch.tasks_per_job});
  }
  return refs;
}

std::uint64_t Memory::VersionOf(std::int64_t cluster_id) const {
  const auto it = versions_.find(cluster_id);
  return it == versions_.end() ? 0 : it->second;
}

Memory::Counts Memory::CountsOf(std::int64_t cluster_id) const {
  const auto it = counts_.find(cluster_id);
  return it == counts_.end() ? Counts{} : it->second;
}

}  // namespace cigri::updator
