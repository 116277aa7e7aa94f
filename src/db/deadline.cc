#include "db/deadline.h"

#include <pthread.h>
#include <sys/socket.h>

#include <condition_variable>
#include <csignal>
#include <map>
#include <mutex>
#include <thread>

namespace cigri::db {
namespace {

using Clock = std::chrono::steady_clock;

// One thread for all sessions of the process. It is started with the first deadline.
class Watch {
 public:
  static Watch& OfProcess() {
    static auto* watch = new Watch;  // never destroyed: sessions may end after main()
    return *watch;
  }
  std::uint64_t Add(int fd, Clock::time_point end) {
    const std::lock_guard lock(mutex_);
    if (!started_) Start();
    const bool first = waits_.empty() || end < FirstEnd();
    waits_[++last_] = {fd, end, false};
    if (first) changed_.notify_one();
    return last_;
  }
  void Remove(std::uint64_t id) {
    const std::lock_guard lock(mutex_);
    waits_.erase(id);
  }
  bool Passed(std::uint64_t id) {
    const std::lock_guard lock(mutex_);
    return waits_.at(id).passed;
  }

 private:
  struct Wait {
    int fd;
    Clock::time_point end;
    bool passed;
  };

  // Signals are for the threads of the program that wait for them.
  void Start() {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread([this] { Run(); }).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    started_ = true;
  }
  Clock::time_point FirstEnd() const {
    auto first = Clock::time_point::max();
    for (const auto& [id, wait] : waits_)
      if (!wait.passed) first = std::min(first, wait.end);
    return first;
  }
  void Run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      const auto end = FirstEnd();
      if (end == Clock::time_point::max())
        changed_.wait(lock);
      else
        changed_.wait_until(lock, end);
      for (auto& [id, wait] : waits_) {
        if (wait.passed || wait.end > Clock::now()) continue;
        wait.passed = true;
        shutdown(wait.fd, SHUT_RDWR);
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint64_t, Wait> waits_;
  std::uint64_t last_ = 0;
  bool started_ = false;
};

}  // namespace

Deadline::Deadline(int fd, std::chrono::milliseconds limit) {
  if (fd >= 0 && limit.count() > 0) id_ = Watch::OfProcess().Add(fd, Clock::now() + limit);
}
Deadline::~Deadline() {
  if (id_ != 0) Watch::OfProcess().Remove(id_);
}
bool Deadline::passed() const { return id_ != 0 && Watch::OfProcess().Passed(id_); }

}  // namespace cigri::db
