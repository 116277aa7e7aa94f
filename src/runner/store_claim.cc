// Claiming: what the operator allows and the plan grants now, taken and written as intents.
#include <sql/batches.h>
#include <sql/claims.h>
#include <sql/nodes.h>

#include <algorithm>

#include "core/hours.h"
#include "core/text.h"
#include "db/counters.h"
#include "module/module.h"
#include "runner/store.h"
#include "runner/tag.h"

namespace cigri::runner {
namespace {

bool IsTask(BatchKind kind) { return kind == BatchKind::kTask || kind == BatchKind::kTest; }

// Tasks that follow each other and were never tried: two numbers instead of a list.
bool IsFreshRange(const ClaimedBatch& b) {
  const auto n = static_cast<std::int64_t>(b.tasks.size());
  return IsTask(b.kind) && b.tasks.back().idx - b.tasks.front().idx + 1 == n &&
         std::all_of(b.tasks.begin(), b.tasks.end(), [](const auto& t) { return t.attempt == 1; });
}

std::vector<std::int64_t> IndexesOf(const ClaimedBatch& b) {
  std::vector<std::int64_t> idxs;
  for (const auto& t : b.tasks) idxs.push_back(t.idx);
  return idxs;
}

std::optional<std::string> ListedTasks(const ClaimedBatch& b) {
  if (IsFreshRange(b) || b.tasks.front().idx < 0) return std::nullopt;
  return db::Array(IndexesOf(b));
}

CounterDeltas Launching(std::int64_t cluster, const std::vector<ClaimedBatch>& batches) {
  CounterDeltas deltas;
  for (const auto& b : batches) CountBatch(deltas, cluster, b, "launching", 1);
  return deltas;
}

}  // namespace

Ceiling Store::CeilingNow(db::Tx& tx) {
  Ceiling ceiling;
  const auto row = tx.First(sql::kClaimCluster, cluster_id_);
  half_open_ = row && row->half_open_limit;
  ceiling.open = row && row->enabled && !row->drained && row->mode != "observe";
  if (ceiling.open && row->hours) ceiling.open = WithinHours(*row->hours, std::time(nullptr));
  if (!ceiling.open) return ceiling;
  if (row->mode == "limited") ceiling.max_jobs = row->mode_limit;
  ceiling.max_slots = row->max_running;
  ceiling.half_open_limit = row->half_open_limit;
  ceiling.sparing = row->max_calls_per_min.has_value();
  ceiling.node_due = row->node_due;
  if (ceiling.max_jobs || ceiling.max_slots) {
    const auto sums = tx.One(sql::kClusterInFlight, cluster_id_);
    ceiling.jobs = sums.jobs;
    ceiling.slots = sums.slots;
  }
  return ceiling;
}

std::vector<Candidate> Store::Candidates(db::Tx& tx,
                                         const std::function<int(std::int64_t)>& max_array) {
  std::vector<Candidate> out;
  for (auto& row : tx.Exec(sql::kClaimCandidates, cluster_id_)) {
    Candidate c;
    c.campaign_id = row.campaign_id;
    c.kind = FromString<BatchKind>(row.kind).value();
    c.n = row.n;
    c.in_flight_kind = row.in_flight_kind;
    c.in_flight = row.in_flight;
    c.fresh = row.fresh;
    c.tasks_per_job = row.tasks_per_job;
    c.retried = row.retried;
    c.max_array = max_array(row.campaign_id);
    c.cluster_login = std::move(row.cluster_login);
    if (IsTask(c.kind) || c.kind == BatchKind::kReplica) {
      c.slots = row.slots;
      c.max_jobs = row.max_jobs;
    }
    out.push_back(std::move(c));
  }
  return out;
}

Store::TasksByCampaign Store::TakeRetried(db::Tx& tx, const std::vector<Want>& wants) {
  db::RowSet<std::int64_t, int, bool> rows;  // campaign, most jobs, it has no fresh tasks
  std::vector<int> tasks_per_job, again;
  for (const auto& w : wants) {
    if (!IsTask(w.kind)) continue;
    rows.Add(w.campaign_id, w.n, w.fresh == 0);
    tasks_per_job.push_back(w.tasks_per_job);
    again.push_back(RetryShare(w.n, w.fresh));
  }
  TasksByCampaign out;
  if (rows.empty()) return out;
  for (const auto& row : tx.Exec(sql::kClaimRetry, rows, cluster_id_, tasks_per_job, again))
    out[row.campaign_id].push_back({row.idx, row.attempt, row.walltime_x, row.memory_x,
                                    row.least_walltime_s.value_or(0), row.alone});
  return out;
}

Store::TasksByCampaign Store::TakeFresh(db::Tx& tx, const std::vector<Want>& wants,
                                        const TasksByCampaign& retried, bool one_post) {
  db::RowSet<std::int64_t, int> rows;  // campaign, most tasks
  for (const auto& w : wants) {
    if (!IsTask(w.kind) || w.fresh == 0) continue;
    const auto it = retried.find(w.campaign_id);
    if (one_post && it != retried.end()) continue;  // retried tasks are a batch of their own
    const int rest = w.n - (it == retried.end() ? 0 : JobsOf(it->second, w.tasks_per_job));
    if (rest > 0) rows.Add(w.campaign_id, rest * w.tasks_per_job);
  }
  TasksByCampaign out;
  if (rows.empty()) return out;
  std::vector<std::int64_t> at_boosted;  // the rest is taken by another claim
  for (const auto& row : tx.Exec(sql::kClaimFresh, rows)) {
    if (row.at_boosted) at_boosted.push_back(row.campaign_id);
    left_out_ = left_out_ || !row.first_idx || row.at_boosted;
    for (std::int64_t i = 0; i < row.n; ++i)
      out[row.campaign_id].push_back({*row.first_idx + i, 1});
  }
  if (!at_boosted.empty()) tx.Exec(sql::kPassBoosted, at_boosted);
  return out;
}

std::vector<ClaimedTask> Store::Replicas(db::Tx& tx, const Want& want) {
  std::vector<ClaimedTask> tasks;
  for (const auto& row : tx.Exec(sql::kClaimReplicas, want.campaign_id, want.n, cluster_id_))
    tasks.push_back({row.idx, row.attempt});
  return tasks;
}

std::set<std::int64_t> Store::TakePrologues(db::Tx& tx, const std::vector<Want>& wants) {
  std::vector<std::int64_t> asked;
  for (const auto& w : wants)
    if (w.kind == BatchKind::kPrologue) asked.push_back(w.campaign_id);
  std::set<std::int64_t> out;
  if (asked.empty()) return out;
  for (const auto& row : tx.Exec(sql::kClaimPrologues, asked)) out.insert(row.campaign_id);
  left_out_ = left_out_ || out.size() < asked.size();
  return out;
}

std::vector<ClaimedBatch> Store::TakeBatches(db::Tx& tx, const std::vector<Want>& wants,
                                             const std::function<int(std::int64_t)>& max_array,
                                             bool one_post) {
  auto retried = TakeRetried(tx, wants), fresh = TakeFresh(tx, wants, retried, one_post);
  const auto prologues = TakePrologues(tx, wants);
  std::vector<ClaimedBatch> batches;
  const auto add = [&](const Want& want, const std::vector<ClaimedTask>& tasks) {
    const int most = max_array(want.campaign_id);
    const int shared = tasks.empty() || tasks.front().alone ? 1 : want.tasks_per_job;
    for (const auto& [from, n] : Cut(static_cast<int>(tasks.size()), most - most % shared)) {
      ClaimedBatch b;
      b.tasks_per_job = shared;
      b.campaign_id = want.campaign_id;
      b.kind = want.kind;
      b.slots = want.slots;
      b.cluster_login = want.cluster_login;
      b.walltime_x = tasks.front().walltime_x;
      b.memory_x = tasks.front().memory_x;
      b.least_walltime_s = tasks.front().least_walltime_s;
      b.tasks.assign(tasks.begin() + from, tasks.begin() + from + n);
      b.tag = NewTag(want.campaign_id, grid_id_, IndexesOf(b), shared);
      batches.push_back(std::move(b));
    }
  };
  for (const auto& want : wants) {
    if (IsTask(want.kind)) {
      for (const auto& tasks : ByGrowth(retried[want.campaign_id])) add(want, tasks);
      add(want, fresh[want.campaign_id]);
    } else if (want.kind == BatchKind::kReplica) {
      add(want, Replicas(tx, want));
    } else if (want.kind == BatchKind::kEpilogue || prologues.count(want.campaign_id) != 0) {
      add(want, {{-1, 1}});
    }
  }
  return batches;
}

// An excluded node whose time is over gets one job: the last one of the claim.
void Store::TryNodes(db::Tx& tx, std::vector<ClaimedBatch>& batches) {
  for (const auto& row : tx.Exec(sql::kNodesToTry, cluster_id_)) {
    const auto from = std::find_if(batches.rbegin(), batches.rend(), [](const ClaimedBatch& b) {
      return IsTask(b.kind) && b.node.empty();
    });
    if (from == batches.rend()) return;
    const int first = LastJob(static_cast<int>(from->tasks.size()), from->tasks_per_job);
    if (first > 0) {
      ClaimedBatch trial = *from;
      trial.tasks.erase(trial.tasks.begin(), trial.tasks.begin() + first);
      from->tasks.resize(static_cast<std::size_t>(first));
      from->tag = NewTag(from->campaign_id, grid_id_, IndexesOf(*from), from->tasks_per_job);
      trial.tag = NewTag(trial.campaign_id, grid_id_, IndexesOf(trial), trial.tasks_per_job);
      trial.node = row.node;
      batches.push_back(std::move(trial));
    } else {
      from->node = row.node;
    }
  }
}

void Store::Intend(db::Tx& tx, std::vector<ClaimedBatch>& batches, int send_window_s, bool hold) {
  db::RowSet<std::int64_t, std::string, std::int64_t, int, std::optional<std::int64_t>,
             std::optional<std::string>, int, std::string, double, int, std::optional<std::string>,
             int>
      rows;  // offset of its job ids, kind, campaign, n, first task, its tasks, slots, tag, growth,
             // tasks of a job, the node that it tries, its least walltime
  std::int64_t jobs = 0;
  std::map<std::string, ClaimedBatch*> by_tag;
  for (auto& b : batches) {
    const auto first = IsFreshRange(b) ? std::optional(b.tasks.front().idx) : std::nullopt;
    const int n = static_cast<int>(b.tasks.size());
    rows.Add(jobs, std::string(ToString(b.kind)), b.campaign_id, n, first, ListedTasks(b), b.slots,
             b.tag, b.walltime_x, b.tasks_per_job,
             b.node.empty() ? std::nullopt : std::optional(b.node), b.least_walltime_s);
    jobs += n;
    by_tag[b.tag] = &b;
  }
  for (const auto& row :
       tx.Exec(sql::kIntendBatches, jobs, cluster_id_, epoch_, send_window_s, !hold, rows)) {
    auto& b = *by_tag.at(row.tag);
    b.id = row.id;
    b.first_job_id = row.first_job_id;
  }
}

std::vector<ClaimedBatch> Store::Claim(db::Tx& tx, int most,
                                       const std::function<int(std::int64_t)>& max_array,
                                       int send_window_s, bool hold) {
  left_out_ = false;
  HoldLease(tx);
  const Ceiling ceiling = CeilingNow(tx);
  if (!ceiling.open) return {};
  const auto wants = Room(Candidates(tx, max_array), ceiling, most);
  if (wants.empty()) return {};
  auto batches = TakeBatches(tx, wants, max_array, ceiling.sparing);
  if (batches.empty()) return {};
  if (ceiling.node_due) TryNodes(tx, batches);
  Intend(tx, batches, send_window_s, hold);
  db::AddCounters(tx, Launching(cluster_id_, batches), "runner");
  return batches;
}

}  // namespace cigri::runner
