// The output of jobs, read from their clusters through the drivers.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/read/tasks.h"
#include "clusterdb/clusterdb.h"

namespace cigri::api {

/// A job as its driver knows it.
struct OutputJob {
  std::int64_t idx = 0;  ///< its task
  std::int64_t cluster_id = 0;
  cluster::RemoteRef ref;
};

/// The drivers of one walk, made as they are needed.
class Drivers {
 public:
  explicit Drivers(Context& context) : context_(context) {}
  cluster::Cluster& Of(std::int64_t cluster_id);

 private:
  Context& context_;
  std::map<std::int64_t, std::unique_ptr<cluster::Cluster>> drivers_;
};

/// Of each task the attempt that stands for it: its success, else the last that has ended.
/// REQUIRES: `attempts` by task, oldest first.
std::vector<Attempt> MostRelevant(const std::vector<Attempt>& attempts);
/// The jobs of attempts that have a batch, in the same order.
std::vector<OutputJob> JobsOf(db::Tx& tx, const std::vector<Attempt>& attempts);
/// Writes what the job printed from byte `offset` on; false when the client has gone. Throws when
/// it cannot be read.
bool CopyOutput(cluster::Cluster& driver, const OutputJob& job, cluster::Stream stream,
                std::int64_t offset, const Write& write);

}  // namespace cigri::api
