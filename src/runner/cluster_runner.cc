#include "runner/cluster_runner.h"

#include <sql/runner.h>

#include "core/log.h"
#include "core/text.h"
#include "module/events.h"

namespace cigri::runner {

using std::chrono::milliseconds;

ClusterRunner::ClusterRunner(const clusterdb::ClusterRow& row, Shared& shared)
    : id_(row.config.id),
      name_(row.config.name),
      shared_(shared),
      store_(row.config.id, shared.grid_id, shared.epoch),
      cluster_(clusterdb::MakeDriver(row, shared.conninfo)),
      caps_(cluster_->capabilities()) {
  thread_ = std::thread([this] { Loop(); });
}

ClusterRunner::~ClusterRunner() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void ClusterRunner::Wake() {
  {
    std::lock_guard lock(mutex_);
    woken_ = true;
  }
  wake_.notify_one();
}

void ClusterRunner::Loop() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return woken_ || stop_; });
      if (stop_) return;
      woken_ = false;
    }
    try {
      Pass();
    } catch (const module::StaleEpoch&) {
      shared_.stale = true;
      return;
    } catch (const std::exception& e) {
      // What was intended stays intended: the next pass looks before anything is sent again.
      doubts_ = unreleased_ = true;
      BackOff(e.what());
    }
  }
}

void ClusterRunner::Pass() {
  if (Clock::now() < not_before_) return;
  if (doubts_) ClearDoubts();
  if (unreleased_) ReleaseHeld();
  while (ClaimAndSend()) {
    std::lock_guard lock(mutex_);
    if (stop_) return;
  }
}

bool ClusterRunner::ClaimAndSend() {
  const auto claimed_at = Clock::now();  // before the transaction's now(): never later than send_by
  std::vector<ClaimedBatch> batches;
  {
    auto db = shared_.pool.Get();
    db::Tx tx(*db);
    const int usual = MaxArray();
    const auto cut = [&](std::int64_t campaign) {
      const auto it = byte_cut_.find(campaign);
      return it == byte_cut_.end() ? usual : std::min(usual, it->second);
    };
    batches = store_.Claim(tx, 5000, cut, shared_.send_window_s, caps_.hold_release);
    tx.Commit();
  }
  for (const auto& batch : batches) Send(batch, claimed_at);
  return !batches.empty() && Clock::now() >= not_before_;
}

void ClusterRunner::Send(const ClaimedBatch& batch, Clock::time_point claimed_at) {
  cluster::Batch spec;
  try {
    auto db = shared_.pool.Get();
    db::Tx tx(*db, db::Tx::Sync::kOff);
    spec = store_.Build(tx, batch);
  } catch (const db::Broken&) {
    throw;  // the intent stays; it is looked up when the database is back
  } catch (const std::exception& e) {
    return Refused(batch, {cluster::SubmitRefused::Why::kBatch, e.what()});
  }
  if (const auto why = cluster_->WhyNot(spec); !why.empty())
    return Refused(batch, {cluster::SubmitRefused::Why::kBatch, why});
  if (TooLarge(batch, spec)) {
    auto db = shared_.pool.Get();
    db::Tx tx(*db);
    store_.GiveBack(tx, batch, BatchState::kRefused, "to be cut at the cluster's byte limit");
    return tx.Commit();
  }
  // A drain that has returned relies on this: after send_by no POST starts any more.
  if (Clock::now() - claimed_at > std::chrono::seconds(shared_.send_window_s) - milliseconds(500) ||
      Clock::now() < not_before_)
    return Refused(batch, {cluster::SubmitRefused::Why::kTemporary, "its time to be sent had passed"});
  std::vector<std::string> ids;
  try {
    ids = cluster_->Submit(spec);
  } catch (const cluster::SubmitRefused& e) {
    return Refused(batch, e);
  } catch (const std::exception& e) {
    return InDoubt(batch, e.what());
  }
  refusals_ = 0;
  std::vector<std::pair<int, std::string>> remote;
  for (std::size_t i = 0; i < ids.size(); ++i) remote.emplace_back(static_cast<int>(i), ids[i]);
  {
    auto db = shared_.pool.Get();
    db::Tx tx(*db);
    store_.Record(tx, batch, remote, {}, caps_.hold_release);
    tx.Commit();
  }
  if (caps_.hold_release) Release(batch, ids);
}

