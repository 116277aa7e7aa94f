// Batches whose jobs move files: from the templates of a JDL to the lines of each job.
#pragma once
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cluster/cluster.h"
#include "cluster/transfer.h"

namespace cigri::runner {

/// Whether the jobs of a batch with these options have inputs or outputs.
bool MovesFiles(const nlohmann::json& options);

/// What the parameter lines of a campaign are.
struct LineFormat {
  std::string format;
  std::vector<std::string> columns;
};

/// Puts the lines that move files around the command of each element, and takes the entries out of
/// batch.options. `lines` are the parameters by task index.
/// REQUIRES: MovesFiles(batch.options); each element's task has its line.
void AddTransfers(const cluster::TransferSettings& settings, const LineFormat& format,
                  const std::map<std::int64_t, std::string>& lines, cluster::Batch& batch);

}  // namespace cigri::runner
