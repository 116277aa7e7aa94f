// Threads that come and go with the work.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

namespace cigri::http {

/// Starts a thread when a task finds none idle, up to `most`; a thread that has been idle for some
/// seconds ends, so an idle server keeps none but its listener.
class ThreadPool {
 public:
  explicit ThreadPool(int most) : most_(most) {}
  /// May be called by a task.
  void Enqueue(std::function<void()> task);
  /// Returns when every task has run. Called once.
  void Finish();

 private:
  void Work();
  const int most_;
  std::mutex mutex_;
  std::condition_variable work_, ended_;
  std::deque<std::function<void()>> tasks_;
  int threads_ = 0, idle_ = 0;
  bool ends_ = false;
};

}  // namespace cigri::http