void ClusterRunner::Refused(const ClaimedBatch& batch, const cluster::SubmitRefused& e) {
  using Why = cluster::SubmitRefused::Why;
  const std::string what = "cannot submit " + std::to_string(batch.tasks.size()) +
                           " jobs of campaign " + std::to_string(batch.campaign_id) + ": " + e.what();
  {
    auto db = shared_.pool.Get();
    db::Tx tx(*db);
    store_.GiveBack(tx, batch, BatchState::kRefused, e.what());
    if (e.why() == Why::kBatch || e.why() == Why::kUser) {
      module::Event event{.cls = "campaign", .code = "SUBMIT_REFUSED", .message = name_ + ": " + e.what()};
      event.campaign_id = batch.campaign_id;
      event.cluster_id = id_;
      module::RaiseEvent(tx, event);
    }
    tx.Commit();
  }
  log::warn("[{}] {}", name_, what);
  if (e.why() == Why::kLimit && batch.tasks.size() > 1)
    LearnLimit(e.limit() > 0 ? e.limit() : static_cast<int>(batch.tasks.size() / 2), e.what());
  else if (e.why() == Why::kTemporary || e.why() == Why::kLimit)
    BackOff(e.what());
}

module::Event ClusterRunner::DoubtEvent(const std::string& why) const {
  module::Event e{.cls = "cluster", .code = "SUBMIT_IN_DOUBT"};
  e.message = name_ + ": nobody knows whether a submission was taken, it is being looked up: " + why;
  e.cluster_id = id_;
  return e;
}

void ClusterRunner::InDoubt(const ClaimedBatch& batch, const std::string& why) {
  log::warn("[{}] in doubt whether {} jobs of campaign {} were taken: {}", name_,
            batch.tasks.size(), batch.campaign_id, why);
  doubts_ = true;
  auto db = shared_.pool.Get();
  db::Tx tx(*db);
  store_.Doubt(tx, batch, why);
  module::RaiseEvent(tx, DoubtEvent(why));
  tx.Commit();
  shared_.waker.WakeIn(milliseconds(100));
}

void ClusterRunner::ClearDoubts() {
  std::vector<OpenBatch> open;
  {
    auto db = shared_.pool.Get();
    db::Tx tx(*db);
    module::CheckEpoch(tx, shared_.epoch);
    open = store_.OpenBatches(tx);
    // Whoever intended these is gone (this thread has nothing on its way here): perhaps they were sent.
    for (auto& o : open)
      if (o.state == BatchState::kIntended) {
        store_.Doubt(tx, o.batch, "the runner that intended it is gone");
        o.due = true;
      }
    tx.Commit();
  }
  doubts_ = !open.empty();
  if (!doubts_) {
    auto db = shared_.pool.Get();
    db::Tx tx(*db);
    module::CloseEvent(tx, DoubtEvent(""), "runner");
    tx.Commit();
  }
  for (const auto& o : open)
    if (o.due) LookUp(o);
  if (doubts_) shared_.waker.WakeIn(milliseconds(1000));
}

void ClusterRunner::LookUp(const OpenBatch& open) {
  const auto& batch = open.batch;
  if (open.lost) {
    auto db = shared_.pool.Get();
    db::Tx tx(*db);
    store_.GiveBack(tx, batch, BatchState::kVoid, "given up as lost");
    return tx.Commit();
  }
  const std::string user = UserThere(batch.campaign_id);
  cluster::FindResult found;
  try {
    found = cluster_->Find(batch.tag, user, open.created_at, caps_.fences);
  } catch (const cluster::CallFailed& e) {
    auto db = shared_.pool.Get();
    db::Tx tx(*db);
    store_.NoteLook(tx, batch.id, false, NextLook(open.looks));
    tx.Commit();
    return BackOff(e.what());
  }
  const bool final = AbsenceIsFinal({found.complete, found.fenced, open.send_over, open.looks,
                                     open.quiet_s, static_cast<double>(caps_.absence_delay.count())});
  std::map<int, std::string> there;
  for (const auto& job : found.jobs) there.emplace(job.ref.index, job.ref.remote_id);
  std::vector<std::pair<int, std::string>> remote(there.begin(), there.end());
  std::vector<int> missing;
  for (int i = 0; i < static_cast<int>(batch.tasks.size()); ++i)
    if (there.count(i) == 0) missing.push_back(i);

  auto db = shared_.pool.Get();
  db::Tx tx(*db);
  if (missing.empty() || (!remote.empty() && final)) {
    store_.Record(tx, batch, remote, missing, caps_.hold_release);
    unreleased_ = caps_.hold_release;
    log::info("[{}] adopted {} jobs of campaign {}, {} were never taken", name_, remote.size(),
              batch.campaign_id, missing.size());
  } else if (final) {
    store_.GiveBack(tx, batch, BatchState::kVoid, "the cluster never took it");
    log::info("[{}] {} jobs of campaign {} were never taken, they go again", name_,
              batch.tasks.size(), batch.campaign_id);
  } else {
    store_.NoteLook(tx, batch.id, found.complete, NextLook(open.looks));
    shared_.waker.WakeIn(milliseconds(1000));
  }
  tx.Commit();
}

