#include "runner/cluster_runner.h"

#include <sql/batches.h>
#include <sql/clusters.h>
#include <sql/users.h>

#include <map>
#include <set>

#include "core/log.h"
#include "core/text.h"
#include "module/events.h"

namespace cigri::runner {

using std::chrono::milliseconds;

namespace {
constexpr milliseconds kTokensEvery{5000};
constexpr int kCallsOfSubmission =
    4;  // at most, on the dearest kind: what it may do, POST, release

std::size_t BytesOf(const cluster::Batch& spec) {
  std::size_t bytes = 0;
  for (const auto& e : spec.elements) bytes += e.command.size();
  return bytes;
}
}  // namespace

ClusterRunner::ClusterRunner(const clusterdb::ClusterRow& row, Shared& shared)
    : id_(row.config.id),
      name_(row.config.name),
      shared_(shared),
      store_(row.config.id, shared.grid_id, shared.epoch),
      cluster_(clusterdb::MakeDriver(row, shared.conninfo, clusterdb::Caller::kRunner)),
      caps_(cluster_->capabilities()),
      tokens_(row.config.auth_type == "jwt") {
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
      doubts_ = true;
      BackOff(e.what());
    }
  }
}

void ClusterRunner::Pass() {
  if (Clock::now() < not_before_) return;
  if (doubts_) ClearDoubts();
  if (caps_.hold_release) ReleaseHeld();
  if (tokens_) LookAtTokens();
  while (MayCall() && ClaimAndSend()) {
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
    ReadLimits();
    const int usual = max_array_;
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
    return Refused(batch,
                   {cluster::SubmitRefused::Why::kTemporary, "its time to be sent had passed"});
  std::vector<std::string> ids;
  spec.send_by = claimed_at + std::chrono::seconds(shared_.send_window_s) - milliseconds(500);
  try {
    ids = cluster_->Submit(spec);
  } catch (const cluster::SubmitRefused& e) {
    return Refused(batch, e, BytesOf(spec));
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

void ClusterRunner::Refused(const ClaimedBatch& batch, const cluster::SubmitRefused& e,
                            std::size_t bytes) {
  using Why = cluster::SubmitRefused::Why;
  const auto user = UserThere(batch.campaign_id);
  {
    auto db = shared_.pool.Get();
    db::Tx tx(*db);
    store_.GiveBack(tx, batch, BatchState::kRefused, e.what());
    Tell(tx, batch, e, user, bytes);
    tx.Commit();
  }
  log::warn("[{}] cannot submit {} jobs of campaign {}: {}", name_, batch.tasks.size(),
            batch.campaign_id, e.what());
  if (e.why() == Why::kTemporary || (e.why() == Why::kLimit && batch.tasks.size() == 1))
    BackOff(e.what());
}

// What a refusal means to people. A limit is learnt while there is something to cut.
void ClusterRunner::Tell(db::Tx& tx, const ClaimedBatch& batch, const cluster::SubmitRefused& e,
                         const std::string& user, std::size_t bytes) {
  using Why = cluster::SubmitRefused::Why;
  if (e.why() == Why::kTemporary) return;
  const bool size = e.why() == Why::kLimit || e.why() == Why::kBytes;
  if (size && batch.tasks.size() > 1) return LearnLimit(tx, batch, e, bytes);
  if (e.why() == Why::kLimit) return;  // too many jobs there already: later
  module::Event event{
      .cls = "campaign", .code = "SUBMIT_REFUSED", .message = name_ + ": " + e.what()};
  if (e.why() == Why::kToken) {
    event.code = "TOKEN_MISSING";
    event.sample = {{"user", user}};
    shared_.waker.WakeIn(kTokensEvery);
  }
  event.campaign_id = batch.campaign_id;
  event.cluster_id = id_;
  event.message = ValidUtf8(event.message);
  module::RaiseEvent(tx, event);
}

// Campaigns that wait for a token go on as soon as there is one that is not known to be refused;
// and whose token ends before the campaign does is told so.
void ClusterRunner::LookAtTokens() {
  if (Clock::now() < tokens_at_) return;
  tokens_at_ = Clock::now() + kTokensEvery;
  std::map<std::int64_t, std::string> waiting;
  std::set<std::int64_t> over;
  {
    auto db = shared_.pool.Get();
    db::Tx tx(*db, db::Tx::Sync::kOff);
    for (const auto& row : tx.Exec(sql::kMissingTokens, id_)) {
      waiting[row.campaign_id] = row.cluster_login;
      if (!row.alive) over.insert(row.campaign_id);
    }
    for (const auto& row : tx.Exec(sql::kExpiringTokens, id_)) {
      module::Event e{.cls = "notify", .code = "TOKEN_EXPIRES", .message = ""};
      e.campaign_id = row.id;
      e.cluster_id = id_;
      e.message = name_ + ": your token expires in " + HumanSpan(row.token_s) +
                  ", the campaign is expected to end in " + HumanSpan(row.end_s);
      if (row.tell)
        module::RaiseEvent(tx, e);
      else
        module::CloseEvent(tx, e, "runner");
    }
    tx.Commit();
  }
  for (const auto& [campaign, user] : waiting) {
    if (over.count(campaign) == 0 && !cluster_->CredentialTrouble(user).empty()) continue;
    auto db = shared_.pool.Get();
    db::Tx tx(*db);
    module::Event e{.cls = "campaign", .code = "TOKEN_MISSING", .message = ""};
    e.campaign_id = campaign;
    e.cluster_id = id_;
    module::CloseEvent(tx, e, "runner");
    tx.Commit();
    if (over.count(campaign) == 0)
      log::info("[{}] user {} has a token again: campaign {} goes on", name_, user, campaign);
    shared_.waker.Wake();
  }
  if (!waiting.empty()) shared_.waker.WakeIn(kTokensEvery);
}

// Before anything is claimed: a claim that may not be sent would only be given back.
bool ClusterRunner::MayCall() {
  auto* gate = cluster_->gate();
  const double wait_s = gate == nullptr ? 0 : gate->WaitFor(kCallsOfSubmission);
  if (wait_s <= 0) return true;
  shared_.waker.WakeIn(milliseconds(static_cast<int>(std::min(wait_s, 60.0) * 1000) + 10));
  return false;
}

module::Event ClusterRunner::DoubtEvent(const std::string& why) const {
  module::Event e{.cls = "cluster", .code = "SUBMIT_IN_DOUBT"};
  e.message =
      name_ + ": nobody knows whether a submission was taken, it is being looked up: " + why;
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
    // Whoever intended these is gone (this thread has nothing on its way here): perhaps they were
    // sent.
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
  const bool final =
      AbsenceIsFinal({found.complete, found.fenced, open.send_over, open.looks, open.quiet_s,
                      static_cast<double>(caps_.absence_delay.count())});
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
  const auto rows = tx.Exec(sql::kClusterLogin, campaign, id_);
  return rows.empty() ? "" : rows[0].login;
}

void ClusterRunner::ReleaseHeld() {
  struct Held {
    ClaimedBatch batch;
    std::vector<std::string> ids;
    bool again;
  };
  std::vector<Held> held;
  {
    auto db = shared_.pool.Get();
    db::Tx tx(*db, db::Tx::Sync::kOff);
    for (const auto& row : tx.Exec(sql::kUnreleasedBatches, id_)) {
      ClaimedBatch b;
      b.id = row.id;
      b.tag = row.tag;
      b.campaign_id = row.campaign_id;
      held.push_back({std::move(b), row.remote_ids, row.again});
    }
    tx.Commit();
  }
  for (const auto& h : held) {
    if (h.again)
      log::warn("[{}] array {} is on hold again: released once more", name_, h.ids.at(0));
    Release(h.batch, h.ids, h.again);
  }
}

void ClusterRunner::Release(const ClaimedBatch& batch, const std::vector<std::string>& ids,
                            bool again) {
  cluster::Batch spec;
  spec.cluster_user = UserThere(batch.campaign_id);
  spec.tag = batch.tag;
  spec.campaign_id = batch.campaign_id;
  try {
    cluster_->Release(spec, ids);
  } catch (const cluster::CallFailed& e) {
    if (!again) return BackOff(e.what());
    return log::warn("[{}] {}", name_, e.what());  // the updator tells of it again
  }
  if (again) return;
  auto db = shared_.pool.Get();
  db::Tx tx(*db);
  tx.Exec(sql::kMarkReleased, batch.id);
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
  const auto bytes = BytesOf(spec);
  if (bytes <= max_bytes_) return false;
  const auto mean = bytes / spec.elements.size() + 1;
  const int fit = static_cast<int>(max_bytes_ * 3 / 4 / mean);
  byte_cut_[batch.campaign_id] =
      std::max(1, std::min(fit, static_cast<int>(spec.elements.size()) / 2));
  return true;
}

void ClusterRunner::ReadLimits() {
  if (max_array_ > 0) return;
  auto db = shared_.pool.Get();
  db::Tx tx(*db, db::Tx::Sync::kOff);
  const auto rows = tx.Exec(sql::kClusterLimits, id_);
  max_array_ = caps_.max_array;
  max_bytes_ = caps_.max_bytes;
  if (rows.empty()) return;
  max_array_ = std::min(max_array_, rows[0].max_array.value_or(max_array_));
  max_bytes_ = std::min(
      max_bytes_, static_cast<std::size_t>(rows[0].max_bytes.value_or(INT64_MAX)));
}

// Half of what was refused, or what the cluster said itself.
void ClusterRunner::LearnLimit(db::Tx& tx, const ClaimedBatch& batch,
                               const cluster::SubmitRefused& e, std::size_t bytes) {
  std::optional<int> jobs;
  std::optional<std::int64_t> most_bytes;
  if (e.why() == cluster::SubmitRefused::Why::kBytes) {
    max_bytes_ = std::min(max_bytes_, std::max<std::size_t>(1, bytes / 2));
    most_bytes = static_cast<std::int64_t>(max_bytes_);
  } else {
    const int half = static_cast<int>(batch.tasks.size() / 2);
    max_array_ = std::min(max_array_, std::max(1, e.limit() > 0 ? e.limit() : half));
    jobs = max_array_;
  }
  tx.Exec(sql::kLearnLimit, id_, jobs, most_bytes, ValidUtf8(e.what()));
  module::Event event{.cls = "log", .code = "LIMIT_LEARNT", .message = ""};
  event.cluster_id = id_;
  event.message = name_ + ": arrays are cut at " +
                  (jobs ? std::to_string(*jobs) + " jobs"
                        : std::to_string(*most_bytes) + " bytes of commands") +
                  " from now on: " + ValidUtf8(e.what());
  module::RaiseEvent(tx, event);
  log::warn("{}", event.message);
}

}  // namespace cigri::runner
