#include "runner/store.h"

#include <sql/batches.h>
#include <sql/breakers.h>
#include <sql/claims.h>
#include <sql/cluster_status.h>
#include <sql/clusters.h>
#include <sql/error_classes.h>
#include <sql/grid.h>
#include <sql/leases.h>
#include <sql/tasks.h>
#include <sql/users.h>

#include <numeric>

#include "core/text.h"
#include "db/counters.h"
#include "module/module.h"

namespace cigri::runner {

std::set<std::int64_t> ClustersWithWork(db::Tx& tx) {
  std::set<std::int64_t> ids;
  for (const auto& row : tx.Exec(sql::kClustersWithWork)) ids.insert(row.cluster_id);
  return ids;
}

std::string GridId(db::Tx& tx) { return tx.One(sql::kGridId).grid_id; }

void CountElement(CounterDeltas& deltas, std::int64_t cluster, const ClaimedBatch& b,
                  std::string_view state, int element, int sign) {
  if (Rides(element, static_cast<int>(b.tasks.size()), b.tasks_per_job))
    deltas.AddRider(b.campaign_id, cluster, b.kind, state, sign);
  else
    deltas.Add(b.campaign_id, cluster, b.kind, state, sign, b.slots);
}

void CountBatch(CounterDeltas& deltas, std::int64_t cluster, const ClaimedBatch& batch,
                std::string_view state, int sign) {
  for (int i = 0; i < static_cast<int>(batch.tasks.size()); ++i)
    CountElement(deltas, cluster, batch, state, i, sign);
}

void Store::HoldLease(db::Tx& tx) const {
  if (tx.Exec(sql::kHoldCluster, cluster_id_, lease_).empty())
    throw module::StaleEpoch("another runner has cluster " + std::to_string(cluster_id_));
}

bool Store::MayBeSent(db::Tx& tx, const ClaimedBatch& batch) const {
  HoldLease(tx);
  return tx.One(sql::kBatchMayBeSent, batch.id).yes;
}

bool Store::MarkUnreachable(db::Tx& tx) const {
  return tx.Exec(sql::kMarkUnreachable, cluster_id_, lease_) > 0;
}

bool Store::Record(db::Tx& tx, const ClaimedBatch& batch,
                   const std::vector<std::pair<int, std::string>>& remote,
                   const std::vector<int>& missing, bool on_hold) {
  HoldLease(tx);
  db::RowSet<std::string, int, int> jobs;  // remote id, element, attempt
  for (const auto& [element, id] : remote)
    jobs.Add(id, element, batch.tasks.at(static_cast<std::size_t>(element)).attempt);
  const auto& first_id = remote.front().second;
  if (tx.Exec(sql::kRecordBatch, batch.id, jobs, first_id, on_hold) != remote.size()) return false;
  if (!missing.empty())
    tx.Exec(sql::kGiveBackTasks, batch.id, missing, "the cluster did not take it");
  CounterDeltas deltas;
  CountBatch(deltas, cluster_id_, batch, "launching", -1);
  for (const auto& [element, id] : remote)
    CountElement(deltas, cluster_id_, batch, "submitted", element, 1);
  db::AddCounters(tx, deltas, "runner");
  if (half_open_) tx.Exec(sql::kRaiseHalfOpenLimit, cluster_id_);
  return true;
}

bool Store::GiveBack(db::Tx& tx, const ClaimedBatch& batch, BatchState end,
                     const std::string& why) {
  HoldLease(tx);
  if (tx.Exec(sql::kCloseBatch, batch.id, std::string(ToString(end)), why) == 0) return false;
  std::vector<int> elements(batch.tasks.size());
  std::iota(elements.begin(), elements.end(), 0);
  tx.Exec(sql::kGiveBackTasks, batch.id, elements, why);
  CounterDeltas deltas;
  CountBatch(deltas, cluster_id_, batch, "launching", -1);
  db::AddCounters(tx, deltas, "runner");
  return true;
}

std::optional<std::string> Store::ClusterFault(db::Tx& tx, const std::string& refusal) {
  db::RowSet<std::int64_t, std::string, std::optional<std::int64_t>, std::string> refused;
  refused.Add(0, "SUBMIT_REFUSED", std::nullopt, ValidUtf8(refusal));
  for (const auto& row : tx.Exec(sql::kErrorClassesOf, refused))
    if (row.active) return row.cluster_fault ? std::optional(row.title) : std::nullopt;
  return std::nullopt;
}

bool Store::Answers(db::Tx& tx) { return tx.One(sql::kClusterAnswers, cluster_id_).answers; }

void Store::Doubt(db::Tx& tx, const ClaimedBatch& batch, const std::string& why) {
  tx.Exec(sql::kMarkInDoubt, batch.id, why);
}

namespace {

// Element by element: the tasks `idxs`, or n tasks from `first`, or a job that is no task.
std::vector<ClaimedTask> TasksOf(const sql::OpenBatchesRow& row) {
  std::vector<ClaimedTask> tasks;
  for (int i = 0; i < row.n; ++i)
    tasks.push_back({!row.idxs.empty() ? row.idxs[static_cast<std::size_t>(i)]
                     : row.first_idx   ? *row.first_idx + i
                                       : -1,
                     1});
  return tasks;
}

OpenBatch OpenBatchOf(const sql::OpenBatchesRow& row) {
  OpenBatch o;
  o.batch.id = row.id;
  o.batch.first_job_id = row.first_job_id;
  o.batch.campaign_id = row.campaign_id;
  o.batch.kind = FromString<BatchKind>(row.kind).value();
  o.batch.tag = row.tag;
  o.batch.cluster_login = row.cluster_login;
  o.batch.slots = row.slots;
  o.batch.tasks_per_job = row.tasks_per_job;
  o.batch.tasks = TasksOf(row);
  o.state = FromString<BatchState>(row.state).value();
  o.created_at = row.created_at;
  o.send_over = row.send_over;
  o.due = row.due;
  o.quiet_s = row.quiet_s.value_or(0);
  o.lost = row.lost;
  o.absences = row.absences;
  return o;
}

}  // namespace

std::vector<OpenBatch> Store::OpenBatches(db::Tx& tx) {
  std::vector<OpenBatch> out;
  for (const auto& row : tx.Exec(sql::kOpenBatches, cluster_id_)) {
    out.push_back(OpenBatchOf(row));
    if (row.idxs.empty()) continue;  // fresh tasks: each is a first attempt
    std::map<std::int64_t, int> tried;
    for (const auto& t : tx.Exec(sql::kAttemptsSoFar, row.campaign_id, row.idxs))
      tried[t.idx] = t.attempts;
    for (auto& t : out.back().batch.tasks) t.attempt = tried[t.idx] + 1;
  }
  return out;
}

void Store::RecordLookup(db::Tx& tx, std::int64_t batch_id, bool absent, double next_lookup_s) {
  tx.Exec(sql::kNoteAbsence, batch_id, absent ? 1 : 0, next_lookup_s);
}

std::vector<HeldBatch> Store::TakeHeld(db::Tx& tx) {
  std::vector<HeldBatch> out;
  for (auto& row : tx.Exec(sql::kUnreleasedBatches, cluster_id_))
    out.push_back({row.id, row.campaign_id, std::move(row.tag), std::move(row.cluster_login),
                   std::move(row.remote_ids), row.released_before});
  return out;
}

void Store::MarkReleased(db::Tx& tx, std::int64_t batch_id) {
  tx.Exec(sql::kMarkReleased, batch_id);
}

std::vector<TokenWait> Store::MissingTokens(db::Tx& tx) {
  std::vector<TokenWait> out;
  for (auto& row : tx.Exec(sql::kMissingTokens, cluster_id_))
    out.push_back({row.campaign_id, std::move(row.cluster_login), row.alive});
  return out;
}

std::vector<ExpiringToken> Store::ExpiringTokens(db::Tx& tx) {
  std::vector<ExpiringToken> out;
  for (const auto& row : tx.Exec(sql::kExpiringTokens, cluster_id_))
    out.push_back({row.id, row.token_s, row.end_s, row.report});
  return out;
}

LearntLimits Store::Limits(db::Tx& tx) {
  const auto row = tx.First(sql::kClusterLimits, cluster_id_);
  return row ? LearntLimits{row->max_array, row->max_bytes} : LearntLimits{};
}

void Store::LearnLimit(db::Tx& tx, std::optional<int> max_array,
                       std::optional<std::int64_t> max_bytes, const std::string& why) {
  tx.Exec(sql::kLearnLimit, cluster_id_, max_array, max_bytes, why);
}

}  // namespace cigri::runner
