// How an engine begins: with what the last one has left.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cstring>
#include <set>

#include "core/error.h"
#include "core/log.h"
#include "localcluster/engine.h"
#include "localcluster/users.h"

namespace cigri::localcluster {
namespace {

int TakeLock(const std::string& dir) {
  const std::string path = dir + "/lock";
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0)
    throw Fatal(kExitConfig, "cannot use the folder " + dir + ": " + std::strerror(errno));
  // A job that a dead daemon was just starting holds a copy until its exec.
  for (int i = 0; i < 100; ++i) {
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
    usleep(20'000);
  }
  throw Fatal(kExitTryLater, "another localcluster serves " + dir);
}

Store OpenStore(const std::string& path) {
  try {
    return Store(path);
  } catch (const StoreError& e) {
    throw Fatal(kExitConfig, "cannot open the store " + path + ": " + e.what());
  }
}

}  // namespace

Engine::Engine(EngineOptions options)
    : options_(std::move(options)),
      lock_fd_(TakeLock(options_.launcher.state_dir)),
      store_(OpenStore(options_.launcher.state_dir + "/state.db")),
      records_(options_.launcher.state_dir),
      launcher_(options_.launcher),
      slots_(options_.launcher.cluster, options_.slots, options_.nodes) {
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  timer_ = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  for (int fd : {timer_, wake_}) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
  }
  try {
    Restore();
  } catch (const StoreError& e) {
    throw Fatal(kExitUnavailable,
                "cannot read the store in " + options_.launcher.state_dir + ": " + e.what(),
                "is the disk full?");
  }
}

Engine::~Engine() {
  for (int fd : {epoll_, timer_, wake_, lock_fd_}) close(fd);
}

void Engine::Restore() {
  Lock lock(mutex_);
  change_ = store_.ReserveChanges(200'000) - 1;
  reserved_ = change_ + 200'000;
  stored_change_ = change_;
  records_.Resume(store_.Positions());
  for (const auto& batch : store_.OpenBatches()) RestoreBatch(batch);
  for (const auto& kept : store_.Running()) RestoreRunning(kept);
  ReadRecords();
  Adopt();
  records_.Begin();
  Flush();
  store_.KeepBoot();
  store_.Prune(WallClock(), options_.max_ended);
  Schedule();
  if (live_ > 0) log::info("{} jobs go on: {} running, adopted", live_, running_.size());
}

void Engine::RestoreBatch(const StoredBatch& stored) {
  Intake in;
  try {
    // It was accepted once: today's limits do not count.
    in = ReadBatch(stored.body, {.slots = 1 << 30,
                                 .elements = 1 << 30,
                                 .grid_numbers = stored.campaign != 0});
    in.batch->account = AccountOf(stored.user);
  } catch (const Refused& e) {
    log::error("batch {} of user {}: {}", stored.seq, stored.user, e.what());
    if (in.batch == nullptr) return;
  }
  in.batch->seq = stored.seq;
  in.batch->submitted_at = stored.submitted_at;
  Enqueue(in.batch, std::move(in.jobs));
  for (int index : store_.EndedIndexes(stored.seq)) {
    Job* job = FindLive(stored.seq, index);
    if (job == nullptr) continue;
    changes_.erase(job->change);
    (job->batch->best_effort ? best_effort_ : normal_).erase({stored.seq, index});
    if (!job->batch->best_effort) waiting_local_ -= job->batch->slots;
    batches_[stored.seq].jobs[static_cast<std::size_t>(index)].reset();
    Count(*in.batch, -1);
    if (--batches_[stored.seq].left > 0) continue;
    closed_.push_back(stored.seq);
    batches_.erase(stored.seq);
    break;
  }
}

void Engine::RestoreRunning(const Kept& kept) {
  Job* job = FindLive(kept.seq, kept.index);
  if (job == nullptr || job->state == State::kRunning) return;
  BecomesRunning(job, kept.pid, kept.started_at, kept.places, kept.segment);
  job->marked = job->kept = true;
}

// What was running and has not ended by the records: lives, or has been lost.
void Engine::Adopt() {
  std::vector<Job*> unclear;
  const auto running = running_;
  for (const auto& [no, job] : running) {
    Watch(job);
    if (!store_.rebooted() && job->exit &&
        IsWrapperOf(job->pid, IdOf(job->batch->seq, job->index)))
      continue;
    unclear.push_back(job);
  }
  std::set<std::pair<std::int64_t, int>> ids;
  for (Job* job : unclear) {
    // A stranger may have got the number of a process that is gone.
    by_exit_.erase(job->exit.get());
    job->exit.Close();
    ids.emplace(job->batch->seq, job->index);
  }
  ReadRecords();  // it may have ended between the first look and the second
  for (const auto& [seq, index] : ids) {
    Job* job = FindLive(seq, index);
    if (job == nullptr) continue;
    if (store_.rebooted())
      End(job, Cause::kNodeFailed, -1, job->started_at, WallClock(), "the machine was restarted");
    else
      Lost(job);
  }
}

}  // namespace cigri::localcluster
