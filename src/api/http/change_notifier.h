// News for long polls: one session listens for all of them.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace cigri::api {

/// LISTENs on `cigri_progress` until nobody has begun to wait for 90 s. Thread-safe.
class ChangeNotifier {
 public:
  explicit ChangeNotifier(std::string conninfo) : conninfo_(std::move(conninfo)) {}
  ~ChangeNotifier();
  ChangeNotifier(const ChangeNotifier&) = delete;

  /// `tell` is called at each notice, and once when listening begins: what happened before it.
  /// Not every change is a notice, and one may be
  /// lost: 2 s later there is another.
  void OnNews(std::function<void()> tell);
  /// Somebody waits for news from now on.
  void KeepListening();
  /// Nobody waits any more.
  void Stop();
  bool stopped();
  /// The number of notices so far; they come every 2 s at least, every second while no session
  /// listens.
  std::uint64_t notices() const { return notices_; }
  /// Those who wait look again at what the caller has found.
  void Tell();

 private:
  void Listen();
  void ListenOnce();
  void Notice();
  bool IdleForLong();

  const std::string conninfo_;
  std::mutex mutex_;
  std::function<void()> tell_;
  std::thread thread_;
  bool listening_ = false, stop_ = false;
  std::atomic<std::uint64_t> notices_{0};
  int wake_fd_ = -1;
  std::chrono::steady_clock::time_point last_wait_;
};

}  // namespace cigri::api
