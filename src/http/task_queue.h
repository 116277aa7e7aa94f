// Threads for a server whose requests may wait for a long time (long polls).
#pragma once
#include <httplib.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

namespace cigri::http {

/// Starts a thread when a task finds none idle, up to `most`; a thread that has been idle for some
/// seconds ends, so an idle server keeps none but its listener.
class GrowingPool final : public httplib::TaskQueue {
 public:
  explicit GrowingPool(int most) : most_(most) {}
  void enqueue(std::function<void()> task) override;
  /// Returns when every task has run.
  void shutdown() override;

 private:
  void Work();
  const int most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  int threads_ = 0, idle_ = 0;
  bool ends_ = false;
};

}  // namespace cigri::http
