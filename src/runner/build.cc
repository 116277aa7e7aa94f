// From an intent to what the driver sends: settings, parameters, command lines.
#include <sql/runner.h>

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
  for (const auto& row : tx.Exec(sql::runner::kLoadParams, batch.campaign_id, db::Array(idxs))) {
    const auto first = row["first_idx"].as<std::int64_t>();
    const auto n = row["n"].as<std::int64_t>();
    if (row["params"].is_null()) {
      for (const auto idx : idxs)
        if (idx >= first && idx < first + n) lines[idx] = std::to_string(idx);
      continue;
    }
    const auto off = row["off"].as<std::int64_t>();
    const auto decoded = jdl::DecodeBlock(row["params"].as<std::string>());
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
  const auto rows = tx.Exec(sql::runner::kBatchSettings, batch.campaign_id, cluster_id_);
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
  out.grid_user = s["grid_user"].as<std::string>();
  out.cluster_user = s["cluster_login"].as<std::string>();
  out.campaign_name = s["name"].as<std::string>();
  out.project = s["project"].as<std::string>();
  out.slots = batch.slots;
  out.job_types = db::Strings(s["job_types"]);
  if (script) {
    // As in CiGri 3: a normal job on one resource, in the home directory.
    out.resources = "/resource_id=1";
    out.best_effort = false;
    out.walltime_s = s[prologue ? "prologue_walltime_s" : "epilogue_walltime_s"].as<int>();
    out.elements.push_back(
        {batch.first_job_id, -1, 1, s[prologue ? "prologue" : "epilogue"].as<std::string>()});
    return out;
  }
  out.directory = s["exec_directory"].as<std::string>();
  out.setup = s["setup"].as<std::string>();
  out.resources = s["resources"].as<std::string>();
  out.properties = s["properties"].as<std::string>();
  out.best_effort = s["best_effort"].as<bool>();
  out.walltime_s = s["walltime_s"].as<int>();
  out.options = nlohmann::json::parse(s["options"].as<std::string>());
  const auto exec_file = s["exec_file"].as<std::string>();
  const auto format = s["format"].as<std::string>();
  const auto columns = db::Strings(s["columns"]);
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
