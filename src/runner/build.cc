// From an intent to what the driver sends: settings, parameters, command lines.
#include <sql/batches.h>
#include <sql/parameters.h>

#include "core/error.h"
#include "jdl/blocks.h"
#include "jdl/command.h"
#include "runner/store.h"

namespace cigri::runner {
namespace {

using Lines = std::map<std::int64_t, std::string>;  // task index -> parameter line

Lines LoadLines(db::Tx& tx, const ClaimedBatch& batch) {
  std::vector<std::int64_t> idxs;
  for (const auto& t : batch.tasks) idxs.push_back(t.idx);
  Lines lines;
  for (const auto& row : tx.Exec(sql::kLoadParameters, batch.campaign_id, idxs)) {
    const auto first = row.first_idx;
    const auto n = row.n;
    if (!row.params) {
      for (const auto idx : idxs)
        if (idx >= first && idx < first + n) lines[idx] = std::to_string(idx);
      continue;
    }
    const auto off = row.off;
    const auto decoded = jdl::DecodeBlock(row.params);
    for (const auto idx : idxs) {
      const auto at = idx - first - off;
      if (at >= 0 && at < static_cast<std::int64_t>(decoded.size()) && idx < first + n)
        lines[idx] = decoded[static_cast<std::size_t>(at)];
    }
  }
  return lines;
}

}  // namespace

cluster::Batch Store::Build(db::Tx& tx, const ClaimedBatch& batch) {
  const auto rows = tx.Exec(sql::kBatchSettings, batch.campaign_id, cluster_id_);
  if (rows.empty())
    throw std::runtime_error("campaign " + std::to_string(batch.campaign_id) +
                             " has no settings for cluster " + std::to_string(cluster_id_));
  const auto& s = rows[0];
  const bool prologue = batch.kind == BatchKind::kPrologue;
  const bool script = prologue || batch.kind == BatchKind::kEpilogue;

  cluster::Batch out;
  out.id = batch.id;
  out.campaign_id = batch.campaign_id;
  out.kind = batch.kind;
  out.tag = batch.tag;
  out.grid_user = s.grid_user;
  out.cluster_user = s.cluster_login;
  out.campaign_name = s.name;
  out.project = s.project;
  out.slots = batch.slots;
  out.job_types = s.job_types;
  if (script) {
    // As in CiGri 3: a normal job on one resource, in the home directory.
    out.resources = "/resource_id=1";
    out.best_effort = false;
    out.walltime_s = s[prologue ? "prologue_walltime_s" : "epilogue_walltime_s"].as<int>();
    out.elements.push_back(
        {batch.first_job_id, -1, 1, s[prologue ? "prologue" : "epilogue"].as<std::string>()});
    return out;
  }
  out.directory = s.exec_directory;
  out.setup = s.setup;
  out.resources = s.resources;
  out.properties = s.properties;
  out.best_effort = s.best_effort;
  out.walltime_s = s.walltime_s;
  out.options = nlohmann::json::parse(s.options);
  const auto exec_file = s.exec_file;
  const auto format = s.format;
  const auto columns = s.columns;
  const auto lines = LoadLines(tx, batch);
  for (std::size_t i = 0; i < batch.tasks.size(); ++i) {
    const auto& task = batch.tasks[i];
    const auto line = lines.find(task.idx);
    if (line == lines.end())
      throw std::runtime_error("campaign " + std::to_string(batch.campaign_id) +
                               " has no parameter for task " + std::to_string(task.idx));
    out.elements.push_back({batch.first_job_id + static_cast<std::int64_t>(i), task.idx,
                            task.attempt,
                            jdl::CommandLine(exec_file, format, columns, line->second, task.idx)});
  }
  return out;
}

}  // namespace cigri::runner
