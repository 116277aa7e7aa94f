#include "runner/cluster_runner.h"

#include "core/log.h"

namespace cigri::runner {

ClusterRunner::ClusterRunner(const clusterdb::ClusterRow& row, std::int64_t lease, Shared& shared)
    : session_(row, lease, shared), thread_([this] {
        Loop();
        ended_ = true;
        session_.shared.waker.Wake();
      }) {}

ClusterRunner::~ClusterRunner() {
  Stop();
  thread_.join();
}

void ClusterRunner::Stop() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
}

void ClusterRunner::Wake() {
  {
    std::lock_guard lock(mutex_);
    woken_ = true;
  }
  wake_.notify_one();
}

bool ClusterRunner::AwaitWake() {
  // Somebody else's claim or change of a campaign takes milliseconds, seldom tenths of a second.
  constexpr std::chrono::milliseconds kLeftOut{50};
  std::unique_lock lock(mutex_);
  const auto woken = [&] { return woken_ || stop_; };
  if (sender_.left_out())
    wake_.wait_for(lock, kLeftOut, woken);
  else
    wake_.wait(lock, woken);
  woken_ = false;
  return !stop_;
}

bool ClusterRunner::Stopping() {
  std::lock_guard lock(mutex_);
  return stop_;
}

void ClusterRunner::Loop() {
  while (AwaitWake()) {
    try {
      Pass();
    } catch (const module::StaleEpoch&) {
      session_.shared.stale = true;
      return;
    } catch (const std::exception& e) {
      // What was intended stays intended: the next pass looks it up before it sends anything.
      outcomes_.Expect();
      if (IsOutage(e))
        session_.AwaitDatabase();
      else
        session_.BackOff(e.what());
    }
  }
}

// Another host may reach it. While the leader cannot, either, nobody is to blame here.
void ClusterRunner::ReportUnreachable() {
  const auto* limiter = session_.driver->limiter();
  const auto since = limiter == nullptr ? std::nullopt : limiter->unanswered_since();
  if (!since) reported_ = false;
  if (reported_ || !since || Clock::now() - *since < session_.shared.reach_window) return;
  session_.Transact([&](db::Tx& tx) { reported_ = session_.store.MarkUnreachable(tx); },
                    db::Tx::Sync::kOff);
  if (reported_)
    log::warn("[{}] cannot be reached from here, and the leader reaches it: another runner is to "
              "serve it",
              session_.name);
}

void ClusterRunner::Pass() {
  sender_.Begin();
  ReportUnreachable();
  if (session_.BackingOff()) return;
  outcomes_.Resolve();
  if (restored_.Adopt()) {
    outcomes_.Expect();
    outcomes_.Resolve();
  }
  if (session_.caps.hold_release) holds_.ReleaseHeld();
  if (session_.user_tokens) tokens_.Check();
  while (!Stopping() && sender_.SendSome()) {
  }
}

}  // namespace cigri::runner
