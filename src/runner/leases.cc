#include "runner/leases.h"

#include <sql/leases.h>
#include <unistd.h>

#include <algorithm>

#include "core/config.h"
#include "core/log.h"
#include "core/text.h"

namespace cigri::runner {
namespace {

using std::chrono::milliseconds;

// A runner that has just begun follows one that has just ended, whose sessions may need a moment.
constexpr milliseconds kHurry{50}, kHurryFor{2000}, kRetry{200};
// How often it looks whether another runner has gone.
constexpr milliseconds kLookAfterOthers{1000};

double SecondsOf(milliseconds time) { return static_cast<double>(time.count()) / 1000; }

std::vector<LeasedCluster> LoadLeases(db::Tx& tx) {
  std::vector<LeasedCluster> clusters;
  for (auto& row : tx.Exec(sql::kClusterLeases))
    clusters.push_back({row.cluster_id, row.epoch, row.runner_id.value_or(""),
                        row.due_runner_id.value_or(""), std::move(row.name), row.has_home});
  return clusters;
}

}  // namespace

Leases::Leases(std::string conninfo, module::Term term, module::Waker& waker)
    : conninfo_(std::move(conninfo)),
      id_(RandomHex(12)),
      term_(term),
      waker_(waker),
      hurry_until_(Clock::now() + kHurryFor) {
  Turn();
  thread_ = std::thread([this] { Loop(); });
}

Leases::~Leases() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  thread_.join();
  try {
    if (!db_ || !db_->alive()) return;
    db::Tx tx(*db_, db::Tx::Sync::kOff);
    tx.Exec(sql::kRemoveRunner, id_);
    tx.Commit();
  } catch (const std::exception&) {  // its session ends, and its lease with it
  }
}

std::map<std::int64_t, std::int64_t> Leases::Held() {
  std::lock_guard lock(mutex_);
  return held_;
}

bool Leases::Over() {
  std::lock_guard lock(mutex_);
  return Clock::now() >= ends_;
}

std::set<std::int64_t> Leases::ToGive() {
  std::lock_guard lock(mutex_);
  return to_give_;
}

void Leases::Ended(std::int64_t cluster) {
  {
    std::lock_guard lock(mutex_);
    ended_.insert(cluster);
    look_ = true;
  }
  wake_.notify_one();
}

void Leases::Expect(std::int64_t cluster) {
  {
    std::lock_guard lock(mutex_);
    if (known_.count(cluster) != 0) return;
    look_ = true;
  }
  wake_.notify_one();
}

milliseconds Leases::Pause() const {
  if (failed_) return kRetry;
  if (!complete_ && Clock::now() < hurry_until_) return kHurry;
  if (Clock::now() < others_return_) return kRetry;
  return others_ ? std::min(kLookAfterOthers, term_.renew_every()) : term_.renew_every();
}

void Leases::Loop() {
  for (std::unique_lock lock(mutex_); !stop_ && !lost_; lock.lock()) {
    wake_.wait_for(lock, Pause(), [&] { return stop_ || look_; });
    if (stop_) return;
    look_ = false;
    lock.unlock();
    try {
      if (Turn()) waker_.Wake();
      failed_ = false;
    } catch (const std::exception& e) {
      if (!failed_) log::warn("cannot renew its lease: {}", e.what());
      failed_ = true;
      others_return_ = Clock::time_point::max();
    }
  }
}

