// From an intent to what the driver sends: settings, parameters, command lines.
#include <sql/batches.h>
#include <sql/jobs.h>
#include <sql/parameters.h>

#include <cmath>

#include "cluster/batch.h"
#include "cluster/resource_request.h"
#include "core/error.h"
#include "core/text.h"
#include "jdl/blocks.h"
#include "jdl/command.h"
#include "runner/store.h"
#include "runner/transfers.h"

// A setting that is left out of BatchSettings is a fault here, not a default.
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wmissing-field-initializers"

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
    if (!row.uploaded) {
      for (const auto idx : idxs)
        if (idx >= first && idx < first + n) lines[idx] = std::to_string(idx);
      continue;
    }
    if (!row.params) continue;  // ElementsOf says which task has none
    const auto off = row.off.value();
    const auto decoded = jdl::DecodeBlock(*row.params);
    for (const auto idx : idxs) {
      const auto at = idx - first - off;
      if (at >= 0 && at < static_cast<std::int64_t>(decoded.size()) && idx < first + n)
        lines[idx] = decoded[static_cast<std::size_t>(at)];
    }
  }
  return lines;
}

// Turns `mem: auto` into an amount, marked so that it yields where the cluster cannot take it.
void SetMemory(db::Tx& tx, const ClaimedBatch& claimed, cluster::Batch& batch) {
  const auto mem = batch.options.find("mem");
  if (mem == batch.options.end()) return;
  const std::string word = mem->is_string() ? mem->get<std::string>() : "";
  const bool is_auto = StartsWith(word, "auto");
  if (is_auto) *mem = word == "auto" ? nlohmann::json(0) : nlohmann::json(word.substr(5));
  const auto mb = cluster::ResourceRequestOf(batch).mem_mb;
  if (is_auto) {
    const auto row = tx.One(sql::kMemoryUsed, batch.campaign_id);
    const MemoryUsed used{row.n, row.most_mb.value_or(0), row.most_failed_mb.value_or(0)};
    *mem = AutoMemory(mb, used, claimed.memory_x);
    batch.options[kAutoMemory] = true;
    if (*mem == 0) batch.options.erase("mem");
  } else if (claimed.memory_x > 1 && mb > 0) {
    *mem = std::ceil(static_cast<double>(mb) * claimed.memory_x);
  }
}

cluster::BatchSettings SettingsOf(const sql::BatchSettingsRow& row, const ClaimedBatch& batch) {
  return {.grid_user = row.grid_user,
          .cluster_user = row.cluster_login,
          .campaign_name = row.name,
          .exec_directory = row.exec_directory,
          .setup = row.setup,
          .resources = row.resources,
          .slots = batch.slots,
          .properties = row.properties,
          .project = row.project,
          .job_types = row.job_types,
          .best_effort = row.best_effort,
          .walltime_s = row.walltime_s,
          .options = nlohmann::json::parse(row.options)};
}

// `every: auto`. Before its cluster has killed any job of ours, the end of the walltime is what
// threatens a task.
void SetCheckpoints(const sql::BatchSettingsRow& row, nlohmann::json& options) {
  const auto at = options.find("checkpoint");
  if (at == options.end() || at->value("every", nlohmann::json()) != "auto") return;
  (*at)["lifetime"] = row.lifetime_s.value_or(row.walltime_s);
}

cluster::Batch BuildScript(const sql::BatchSettingsRow& row, const cluster::BatchSettings& settings,
                           const ClaimedBatch& batch) {
  const bool prologue = batch.kind == BatchKind::kPrologue;
  return cluster::ScriptBatch(settings, batch.kind, batch.first_job_id,
                              (prologue ? row.prologue : row.epilogue).value(),
                              prologue ? row.prologue_walltime_s : row.epilogue_walltime_s);
}

std::vector<cluster::Element> ElementsOf(db::Tx& tx, const sql::BatchSettingsRow& row,
                                         const ClaimedBatch& batch) {
  const auto exec_file = row.exec_file;
  const auto format = row.format;
  const auto columns = row.columns;
  const auto lines = LoadLines(tx, batch);
  std::vector<cluster::Element> elements;
  for (std::size_t i = 0; i < batch.tasks.size(); ++i) {
    const auto& task = batch.tasks[i];
    const auto line = lines.find(task.idx);
    if (line == lines.end())
      throw std::runtime_error("campaign " + std::to_string(batch.campaign_id) +
                               " has no parameter for task " + std::to_string(task.idx));
    elements.push_back({batch.first_job_id + static_cast<std::int64_t>(i), task.idx, task.attempt,
                        jdl::CommandLine(exec_file, format, columns, line->second, task.idx)});
  }
  return elements;
}

// What the grid says of nodes; users do not say it.
void SetNodes(const std::vector<std::string>& excluded, const ClaimedBatch& batch,
              nlohmann::json& options) {
  options.erase(cluster::kNode);
  options.erase(cluster::kExcludedNodes);
  if (!batch.node.empty()) {
    options[cluster::kNode] = batch.node;
    return;
  }
  if (!excluded.empty()) options[cluster::kExcludedNodes] = excluded;
}

}  // namespace

cluster::Batch Store::Build(db::Tx& tx, const ClaimedBatch& batch) {
  const auto rows = tx.Exec(sql::kBatchSettings, batch.campaign_id, cluster_id_, batch.id);
  if (rows.empty())
    throw std::runtime_error("campaign " + std::to_string(batch.campaign_id) +
                             " has no settings for cluster " + std::to_string(cluster_id_));
  const auto settings = SettingsOf(rows[0], batch);
  const bool script = batch.kind == BatchKind::kPrologue || batch.kind == BatchKind::kEpilogue;
  cluster::Batch out =
      script ? BuildScript(rows[0], settings, batch) : cluster::TaskBatch(settings);
  if (!script) out.elements = ElementsOf(tx, rows[0], batch);
  SetNodes(rows[0].excluded_nodes, batch, out.options);
  SetCheckpoints(rows[0], out.options);
  out.id = batch.id;
  out.campaign_id = batch.campaign_id;
  SetMemory(tx, batch, out);
  if (!script && MovesFiles(out.options)) {
    auto how = cluster::TransferSettings::From(nlohmann::json::parse(rows[0].cluster_options));
    how.copies = rows[0].copies;
    AddTransfers(how, {rows[0].format, rows[0].columns}, LoadLines(tx, batch), out);
  }
  out.kind = batch.kind;
  out.tag = batch.tag;
  out.tasks_per_job = batch.tasks_per_job;
  return out;
}

}  // namespace cigri::runner

#pragma GCC diagnostic pop
