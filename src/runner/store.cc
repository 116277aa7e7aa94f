#include "runner/store.h"

#include <sql/runner.h>

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
  const auto rows = tx.Exec(sql::runner::kClaimCluster, cluster_id_);
  Ceiling ceiling;
  if (rows.empty()) {
    ceiling.open = false;
    return ceiling;
  }
  const auto& row = rows[0];
  const auto mode = row["mode"].as<std::string>();
  ceiling.open = row["enabled"].as<bool>() && !row["drained"].as<bool>() && mode != "observe";
  if (const auto hours = db::Opt<std::string>(row["hours"]); ceiling.open && hours)
    ceiling.open = WithinHours(*hours, std::time(nullptr));
  if (mode == "limited") ceiling.max_jobs = db::Opt<int>(row["mode_limit"]);
  ceiling.max_slots = db::Opt<int>(row["max_running"]);
  ceiling.probation = db::Opt<int>(row["probation"]);
  on_probation_ = ceiling.probation.has_value();
  ceiling.sparing = !row["max_calls_per_min"].is_null();
  if (ceiling.open && (ceiling.max_jobs || ceiling.max_slots)) {
    const auto sums = tx.Exec(sql::runner::kClusterInFlight, cluster_id_);
    ceiling.jobs = sums[0][0].as<std::int64_t>();
    ceiling.slots = sums[0][1].as<std::int64_t>();
  }
  return ceiling;
}

