#include "http/thread_pool.h"

#include <chrono>
#include <system_error>
#include <thread>

namespace cigri::http {
namespace {
constexpr auto kIdle = std::chrono::seconds(10);
constexpr int kMostIdle = 16;  // what comes again and again keeps no more threads
}

void ThreadPool::Enqueue(std::function<void()> task) {
  std::lock_guard lock(mutex_);
  tasks_.push_back(std::move(task));
  if (static_cast<int>(tasks_.size()) > idle_ && threads_ < most_) {
    try {
      std::thread([this] { Work(); }).detach();  // Finish() waits for the count, not the thread
      ++threads_;
    } catch (const std::system_error&) {
      // No thread to be had: the task waits for one that there is.
    }
  }
  work_.notify_one();
}

void ThreadPool::Finish() {
  std::unique_lock lock(mutex_);
  ends_ = true;
  work_.notify_all();
  ended_.wait(lock, [&] { return threads_ == 0; });
}

void ThreadPool::Work() {
  std::unique_lock lock(mutex_);
  while (idle_ < kMostIdle || !tasks_.empty()) {
    ++idle_;
    work_.wait_for(lock, kIdle, [&] { return ends_ || !tasks_.empty(); });
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
  ended_.notify_all();  // under the lock: the pool may be gone right after it
}

}  // namespace cigri::http
