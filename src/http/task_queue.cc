#include "http/task_queue.h"

#include <chrono>
#include <thread>

namespace cigri::http {
namespace {
constexpr auto kIdle = std::chrono::seconds(10);
}

void GrowingPool::enqueue(std::function<void()> task) {
  std::lock_guard lock(mutex_);
  tasks_.push_back(std::move(task));
  if (static_cast<int>(tasks_.size()) > idle_ && threads_ < most_) {
    try {
      std::thread([this] { Work(); }).detach();  // shutdown() waits for the count, not the thread
      ++threads_;
    } catch (const std::system_error&) {
      // No thread to be had: the task waits for one that there is.
    }
  }
  changed_.notify_all();
}

void GrowingPool::shutdown() {
  std::unique_lock lock(mutex_);
  ends_ = true;
  changed_.notify_all();
  changed_.wait(lock, [&] { return threads_ == 0; });
}

void GrowingPool::Work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    changed_.wait_for(lock, kIdle, [&] { return ends_ || !tasks_.empty(); });
    --idle_;
    if (tasks_.empty()) break;  // idle for long, or the end
    auto task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
  }
  --threads_;
  changed_.notify_all();  // under the lock: the pool may be gone right after it
}

}  // namespace cigri::http