// True when the pass of the runner has something to do about it.
bool Leases::Turn() {
  if (!db_ || !db_->alive())
    db_ = std::make_unique<db::Connection>(conninfo_, "cigri runner", term_.patience());
  const bool resumed = Over();
  GiveEnded();
  std::vector<LeasedCluster> clusters;
  std::vector<std::string> living;
  const auto began = Clock::now();
  {
    db::Tx tx(*db_, db::Tx::Sync::kOff);
    if (!Renew(tx)) return true;
    for (auto& row : tx.Exec(sql::kLivingRunners)) living.push_back(std::move(row.id));
    clusters = LoadLeases(tx);
    tx.Commit();
  }
  Renewed(began);
  if (std::find(living.begin(), living.end(), id_) == living.end()) living.push_back(id_);
  const auto version = version_.load();
  Settle(clusters);
  if (lost_) return true;
  const Share share = ShareOf(id_, living, clusters);
  complete_ = share.complete;
  others_ = living.size() > 1;
  const auto now = Clock::now();
  if (others_return_ == Clock::time_point::max()) others_return_ = now + term_.renew_every();
  for (const auto& cluster : share.take)
    if (now >= others_return_ || !cluster.due_runner.empty()) Take(cluster);
  std::lock_guard lock(mutex_);
  to_give_ = {share.give.begin(), share.give.end()};
  return resumed || !to_give_.empty() || version != version_;
}

// The first time it makes its row. Later there is none when the database is of an older state.
bool Leases::Renew(db::Tx& tx) {
  if (!added_) {
    tx.Exec(sql::kAddRunner, id_, HostName(), HostName() + ":" + CigriHome(),
            static_cast<int>(getpid()), SecondsOf(term_.length));
  } else if (tx.Exec(sql::kRenewRunner, id_, SecondsOf(term_.length)) == 0) {
    log::warn("the database does not know this runner any more");
    lost_ = true;
  }
  return !lost_;
}

void Leases::Renewed(Clock::time_point began) {
  added_ = true;
  std::lock_guard lock(mutex_);
  ends_ = began + term_.length;
}

void Leases::GiveEnded() {
  std::map<std::int64_t, std::int64_t> ended;
  {
    std::lock_guard lock(mutex_);
    for (const auto id : ended_)
      if (const auto it = held_.find(id); it != held_.end()) ended.insert(*it);
    ended_.clear();
    for (const auto& [id, epoch] : ended) held_.erase(id), to_give_.erase(id);
  }
  if (ended.empty()) return;
  ++version_;
  db::Tx tx(*db_);
  for (const auto& [id, epoch] : ended) tx.Exec(sql::kGiveCluster, id, epoch);
  tx.Commit();
}

// Compares with what it believes. It may have taken a cluster without learning of it; and what
// nobody has taken is still its own, also when its term was over for a moment.
void Leases::Settle(std::vector<LeasedCluster>& clusters) {
  std::lock_guard lock(mutex_);
  known_.clear();
  for (auto& cluster : clusters) {
    known_.insert(cluster.id);
    const auto it = held_.find(cluster.id);
    if (it == held_.end() && cluster.runner == id_) {
      held_[cluster.id] = cluster.epoch;
      ++version_;
    } else if (it != held_.end() && it->second != cluster.epoch) {
      log::warn("[{}] another runner has taken this cluster", cluster.name);
      lost_ = true;
    } else if (it != held_.end()) {
      cluster.runner = id_;
    }
  }
  if (std::erase_if(held_, [&](const auto& one) { return known_.count(one.first) == 0; }) > 0)
    ++version_;
}

void Leases::Take(const LeasedCluster& cluster) {
  constexpr const char* kLockNotAvailable = "55P03";
  std::optional<std::int64_t> epoch;
  try {
    db::Tx tx(*db_);
    tx.Raw("SET LOCAL lock_timeout = " + std::to_string(term_.patience().count() / 4));
    if (const auto row = tx.First(sql::kTakeCluster, cluster.id, id_, cluster.epoch))
      epoch = row->epoch;
    tx.Commit();
  } catch (const db::SqlError& e) {
    if (e.sqlstate() != kLockNotAvailable) throw;
    db::Tx tx(*db_);
    const auto ended = tx.Exec(sql::kEndTransactionsOfCluster, cluster.id).size();
    tx.Commit();
    log::warn("[{}] {} transactions of its last runner are ended", cluster.name, ended);
    std::lock_guard lock(mutex_);
    look_ = true;
    return;
  }
  if (!epoch) return;
  if (*epoch > 1) log::info("[{}] is served by this runner from now on", cluster.name);
  std::lock_guard lock(mutex_);
  held_[cluster.id] = *epoch;
  ++version_;
}

}  // namespace cigri::runner
