#include "metascheduler/store.h"

#include <sql/events.h>
#include <sql/grants.h>
#include <sql/kills.h>
#include <sql/plans.h>
#include <sql/reasons.h>

#include <algorithm>

#include "policy/json.h"

namespace cigri::metascheduler {
namespace {

constexpr double kRecallEvery = 1;     // s
constexpr double kSnapshotEvery = 10;  // s between two snapshots that are kept for replay

}  // namespace

policy::State Store::LoadState(db::Tx& tx) {
  const auto row = tx.First(sql::kPlanState);
  return carried_ = row ? nlohmann::json::parse(row->state).get<policy::State>() : policy::State{};
}

void Store::Reset(db::Tx& tx) {
  written_grants_.reset();
  written_state_.clear();
  config_rows_ = {{"?", nullptr}};
  old_usage_until_ = overdue_at_ = long_jobs_at_ = yield_at_ = 0;
  preempted_ = true;
  would_send_.reset();
  black_holes_.clear();
  for (const auto& row : tx.Exec(sql::kOpenBlackHoles))
    black_holes_.emplace(row.campaign_id, row.cluster_id);
  reasons_.clear();
  for (const auto& row : tx.Exec(sql::kOpenReasons))
    reasons_[{row.campaign_id, row.cluster_id, row.code}] =
        nlohmann::json::parse(row.numbers).dump();
}

void Store::Write(db::Tx& tx, const Loaded& loaded, Decision& decision, std::uint64_t seed,
                  double took_ms) {
  WritePlan(tx, loaded, decision, seed, took_ms);
  WritePreemptions(tx, decision.result.plan.preempt);
  WriteRecalls(tx, decision.result.plan.recalls);
  ReportPreemptionYield(tx);
  WriteBlackHoles(tx, loaded, decision.result.plan.holds);
  CloseBlackHoles(tx, decision.result.next);
  ReportOverdue(tx, loaded);
  WriteWouldSend(tx, decision);
  WriteReasons(tx, decision);
}

void Store::WritePlan(db::Tx& tx, const Loaded& loaded, const Decision& decision,
                      std::uint64_t seed, double took_ms) {
  const bool changed = decision.grants != written_grants_;
  const std::string state = nlohmann::json(decision.result.next).dump();
  const policy::State before = std::exchange(carried_, decision.result.next);
  const bool due = state != written_state_ && now_ - snapshot_at_ >= kSnapshotEvery;
  if (!changed && !due) return CountEnds(tx, decision.grants);
  const auto snapshot = SnapshotIfDue(loaded, before, decision.result.plan);
  const auto plan = tx.One(sql::kInsertPlan, static_cast<std::int64_t>(seed), snapshot, took_ms).id;
  tx.Exec(sql::kPutPlanState, plan, state);
  written_state_ = state;
  if (changed) WriteGrants(tx, plan, decision.grants);
  CountEnds(tx, decision.grants);
}

void Store::CountEnds(db::Tx& tx, const std::vector<Allocation>& grants) {
  if (!grants.empty()) tx.Exec(sql::kCountEndsOfGrants);
}

std::optional<std::string> Store::SnapshotIfDue(const Loaded& loaded, const policy::State& before,
                                                const policy::Plan& plan) {
  if (now_ - snapshot_at_ < kSnapshotEvery) return std::nullopt;
  snapshot_at_ = now_;
  const auto bytes = nlohmann::json::to_cbor(
      {{"snapshot", loaded.snapshot}, {"state", before}, {"now", loaded.now}, {"plan", plan}});
  return db::Bytea({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

void Store::WriteGrants(db::Tx& tx, std::int64_t plan, const std::vector<Allocation>& grants) {
  db::RowSet<std::int64_t, std::int64_t, std::string, std::int64_t, int> rows;
  for (const auto& g : grants)
    rows.Add(g.campaign, g.cluster, std::string(ToString(g.kind)),
             std::min<std::int64_t>(g.n, 1 << 30), g.rank);
  tx.Exec(sql::kClearGrants);
  if (!rows.empty()) tx.Exec(sql::kInsertGrants, plan, rows);
  written_grants_ = grants;
}

void Store::WritePreemptions(db::Tx& tx, const std::vector<policy::Preempt>& preempt) {
  if (preempt.empty()) return;
  db::RowSet<std::int64_t, std::int64_t, std::int64_t, int, double, std::string> rows;
  for (const auto& p : preempt)
    rows.Add(p.job, p.for_campaign, p.cluster, p.slots, p.lost_s, p.code);
  tx.Exec(sql::kInsertPreemptions, rows);
  preempted_ = true;
}

// It reads `live`: not in each of fifty passes a second.
void Store::WriteRecalls(db::Tx& tx, const std::vector<policy::Recall>& recalls) {
  if (recalls.empty() || (now_ - recalls_at_ < kRecallEvery && now_ >= recalls_at_)) return;
  recalls_at_ = now_;
  db::RowSet<std::int64_t, std::int64_t, std::int64_t, int> rows;
  for (const auto& r : recalls) rows.Add(r.campaign, r.cluster, r.to, r.n);
  tx.Exec(sql::kInsertRecalls, rows);
}

}  // namespace cigri::metascheduler
