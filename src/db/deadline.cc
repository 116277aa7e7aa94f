#include "db/deadline.h"

#include <libpq-fe.h>
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
using End = Deadline::End;
// With an answer to the question (2 s) and a new session a reader waits less than 5 s.
constexpr std::chrono::milliseconds kAskAfter{500}, kAskEvery{1000};

// Asks for no session, so it needs no rights. A server that starts or refuses sessions answers.
bool Answers(const std::string& server) {
  return PQping((server + " connect_timeout=2").c_str()) != PQPING_NO_RESPONSE;
}

// One thread for all sessions of the process. It is started with the first deadline.
class Watch {
 public:
  static Watch& OfProcess() {
    static auto* watch = new Watch;  // never destroyed: sessions may end after main()
    return *watch;
  }
  std::uint64_t Add(int fd, Clock::time_point end, std::string server) {
    const std::lock_guard lock(mutex_);
    if (!started_) Start();
    const auto ask = Clock::now() + kAskAfter;
    waits_[++last_] = {fd, end, ask, std::move(server), End::kNone};
    // Most statements end long before: they must not wake the thread, which looks twice a second.
    if (std::min(end, ask) < wakes_at_) changed_.notify_one();
    return last_;
  }
  void Remove(std::uint64_t id) {
    const std::lock_guard lock(mutex_);
    waits_.erase(id);
  }
  End Ended(std::uint64_t id) {
    const std::lock_guard lock(mutex_);
    return waits_.at(id).ended;
  }
  std::uint64_t AddSession(int fd, std::string server) {
    const std::lock_guard lock(mutex_);
    sessions_[++last_] = {fd, std::move(server)};
    return last_;
  }
  void RemoveSession(std::uint64_t id) {
    const std::lock_guard lock(mutex_);
    sessions_.erase(id);
  }
  bool IsSilent(std::uint64_t id) {
    const std::lock_guard lock(mutex_);
    return sessions_.at(id).silent;
  }

 private:
  struct Wait {
    int fd;
    Clock::time_point end, ask;
    std::string server;
    End ended;
    void Cut(End why) {
      ended = why;
      shutdown(fd, SHUT_RDWR);
    }
  };

  struct Session {
    int fd = -1;
    std::string server;
    bool silent = false;
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
  Clock::time_point NextTime() const {
    auto next = Clock::time_point::max();
    for (const auto& [id, wait] : waits_)
      if (wait.ended == End::kNone) next = std::min({next, wait.end, wait.ask});
    return next;
  }
  void Run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wakes_at_ = NextTime();
      if (wakes_at_ == Clock::time_point::max())
        changed_.wait(lock);
      else
        changed_.wait_until(lock, wakes_at_);
      std::string ask;
      for (auto& [id, wait] : waits_) {
        if (wait.ended != End::kNone) continue;
        if (wait.end <= Clock::now())
          wait.Cut(End::kLimit);
        else if (wait.ask <= Clock::now())
          ask = wait.server;
      }
      if (!ask.empty()) Ask(ask, lock);
    }
  }
  void Ask(const std::string& server, std::unique_lock<std::mutex>& lock) {
    lock.unlock();
    const bool answers = Answers(server);
    lock.lock();
    for (auto& [id, wait] : waits_) {
      if (wait.ended != End::kNone || wait.server != server) continue;
      if (!answers)
        wait.Cut(End::kServerSilent);
      else if (wait.ask <= Clock::now())
        wait.ask = Clock::now() + kAskEvery;
    }
    for (auto& [id, session] : sessions_) {
      if (answers || session.server != server) continue;
      session.silent = true;
      shutdown(session.fd, SHUT_RDWR);
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint64_t, Wait> waits_;
  std::map<std::uint64_t, Session> sessions_;
  Clock::time_point wakes_at_ = Clock::time_point::max();
  std::uint64_t last_ = 0;
  bool started_ = false;
};

}  // namespace

Deadline::Deadline(int fd, std::chrono::milliseconds limit, std::string server) {
  if (fd >= 0 && limit.count() > 0)
    id_ = Watch::OfProcess().Add(fd, Clock::now() + limit, std::move(server));
}
Deadline::~Deadline() {
  if (id_ != 0) Watch::OfProcess().Remove(id_);
}
End Deadline::ended() const { return id_ != 0 ? Watch::OfProcess().Ended(id_) : End::kNone; }

OpenSession::OpenSession(int fd, std::string server)
    : id_(Watch::OfProcess().AddSession(fd, std::move(server))) {}
OpenSession::~OpenSession() { Watch::OfProcess().RemoveSession(id_); }
bool OpenSession::silent() const { return Watch::OfProcess().IsSilent(id_); }

std::string ServerName(const std::string& host, const std::string& port) {
  return "host='" + host + "' port=" + port;
}

}  // namespace cigri::db