std::vector<Candidate> Store::Candidates(db::Tx& tx) {
  std::vector<Candidate> out;
  for (const auto& row : tx.Exec(sql::runner::kClaimCandidates, cluster_id_)) {
    Candidate c;
    c.campaign_id = row["campaign_id"].as<std::int64_t>();
    c.kind = FromString<BatchKind>(row["kind"].c_str()).value();
    c.n = row["n"].as<int>();
    c.slots = IsTask(c.kind) || c.kind == BatchKind::kReplica ? row["slots"].as<int>() : 1;
    if (IsTask(c.kind) || c.kind == BatchKind::kReplica) c.max_jobs = db::Opt<int>(row["max_jobs"]);
    c.in_flight_kind = row["in_flight_kind"].as<std::int64_t>();
    c.in_flight = row["in_flight"].as<std::int64_t>();
    c.fresh = row["fresh"].as<std::int64_t>();
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
  for (const auto& row : tx.Exec(sql::runner::kClaimRetry, db::Array(ids), db::Array(shares),
                                 db::Array(no_fresh), cluster_id_))
    again[row[0].as<std::int64_t>()].push_back({row[1].as<std::int64_t>(), row[2].as<int>()});
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
  for (const auto& row : tx.Exec(sql::runner::kClaimFresh, db::Array(ids), db::Array(shares))) {
    const auto first = row[1].as<std::int64_t>();
    for (std::int64_t i = 0; i < row[2].as<std::int64_t>(); ++i)
      fresh[row[0].as<std::int64_t>()].push_back({first + i, 1});
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
           tx.Exec(sql::runner::kClaimReplicas, want.campaign_id, want.n, cluster_id_))
        tasks.push_back({row[0].as<std::int64_t>(), row[1].as<int>()});
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
      tx.Exec(sql::runner::kIntendBatches, jobs, cluster_id_, epoch_, send_window_s, !hold,
              db::Array(offsets), db::Array(kinds), db::Array(campaigns), db::Array(sizes),
              db::Array(firsts), db::Array(sets), db::Array(slots), db::Array(tags));
  std::map<std::string, ClaimedBatch*> by_tag;
  for (auto& b : batches) by_tag[b.tag] = &b;
  for (const auto& row : rows) {
    auto& b = *by_tag.at(row[2].as<std::string>());
    b.id = row[0].as<std::int64_t>();
    b.first_job_id = row[1].as<std::int64_t>();
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
  const auto result = tx.Exec(sql::runner::kRecordBatch, batch.id, db::Array(ids),
                              db::Array(elements), db::Array(attempts), ids.front(), on_hold);
  if (result.affected_rows() != remote.size()) return false;
  if (!missing.empty())
    tx.Exec(sql::runner::kGiveBack, batch.id, db::Array(missing), "the cluster did not take it");
  CounterDeltas deltas;
  deltas.Add(batch.campaign_id, cluster_id_, batch.kind, "launching",
             -static_cast<std::int64_t>(batch.tasks.size()), batch.slots);
  deltas.Add(batch.campaign_id, cluster_id_, batch.kind, "submitted",
             static_cast<std::int64_t>(remote.size()), batch.slots);
  db::AddCounters(tx, deltas, "runner");
  if (on_probation_) tx.Exec(sql::runner::kMoreAfterProbation, cluster_id_);
  return true;
}

bool Store::GiveBack(db::Tx& tx, const ClaimedBatch& batch, BatchState end,
                     const std::string& why) {
  module::CheckEpoch(tx, epoch_);
  const auto closed = tx.Exec(sql::runner::kCloseBatch, batch.id, std::string(ToString(end)), why);
  if (closed.affected_rows() == 0) return false;
  std::vector<int> elements(batch.tasks.size());
  std::iota(elements.begin(), elements.end(), 0);
  tx.Exec(sql::runner::kGiveBack, batch.id, db::Array(elements), why);
  CounterDeltas deltas;
  deltas.Add(batch.campaign_id, cluster_id_, batch.kind, "launching",
             -static_cast<std::int64_t>(batch.tasks.size()), batch.slots);
  db::AddCounters(tx, deltas, "runner");
  return true;
}

void Store::Doubt(db::Tx& tx, const ClaimedBatch& batch, const std::string& why) {
  tx.Exec(sql::runner::kDoubtBatch, batch.id, why);
}

std::vector<OpenBatch> Store::OpenBatches(db::Tx& tx) {
  std::vector<OpenBatch> out;
  for (const auto& row : tx.Exec(sql::runner::kOpenBatches, cluster_id_)) {
    OpenBatch o;
    auto& b = o.batch;
    b.id = row["id"].as<std::int64_t>();
    b.first_job_id = row["first_job_id"].as<std::int64_t>();
    b.campaign_id = row["campaign_id"].as<std::int64_t>();
    b.kind = FromString<BatchKind>(row["kind"].c_str()).value();
    b.tag = row["tag"].as<std::string>();
    b.slots = row["slots"].as<int>();
    const auto idxs = db::Int64s(row["idxs"]);
    const auto first = db::Opt<std::int64_t>(row["first_idx"]);
    for (int i = 0; i < row["n"].as<int>(); ++i)
      b.tasks.push_back({!idxs.empty() ? idxs[static_cast<std::size_t>(i)]
                         : first       ? *first + i
                                       : -1,
                         1});
    o.state = FromString<BatchState>(row["state"].c_str()).value();
    o.created_at = row["created_at"].as<double>();
    o.send_over = row["send_over"].as<bool>();
    o.due = row["due"].as<bool>();
    o.quiet_s = row["quiet_s"].is_null() ? 0 : row["quiet_s"].as<double>();
    o.lost = row["lost"].as<bool>();
    o.looks = row["looks"].as<int>();
    if (!idxs.empty()) {
      std::map<std::int64_t, int> tried;
      for (const auto& t : tx.Exec(sql::runner::kAttempts, b.campaign_id, db::Array(idxs)))
        tried[t[0].as<std::int64_t>()] = t[1].as<int>();
      for (auto& t : b.tasks) t.attempt = tried[t.idx] + 1;
    }
    out.push_back(std::move(o));
  }
  return out;
}

void Store::NoteLook(db::Tx& tx, std::int64_t batch_id, bool absent, double next_look_s) {
  tx.Exec(sql::runner::kNoteAbsence, batch_id, absent ? 1 : 0, next_look_s);
}

}  // namespace cigri::runner
