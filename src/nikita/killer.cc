#include "nikita/killer.h"

namespace cigri::nikita {

Killer::Killer(std::unique_ptr<cluster::Cluster> driver, module::Waker& waker)
    : driver_(std::move(driver)), waker_(waker), thread_([this] { Loop(); }) {}

Killer::~Killer() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

bool Killer::busy() {
  std::lock_guard lock(mutex_);
  return !jobs_.empty();
}

void Killer::Kill(std::vector<cluster::RemoteRef> jobs) {
  {
    std::lock_guard lock(mutex_);
    jobs_ = std::move(jobs);
  }
  changed_.notify_all();
}

std::vector<Outcome> Killer::Take() {
  std::lock_guard lock(mutex_);
  return std::exchange(outcomes_, {});
}

void Killer::Loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stop_ || !jobs_.empty(); });
    if (stop_) return;
    const auto jobs = jobs_;
    lock.unlock();
    auto outcome = Call(jobs);
    lock.lock();
    jobs_.clear();
    outcomes_.push_back(std::move(outcome));
    waker_.Wake();
  }
}

Outcome Killer::Call(const std::vector<cluster::RemoteRef>& jobs) {
  Outcome outcome;
  const auto failed = [&](const cluster::RemoteRef& ref, const std::string& why) {
    if (ref.job_id == 0)
      outcome.duplicates[ref.remote_id] = why;
    else
      outcome.failed.emplace_back(ref.job_id, why);
  };
  try {
    const auto result = driver_->Kill(jobs);
    for (const auto& [ref, why] : result.failed) failed(ref, why);
    for (const auto& ref : result.begun) outcome.begun.push_back(ref.job_id);
    for (const auto& ref : result.gone)
      if (ref.job_id == 0) outcome.duplicates[ref.remote_id] = "";
  } catch (const std::exception& e) {
    for (const auto& job : jobs) failed(job, e.what());
  }
  return outcome;
}

}  // namespace cigri::nikita
