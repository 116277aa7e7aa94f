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
class News {
 public:
  explicit News(std::string conninfo) : conninfo_(std::move(conninfo)) {}
  ~News();
  News(const News&) = delete;

  /// What has been heard so far: take it, look at the database, then WaitBeyond(it).
  std::uint64_t Heard();
  /// Returns at the first notice after `heard` was taken, or after `ms`, or at Stop().
  void WaitBeyond(std::uint64_t heard, int ms);
  /// Wakes everybody; nobody waits any more.
  void Stop();
  bool stopped();

 private:
  void Listen();
  void ListenOnce();
  void Tell();
  bool IdleForLong();

  const std::string conninfo_;
  std::mutex mutex_;
  std::condition_variable told_;
  std::thread thread_;
  bool listening_ = false, stop_ = false;
  int wake_fd_ = -1;
  std::uint64_t heard_ = 0;
  std::chrono::steady_clock::time_point last_wait_;
};

}  // namespace cigri::api
