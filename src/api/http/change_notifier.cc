#include "api/http/change_notifier.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/log.h"
#include "db/db.h"

namespace cigri::api {
namespace {
constexpr auto kKeepListening = std::chrono::seconds(90);  // longer than a poll
constexpr int kUnsaidMs = 2000;  // not every change is a notice
}

ChangeNotifier::~ChangeNotifier() {
  Stop();
  if (thread_.joinable()) thread_.join();
  if (wake_fd_ >= 0) ::close(wake_fd_);
}

void ChangeNotifier::OnNews(std::function<void()> tell) {
  std::lock_guard lock(mutex_);
  tell_ = std::move(tell);
}

bool ChangeNotifier::stopped() {
  std::lock_guard lock(mutex_);
  return stop_;
}

void ChangeNotifier::KeepListening() {
  std::lock_guard lock(mutex_);
  last_wait_ = std::chrono::steady_clock::now();
  if (listening_ || stop_) return;
  if (thread_.joinable()) thread_.join();  // it has ended: it was idle
  if (wake_fd_ < 0) wake_fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  listening_ = true;
  thread_ = std::thread([this] { Listen(); });
}

void ChangeNotifier::Stop() {
  std::lock_guard lock(mutex_);
  stop_ = true;
  const std::uint64_t one = 1;
  if (wake_fd_ >= 0 && ::write(wake_fd_, &one, sizeof one) < 0) return;  // full: awake already
}

void ChangeNotifier::Notice() {
  ++notices_;
  Tell();
}

void ChangeNotifier::Tell() {
  std::lock_guard lock(mutex_);
  if (tell_) tell_();
}

bool ChangeNotifier::IdleForLong() {
  std::lock_guard lock(mutex_);
  if (!stop_ && std::chrono::steady_clock::now() - last_wait_ < kKeepListening) return false;
  listening_ = false;
  return true;
}

void ChangeNotifier::Listen() {
  while (!IdleForLong()) {
    try {
      ListenOnce();
      return;
    } catch (const std::exception& e) {
      log::warn("long polls: cannot listen for changes: {}", e.what());
      pollfd wake{wake_fd_, POLLIN, 0};
      ::poll(&wake, 1, 1000);
      Notice();
    }
  }
}

void ChangeNotifier::ListenOnce() {
  db::Connection connection(conninfo_, "cigri api changes");
  connection.Listen("cigri_progress");
  Notice();  // what happened before we listened
  while (!IdleForLong()) {
    pollfd fds[2] = {{connection.socket(), POLLIN, 0}, {wake_fd_, POLLIN, 0}};
    const int events = ::poll(fds, 2, kUnsaidMs);
    if (events == 0 || (events > 0 && !connection.Wait(0).empty())) Notice();
  }
}

}  // namespace cigri::api
