#include "api/read/job_output.h"

#include <sql/batches.h>

namespace cigri::api {
namespace {

constexpr std::size_t kPiece = 1 << 20;

clusterdb::ClusterRow RowOf(db::Tx& tx, std::int64_t id) {
  for (auto& row : clusterdb::LoadClusters(tx))
    if (row.config.id == id) return std::move(row);
  throw NotFound("cluster " + std::to_string(id));
}

}  // namespace

cluster::Cluster& Drivers::Of(std::int64_t cluster_id) {
  auto& driver = drivers_[cluster_id];
  if (!driver)
    driver =
        context_.make_cluster(context_.Read([&](db::Tx& tx) { return RowOf(tx, cluster_id); }));
  return *driver;
}

std::vector<Attempt> MostRelevant(const std::vector<Attempt>& attempts) {
  std::vector<Attempt> relevant;
  for (const auto& a : attempts) {
    if (!a.HasEnded() || !a.batch_id) continue;
    const bool same = !relevant.empty() && relevant.back().idx == a.idx;
    if (same && relevant.back().counted) continue;
    if (same)
      relevant.back() = a;
    else
      relevant.push_back(a);
  }
  return relevant;
}

std::vector<OutputJob> JobsOf(db::Tx& tx, const std::vector<Attempt>& attempts) {
  std::vector<std::int64_t> batches;
  for (const auto& a : attempts) batches.push_back(*a.batch_id);
  std::map<std::int64_t, OutputJob> of_batch;
  std::map<std::int64_t, std::int64_t> first_job;
  for (const auto& row : tx.Exec(sql::kBatchRefs, batches)) {
    const auto id = row.id;
    OutputJob& job = of_batch[id];
    job.cluster_id = row.cluster_id;
    job.ref.tag = row.tag;
    job.ref.cluster_user = row.cluster_login.value_or("");
    job.ref.walltime_s = row.walltime_s.value_or(0);
    first_job[id] = row.first_job_id;
  }
  std::vector<OutputJob> jobs;
  for (const auto& a : attempts) {
    OutputJob job = of_batch[*a.batch_id];
    job.idx = a.idx;
    job.ref.remote_id = a.remote_id;
    job.ref.job_id = *a.job_id;
    job.ref.index = static_cast<int>(*a.job_id - first_job[*a.batch_id]);
    jobs.push_back(std::move(job));
  }
  return jobs;
}

bool CopyOutput(cluster::Cluster& driver, const OutputJob& job, cluster::Stream stream,
                std::int64_t offset, const Write& write) {
  for (;;) {
    const auto part = driver.ReadOutput(job.ref, stream, offset, kPiece);
    if (part.bytes.empty()) return true;
    if (!write(part.bytes)) return false;
    offset += static_cast<std::int64_t>(part.bytes.size());
    if (part.size >= 0 && offset >= part.size) return true;
  }
}

}  // namespace cigri::api
