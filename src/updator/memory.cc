#include "updator/memory.h"

#include <sql/batches.h>
#include <sql/grid.h>
#include <sql/jobs.h>

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

void Memory::Load(db::Tx& tx) {
  jobs_.clear();
  batches_.clear();
  by_tag_.clear();
  counts_.clear();
  horizon_ = tx.One(sql::kTransactionHorizon).pg_snapshot_xmin;
  Take(tx, tx.Exec(sql::kBatchesInFlight));
}

void Memory::Refresh(db::Tx& tx) {
  const auto next = tx.One(sql::kTransactionHorizon).pg_snapshot_xmin;
  const auto rows = tx.Exec(sql::kNewBatches, horizon_);
  Take(tx, rows);
  horizon_ = next;
}

void Memory::Take(db::Tx& tx, const pqxx::result& rows) {
  std::vector<std::int64_t> first, last;
  for (const auto& row : rows) {
    KnownBatch b;
    b.id = row.id;
    if (batches_.count(b.id) != 0) continue;
    b.first_job_id = row.first_job_id;
    b.campaign_id = row.campaign_id;
    b.cluster_id = row.cluster_id;
    b.tag = row.tag;
    b.n = row.n;
    b.cluster_user = !row.cluster_login ? "" : row.cluster_login;
    b.walltime_s = !row.walltime_s ? 0 : row.walltime_s;
    first.push_back(b.first_job_id);
    last.push_back(b.first_job_id + b.n - 1);
    by_tag_[b.tag] = b.id;
    batches_[b.id] = std::move(b);
  }
  if (first.empty()) return;
  for (const auto& row : tx.Exec(sql::kLiveJobsOf, first, last)) {
    KnownJob job;
    job.job_id = row.job_id;
    job.batch_id = row.batch_id;
    job.element = row.element;
    job.remote_id = row.remote_id;
    job.state = FromString<JobState>(row.state).value();
    auto& batch = batches_.at(job.batch_id);
    ++batch.live;
    ++CountOf(counts_[batch.cluster_id], job.state);
    jobs_[job.job_id] = std::move(job);
  }
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
  auto& counts = counts_[batches_.at(it->second.batch_id).cluster_id];
  --CountOf(counts, it->second.state);
  ++CountOf(counts, state);
  it->second.state = state;
}

void Memory::Ended(std::int64_t job_id) {
  const auto it = jobs_.find(job_id);
  if (it == jobs_.end()) return;
  const auto batch = batches_.find(it->second.batch_id);
  --CountOf(counts_[batch->second.cluster_id], it->second.state);
  if (--batch->second.live == 0) {
    by_tag_.erase(batch->second.tag);
    batches_.erase(batch);
  }
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
                        batch.walltime_s, Known(job->state)});
  }
  return refs;
}

Memory::Counts Memory::CountsOf(std::int64_t cluster_id) const {
  const auto it = counts_.find(cluster_id);
  return it == counts_.end() ? Counts{} : it->second;
}

}  // namespace cigri::updator
