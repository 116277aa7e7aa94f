#include "runner/store.h"

#include <sql/batches.h>
#include <sql/breakers.h>
#include <sql/claims.h>
#include <sql/tasks.h>

#include <numeric>

#include "core/hours.h"
#include "core/text.h"
#include "db/counters.h"
#include "module/module.h"

namespace cigri::runner {
namespace {

bool IsTask(BatchKind kind) { return kind == BatchKind::kTask || kind == BatchKind::kTest; }

void CountLaunching(db::Tx& tx, std::int64_t cluster, const std::vector<ClaimedBatch>& batches) {
  CounterDeltas deltas;
  for (const auto& b : batches)
    deltas.Add(b.campaign_id, cluster, b.kind, "launching",
               static_cast<std::int64_t>(b.tasks.size()), b.slots);
  db::AddCounters(tx, deltas, "runner");
}

}  // namespace

std::string Store::NewTag(std::int64_t campaign_id) const {
  return "cigri." + std::to_string(campaign_id) + "." + grid_id_ + "." + RandomHex(8);
}

Ceiling Store::CeilingNow(db::Tx& tx) {
  const auto rows = tx.Exec(sql::kClaimCluster, cluster_id_);
  Ceiling ceiling;
  if (rows.empty()) {
    ceiling.open = false;
    return ceiling;
  }
  const auto& row = rows[0];
  const auto mode = row.mode;
  ceiling.open = row.enabled && !row.drained && mode != "observe";
  if (const auto hours = row.hours; ceiling.open && hours)
    ceiling.open = WithinHours(*hours, std::time(nullptr));
  if (mode == "limited") ceiling.max_jobs = row.mode_limit;
  ceiling.max_slots = row.max_running;
  ceiling.probation = row.probation;
  on_probation_ = ceiling.probation.has_value();
  ceiling.sparing = !!row.max_calls_per_min;
  if (ceiling.open && (ceiling.max_jobs || ceiling.max_slots)) {
    const auto sums = tx.Exec(sql::kClusterInFlight, cluster_id_);
    ceiling.jobs = sums[0].jobs;
    ceiling.slots = sums[0].slots;
  }
  return ceiling;
}

std::vector<Candidate> Store::Candidates(db::Tx& tx) {
  std::vector<Candidate> out;
  for (const auto& row : tx.Exec(sql::kClaimCandidates, cluster_id_)) {
    Candidate c;
    c.campaign_id = row.campaign_id;
    c.kind = FromString<BatchKind>(row.kind).value();
    c.n = row.n;
    c.slots = IsTask(c.kind) || c.kind == BatchKind::kReplica ? row.slots : 1;
    if (IsTask(c.kind) || c.kind == BatchKind::kReplica) c.max_jobs = row.max_jobs;
    c.in_flight_kind = row.in_flight_kind;
    c.in_flight = row.in_flight;
    c.fresh = row.fresh;
    out.push_back(c);
  }
  return out;
}

// Tasks of each campaign: first those that go again, then the cursor's. Two statements for all.
void Store::TakeTasks(db::Tx& tx, const std::vector<Want>& wants,
                      std::map<std::int64_t, std::vector<ClaimedTask>>& again,
                      std::map<std::int64_t, std::vector<ClaimedTask>>& fresh) {
  std::vector<std::int64_t> ids;
  std::vector<int> shares;
  std::vector<bool> no_fresh;
  for (const auto& w : wants) {
    if (!IsTask(w.kind)) continue;
    ids.push_back(w.campaign_id);
    shares.push_back(RetryShare(w.n, w.fresh));
    no_fresh.push_back(w.fresh == 0);
  }
  if (ids.empty()) return;
  for (const auto& row : tx.Exec(sql::kClaimRetry, ids, shares,
                                 no_fresh, cluster_id_))
    again[row.campaign_id].push_back({row.idx, row.attempt});
  ids.clear();
  shares.clear();
  for (const auto& w : wants) {
    if (!IsTask(w.kind) || w.fresh == 0) continue;
    const int rest = w.n - static_cast<int>(again[w.campaign_id].size());
    if (rest <= 0) continue;
    ids.push_back(w.campaign_id);
    shares.push_back(rest);
  }
  if (ids.empty()) return;
  for (const auto& row : tx.Exec(sql::kClaimFresh, ids, shares)) {
    const auto first = row.first_idx;
    for (std::int64_t i = 0; i < row.n; ++i)
      fresh[row.campaign_id].push_back({first + i, 1});
  }
}

std::vector<ClaimedBatch> Store::Claim(db::Tx& tx, int most,
                                       const std::function<int(std::int64_t)>& max_array,
                                       int send_window_s, bool hold) {
  module::CheckEpoch(tx, epoch_);
  const Ceiling ceiling = CeilingNow(tx);
  if (!ceiling.open) return {};
  const auto wants = Room(Candidates(tx), ceiling, most);
  if (wants.empty()) return {};
  std::map<std::int64_t, std::vector<ClaimedTask>> again, fresh;
  TakeTasks(tx, wants, again, fresh);

  std::vector<ClaimedBatch> batches;
  const auto add = [&](const Want& want, const std::vector<ClaimedTask>& tasks) {
    for (const auto& [from, n] : Cut(static_cast<int>(tasks.size()), max_array(want.campaign_id))) {
      ClaimedBatch b;
      b.campaign_id = want.campaign_id;
      b.kind = want.kind;
      b.slots = want.slots;
      b.tag = NewTag(want.campaign_id);
      b.tasks.assign(tasks.begin() + from, tasks.begin() + from + n);
      batches.push_back(std::move(b));
    }
  };
  for (const auto& want : wants) {
    if (IsTask(want.kind)) {
      add(want, again[want.campaign_id]);
      add(want, fresh[want.campaign_id]);
    } else if (want.kind == BatchKind::kReplica) {
      std::vector<ClaimedTask> tasks;
      for (const auto& row :
           tx.Exec(sql::kClaimReplicas, want.campaign_id, want.n, cluster_id_))
        tasks.push_back({row.idx, row.attempt});
      add(want, tasks);
    } else {
      add(want, {{-1, 1}});
    }
  }
  if (batches.empty()) return {};

  std::vector<std::int64_t> offsets, campaigns;
  std::vector<std::optional<std::int64_t>> firsts;
  std::vector<std::optional<std::string>> sets;
  std::vector<int> sizes, slots;
  std::vector<std::string> kinds, tags;
  std::int64_t jobs = 0;
  for (const auto& b : batches) {
    offsets.push_back(jobs);
    jobs += static_cast<std::int64_t>(b.tasks.size());
    campaigns.push_back(b.campaign_id);
    kinds.emplace_back(ToString(b.kind));
    tags.push_back(b.tag);
    sizes.push_back(static_cast<int>(b.tasks.size()));
    slots.push_back(b.slots);
    const bool fresh_range =
        IsTask(b.kind) &&
        b.tasks.back().idx - b.tasks.front().idx + 1 == static_cast<std::int64_t>(b.tasks.size()) &&
        std::all_of(b.tasks.begin(), b.tasks.end(), [](const auto& t) { return t.attempt == 1; });
    firsts.push_back(fresh_range ? std::optional(b.tasks.front().idx) : std::nullopt);
    std::vector<std::int64_t> idxs;
    for (const auto& t : b.tasks) idxs.push_back(t.idx);
    sets.push_back(fresh_range || b.tasks.front().idx < 0 ? std::nullopt
                                                          : std::optional(db::Array(idxs)));
  }
  const auto rows =
      tx.Exec(sql::kIntendBatches, jobs, cluster_id_, epoch_, send_window_s, !hold,
              offsets, kinds, campaigns, sizes,
              firsts, sets, slots, tags);
  std::map<std::string, ClaimedBatch*> by_tag;
  for (auto& b : batches) by_tag[b.tag] = &b;
  for (const auto& row : rows) {
    auto& b = *by_tag.at(row.tag);
    b.id = row.id;
    b.first_job_id = row.first_job_id;
  }
  CountLaunching(tx, cluster_id_, batches);
  return batches;
}

bool Store::Record(db::Tx& tx, const ClaimedBatch& batch,
                   const std::vector<std::pair<int, std::string>>& remote,
                   const std::vector<int>& missing, bool on_hold) {
  module::CheckEpoch(tx, epoch_);
  std::vector<std::string> ids;
  std::vector<int> elements, attempts;
  for (const auto& [element, id] : remote) {
    elements.push_back(element);
    ids.push_back(id);
    attempts.push_back(batch.tasks.at(static_cast<std::size_t>(element)).attempt);
  }
  const auto result = tx.Exec(sql::kRecordBatch, batch.id, ids,
                              elements, attempts, ids.front(), on_hold);
  if (result != remote.size()) return false;
  if (!missing.empty())
    tx.Exec(sql::kGiveBackTasks, batch.id, missing, "the cluster did not take it");
  CounterDeltas deltas;
  deltas.Add(batch.campaign_id, cluster_id_, batch.kind, "launching",
             -static_cast<std::int64_t>(batch.tasks.size()), batch.slots);
  deltas.Add(batch.campaign_id, cluster_id_, batch.kind, "submitted",
             static_cast<std::int64_t>(remote.size()), batch.slots);
  db::AddCounters(tx, deltas, "runner");
  if (on_probation_) tx.Exec(sql::kRaiseHalfOpenLimit, cluster_id_);
  return true;
}

bool Store::GiveBack(db::Tx& tx, const ClaimedBatch& batch, BatchState end,
                     const std::string& why) {
  module::CheckEpoch(tx, epoch_);
  const auto closed = tx.Exec(sql::kCloseBatch, batch.id, std::string(ToString(end)), why);
  if (closed == 0) return false;
  std::vector<int> elements(batch.tasks.size());
  std::iota(elements.begin(), elements.end(), 0);
  tx.Exec(sql::kGiveBackTasks, batch.id, elements, why);
  CounterDeltas deltas;
  deltas.Add(batch.campaign_id, cluster_id_, batch.kind, "launching",
             -static_cast<std::int64_t>(batch.tasks.size()), batch.slots);
  db::AddCounters(tx, deltas, "runner");
  return true;
}

void Store::Doubt(db::Tx& tx, const ClaimedBatch& batch, const std::string& why) {
  tx.Exec(sql::kMarkInDoubt, batch.id, why);
}

std::vector<OpenBatch> Store::OpenBatches(db::Tx& tx) {
  std::vector<OpenBatch> out;
  for (const auto& row : tx.Exec(sql::kOpenBatches, cluster_id_)) {
    OpenBatch o;
    auto& b = o.batch;
    b.id = row.id;
    b.first_job_id = row.first_job_id;
    b.campaign_id = row.campaign_id;
    b.kind = FromString<BatchKind>(row.kind).value();
    b.tag = row.tag;
    b.slots = row.slots;
    const auto idxs = row.idxs;
    const auto first = row.first_idx;
    for (int i = 0; i < row.n; ++i)
      b.tasks.push_back({!idxs.empty() ? idxs[static_cast<std::size_t>(i)]
                         : first       ? *first + i
                                       : -1,
                         1});
    o.state = FromString<BatchState>(row.state).value();
    o.created_at = row.created_at;
    o.send_over = row.send_over;
    o.due = row.due;
    o.quiet_s = !row.quiet_s ? 0 : row.quiet_s;
    o.lost = row.lost;
    o.looks = row.looks;
    if (!idxs.empty()) {
      std::map<std::int64_t, int> tried;
      for (const auto& t : tx.Exec(sql::kAttemptsSoFar, b.campaign_id, idxs))
        tried[t.idx] = t.attempts;
      for (auto& t : b.tasks) t.attempt = tried[t.idx] + 1;
    }
    out.push_back(std::move(o));
  }
  return out;
}

void Store::NoteLook(db::Tx& tx, std::int64_t batch_id, bool absent, double next_look_s) {
  tx.Exec(sql::kNoteAbsence, batch_id, absent ? 1 : 0, next_look_s);
}

}  // namespace cigri::runner