std::string ClusterRunner::UserThere(std::int64_t campaign) {
  auto db = shared_.pool.Get();
  db::Tx tx(*db, db::Tx::Sync::kOff);
  const auto rows = tx.Exec(sql::runner::kUserThere, campaign, id_);
  return rows.empty() ? "" : rows[0][0].as<std::string>();
}

void ClusterRunner::ReleaseHeld() {
  unreleased_ = false;
  if (!caps_.hold_release) return;
  std::vector<std::pair<ClaimedBatch, std::vector<std::string>>> held;
  {
    auto db = shared_.pool.Get();
    db::Tx tx(*db, db::Tx::Sync::kOff);
    for (const auto& row : tx.Exec(sql::runner::kUnreleased, id_)) {
      ClaimedBatch b;
      b.id = row["id"].as<std::int64_t>();
      b.tag = row["tag"].as<std::string>();
      b.campaign_id = row["campaign_id"].as<std::int64_t>();
      held.emplace_back(std::move(b), db::Strings(row["remote_ids"]));
    }
  }
  for (const auto& [batch, ids] : held) Release(batch, ids);
}

void ClusterRunner::Release(const ClaimedBatch& batch, const std::vector<std::string>& ids) {
  cluster::Batch spec;
  spec.cluster_user = UserThere(batch.campaign_id);
  spec.tag = batch.tag;
  spec.campaign_id = batch.campaign_id;
  try {
    cluster_->Release(spec, ids);
  } catch (const cluster::CallFailed& e) {
    unreleased_ = true;
    return BackOff(e.what());
  }
  auto db = shared_.pool.Get();
  db::Tx tx(*db);
  tx.Exec(sql::runner::kMarkReleased, batch.id);
  tx.Commit();
}

void ClusterRunner::BackOff(const std::string& why) {
  const double s = std::min(60.0, 0.05 * static_cast<double>(1 << std::min(refusals_++, 11)));
  not_before_ = Clock::now() + milliseconds(static_cast<int>(s * 1000));
  if (refusals_ == 1 || refusals_ % 10 == 0)
    log::warn("[{}] nothing is sent for {}: {}", name_, HumanSpan(s), why);
  shared_.waker.WakeIn(milliseconds(static_cast<int>(s * 1000) + 5));
}

// Parameters may be long: what does not fit into one POST is cut anew, by its mean size.
bool ClusterRunner::TooLarge(const ClaimedBatch& batch, const cluster::Batch& spec) {
  if (spec.elements.size() < 2) return false;
  std::size_t bytes = 0;
  for (const auto& e : spec.elements) bytes += e.command.size();
  if (bytes <= caps_.max_bytes) return false;
  const auto mean = bytes / spec.elements.size() + 1;
  const int fit = static_cast<int>(caps_.max_bytes * 3 / 4 / mean);
  byte_cut_[batch.campaign_id] =
      std::max(1, std::min(fit, static_cast<int>(spec.elements.size()) / 2));
  return true;
}

int ClusterRunner::MaxArray() {
  if (learnt_max_array_ == 0) {
    auto db = shared_.pool.Get();
    db::Tx tx(*db, db::Tx::Sync::kOff);
    const auto rows = tx.Exec(sql::runner::kLimits, id_);
    learnt_max_array_ = rows.empty() || rows[0][0].is_null() ? caps_.max_array : rows[0][0].as<int>();
  }
  return std::min(caps_.max_array, learnt_max_array_);
}

void ClusterRunner::LearnLimit(int limit, const std::string& from) {
  learnt_max_array_ = std::max(1, limit);
  auto db = shared_.pool.Get();
  db::Tx tx(*db);
  tx.Exec(sql::runner::kLearnLimit, id_, learnt_max_array_, from);
  tx.Commit();
  log::warn("[{}] arrays are cut at {} jobs from now on: {}", name_, learnt_max_array_, from);
}

}  // namespace cigri::runner
