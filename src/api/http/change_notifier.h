// News for long polls: one session listens for all of them.
#pragma once
#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace cigri::api {

/// LISTENs on `cigri_progress` for a minute after somebody has waited. A lost notice or session
/// costs a waiter its time-out, nothing else. Thread-safe.
class ChangeNotifier {
 public:
  explicit ChangeNotifier(std::string conninfo) : conninfo_(std::move(conninfo)) {}
  ~ChangeNotifier();
  ChangeNotifier(const ChangeNotifier&) = delete;

  /// `tell` is called at each notice, and once when listening begins: what happened before it.
  void OnNews(std::function<void()> tell);
  /// Somebody waits for news from now on.
  void KeepListening();
  /// Nobody waits any more.
  void Stop();
  bool stopped();

 private:
  void Listen();
  void ListenOnce();
  void NotifyAll();
  bool IdleForLong();

  const std::string conninfo_;
  std::mutex mutex_;
  std::function<void()> tell_;
  std::thread thread_;
  bool listening_ = false, stop_ = false;
  int wake_fd_ = -1;
  std::chrono::steady_clock::time_point last_wait_;
};

}  // namespace cigri::api
