// Wakes long polls: one session listens for all of them.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace cigri::api {

/// LISTENs on `cigri_progress` while somebody waits, and for a minute after. A lost notice or
/// session costs a waiter its time-out, nothing else. Thread-safe.
class ChangeNotifier {
 public:
  explicit ChangeNotifier(std::string conninfo) : conninfo_(std::move(conninfo)) {}
  ~ChangeNotifier();
  ChangeNotifier(const ChangeNotifier&) = delete;

  /// What has been received so far: take it, look at the database, then WaitBeyond(it).
  std::uint64_t Received();
  /// Returns at the first notice after `received` was taken, or after `ms`, or at Stop().
  void WaitBeyond(std::uint64_t received, int ms);
  /// Wakes everybody; nobody waits any more.
  void Stop();
  bool stopped();

 private:
  void Listen();
  void ListenOnce();
  void NotifyAll();
  bool IdleForLong();

  const std::string conninfo_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread thread_;
  bool listening_ = false, stop_ = false;
  int wake_fd_ = -1;
  std::uint64_t received_ = 0;
  std::chrono::steady_clock::time_point last_wait_;
};

}  // namespace cigri::api
