#include "localcluster/engine.h"

#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "core/log.h"
#include "localcluster/users.h"

namespace cigri::localcluster {
namespace {

using std::chrono::milliseconds;

// Ends are written to the store this long after they happened, or in blocks of this many. A crash
// in between costs nothing: the record files tell them again.
constexpr milliseconds kWriteAfter{250};
constexpr std::size_t kWriteBlock = 2000;
// With a store that cannot be written, so many ends are kept in memory; then nothing starts.
constexpr std::size_t kMostUnwritten = 50'000;
constexpr std::int64_t kSegmentBytes = 8 << 20;

void AddToEpoll(int epoll, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

void Drain(int fd) {
  std::uint64_t ignored;
  while (read(fd, &ignored, sizeof ignored) > 0) {
  }
}

bool HasFired(int fd) {
  pollfd p{fd, POLLIN, 0};
  return poll(&p, 1, 0) > 0;
}

}  // namespace

Engine::Accepted Engine::Submit(const std::string& body, const Caller& caller) {
  IntakeLimits limits{.slots = options_.slots, .grid_numbers = caller.trusted};
  if (!caller.trusted) limits.walltime_s = options_.max_walltime_s;
  Intake in = ReadBatch(body, limits);
  if (!caller.MayActFor(in.batch->user))
    throw Refused(403, "user", "you may not submit jobs for \"" + in.batch->user + "\"");
  in.batch->account = AccountOf(in.batch->user);
  Lock lock(mutex_);
  if (store_.IsRevoked(in.batch->tag))
    throw Refused(409, "revoked",
                  "the tag " + in.batch->tag + " was given up and can never be submitted");
  if (const auto first = store_.FindTag(in.batch->tag)) {
    if (first->user != in.batch->user)
      throw Refused(409, "batch", "the tag " + in.batch->tag + " belongs to another user");
    return {first->seq, first->n};
  }
  if (draining_ || stopping_) throw Refused(503, "temporary", "the cluster is being stopped");
  CheckRoom(*in.batch, caller.trusted);
  in.batch->submitted_at = WallClock();
  try {
    in.batch->seq = store_.AddBatch(in.batch->tag, in.batch->user, in.batch->campaign, in.batch->n,
                                    body, in.batch->submitted_at);
  } catch (const StoreError& e) {
    log::error("cannot keep a batch of {} jobs: {}", in.batch->n, e.what());
    throw Refused(507, "temporary", std::string("cannot keep the batch: ") + e.what());
  }
  const Accepted accepted{in.batch->seq, in.batch->n};
  Enqueue(in.batch, std::move(in.jobs));
  Schedule();
  return accepted;
}

void Engine::CheckRoom(const Batch& batch, bool trusted) const {
  if (live_ + batch.n > options_.max_live)
    throw Refused(503, "limit", "more than " + std::to_string(options_.max_live) + " jobs wait",
                  static_cast<int>(std::max<std::int64_t>(0, options_.max_live - live_)));
  if (trusted) return;
  // Or one user's jobs would be all that the cluster takes, from the grid too.
  const std::int64_t most = options_.max_live / 10;
  const auto it = users_live_.find(batch.user);
  const std::int64_t has = it == users_live_.end() ? 0 : it->second;
  if (has + batch.n > most)
    throw Refused(429, "limit",
                  "a user may have " + std::to_string(most) + " jobs waiting and running here, " +
                      batch.user + " has " + std::to_string(has) + " (the limit local-jobs)",
                  static_cast<int>(std::max<std::int64_t>(0, most - has)));
}

// `jobs` of `batch` have come (or, below 0, gone).
void Engine::Count(const Batch& batch, int jobs) {
  live_ += jobs;
  if (batch.campaign != 0) return;
  std::int64_t& n = users_live_[batch.user];
  n += jobs;
  if (n == 0) users_live_.erase(batch.user);
}

void Engine::Enqueue(const std::shared_ptr<Batch>& batch, std::vector<std::unique_ptr<Job>> jobs) {
  LiveBatch& live = batches_[batch->seq];
  live.batch = batch;
  Queue& queue = batch->best_effort ? best_effort_ : normal_;
  for (auto& job : jobs) {
    job->batch = batch;
    if (!batch->best_effort) waiting_local_ += batch->slots;
    queue.emplace_hint(queue.end(), std::pair(batch->seq, job->index), job.get());
    Changed(job.get());
    ++live.left;
  }
  Count(*batch, live.left);
  live.jobs = std::move(jobs);
}

void Engine::Schedule() {
  if (draining_ || stopping_ || !segment_known_ || ended_.size() > kMostUnwritten) return;
  const bool all = StartAll(&normal_);
  if (!all) {
    const int needed = normal_.begin()->second->batch->slots;
    int local = 0, best_effort = 0;
    for (const auto& [no, job] : running_)
      (job->batch->best_effort ? best_effort : local) += static_cast<int>(job->places.size());
    // Best-effort jobs can give it what it needs: they start no more until it has got it. While
    // it waits for other local jobs all the same, they may use the time.
    if (needed <= slots_.total() - local) return MakeRoom(needed - slots_.free());
  }
  StartAll(&best_effort_);
}

// Strictly in order: a multi-slot job at the head waits for slots to come free and is bypassed by
// nobody.
bool Engine::StartAll(Queue* queue) {
  while (!queue->empty()) {
    Job* job = queue->begin()->second;
    if (job->batch->slots > slots_.total()) {  // the cluster was larger when it took this job
      End(job, Cause::kLaunchFailed, -1, 0, WallClock(),
          "it asks for more slots than there are now");
      continue;
    }
    if (job->batch->slots > slots_.free()) return false;
    if (!StartJob(job)) return true;  // the machine cannot now: the timer tries again
  }
  return true;
}

void Engine::MakeRoom(int needed) {
  std::vector<Victim> victims;
  std::vector<Job*> jobs;
  for (const auto& [no, job] : running_) {
    if (!job->batch->best_effort) continue;
    victims.push_back({static_cast<int>(job->places.size()), job->killing != 0});
    jobs.push_back(job);
  }
  for (std::size_t i : ChooseVictims(victims, needed)) Signal(jobs[i], Cause::kPreempted);
}

bool Engine::StartJob(Job* job) {
  std::vector<int> places = slots_.Take(job->batch->slots);
  job->places = places;
  try {
    launcher_.Start(job, slots_.Lines(places), records_.write_fd(), records_.birth_fd());
    slots_.Give(places);
    job->wrapper->job = job;
    BecomesRunning(job, job->wrapper->pid, WallClock(), std::move(places), records_.current());
    AddToEpoll(epoll_, job->wrapper->socket.get());  // where it stays
    return true;
  } catch (const TryLater& e) {
    log::warn("cannot start job {} now: {}", IdOf(job->batch->seq, job->index), e.what());
    slots_.Give(places);
    job->places.clear();
    ArmTimer(milliseconds(1000));
    return false;
  } catch (const LaunchError& e) {
    slots_.Give(places);
    job->places.clear();
    End(job, e.cause(), -1, 0, WallClock(), e.what());
    return true;
  }
}

void Engine::BecomesRunning(Job* job, pid_t pid, double started_at, std::vector<int> places,
                            std::int64_t segment) {
  Queue& queue = job->batch->best_effort ? best_effort_ : normal_;
  if (queue.erase({job->batch->seq, job->index}) > 0 && !job->batch->best_effort)
    waiting_local_ -= job->batch->slots;
  slots_.Retake(places);
  job->places = std::move(places);
  job->pid = pid;
  job->started_at = started_at;
  job->segment = segment;
  job->state = State::kRunning;
  job->start_no = ++starts_;
  running_[job->start_no] = job;
  Changed(job);
  ArmTimer(kWriteAfter);
}

void Engine::Watch(Job* job) {
  job->exit = process::PidFd(job->pid);
  if (!job->exit) return;
  by_exit_[job->exit.get()] = job;
  AddToEpoll(epoll_, job->exit.get());
}

void Engine::Changed(Job* job) {
  if (job->change != 0) changes_.erase(job->change);
  job->change = NextChange();
  changes_.emplace_hint(changes_.end(), job->change, job);
  if (waiters_ > 0) news_.notify_all();
}

void Engine::End(Job* job, Cause cause, int status, double started, double ended,
                 std::string message, const Measured& measured) {
  Ended e;
  e.batch = job->batch;
  e.index = job->index;
  e.attempt = job->attempt;
  e.job_id = job->job_id;
  e.task_index = job->task_index;
  e.cause = cause;
  e.status = status;
  e.started_at = started;
  e.ended_at = ended;
  e.measured = measured;
  e.message = std::move(message);
  const auto lines = slots_.Lines(job->places);
  if (!lines.empty()) e.node = lines[0];
  changes_.erase(job->change);
  e.change = NextChange();
  ended_.push_back(std::move(e));
  running_.erase(job->start_no);
  slots_.Give(job->places);
  Queue& queue = job->batch->best_effort ? best_effort_ : normal_;
  if (queue.erase({job->batch->seq, job->index}) > 0 && !job->batch->best_effort)
    waiting_local_ -= job->batch->slots;
  if (job->exit) by_exit_.erase(job->exit.get());
  if (job->wrapper != nullptr) {
    job->wrapper->job = nullptr;
    job->wrapper->out = std::move(job->out);
    job->wrapper->err = std::move(job->err);
  }
  const auto it = batches_.find(job->batch->seq);
  it->second.jobs[static_cast<std::size_t>(job->index)].reset();
  Count(*it->second.batch, -1);
  if (--it->second.left == 0) {
    closed_.push_back(it->first);
    batches_.erase(it);
  }
  ArmTimer(ended_.size() >= kWriteBlock ? milliseconds(0) : kWriteAfter);
  if (waiters_ > 0) news_.notify_all();
}

void Engine::OnExit(int fd) {
  if (Wrapper* wrapper = launcher_.wrappers().Find(fd)) return OnWrapper(wrapper);
  if (by_exit_.count(fd) == 0 || !HasFired(fd)) return;
  ReadRecords();
  if (const auto still = by_exit_.find(fd); still != by_exit_.end()) Lost(still->second);
}

void Engine::OnWrapper(Wrapper* wrapper) {
  const auto news = Wrappers::Hear(*wrapper);
  if (news == Wrappers::News::kNone) return;
  ReadRecords();
  if (wrapper->job != nullptr) Lost(wrapper->job);
  launcher_.outputs().TakeBack(std::move(wrapper->out));
  launcher_.outputs().TakeBack(std::move(wrapper->err));
  if (news == Wrappers::News::kGone)
    launcher_.wrappers().Reap(wrapper);
  else
    launcher_.wrappers().Wait(wrapper);
  ArmTimer(kWriteAfter);
}

void Engine::ReadRecords() {
  records_.Read([this](std::int64_t segment, const Record& r) { OnRecord(segment, r); });
}

void Engine::OnRecord(std::int64_t segment, const Record& r) {
  Job* job = FindLive(r.seq, r.index);
  if (job == nullptr) return;  // ended before: by the store's account, or reported lost
  if (r.kind == Record::Kind::kStart) {
    if (job->state == State::kWaiting) BecomesRunning(job, r.pid, r.started_at, r.places, segment);
    job->started_at = r.started_at;
    job->marked = true;
    return;
  }
  const bool ran = r.cause != Cause::kBadDirectory && r.cause != Cause::kBadOutput &&
                   r.cause != Cause::kLaunchFailed;
  std::string message = r.message;
  if (message.empty() && r.cause == Cause::kPreempted) message = "a local job needed the slot";
  if (r.cause == Cause::kNodeFailed) message = "the grid was stopped while it ran";
  End(job, r.cause, ran ? r.status : -1, r.started_at, r.ended_at, std::move(message),
      ran ? r.measured : Measured{});
}

// Its cigri-job is gone and has left no record: killed, or never got so far.
void Engine::Lost(Job* job) {
  const std::string id = IdOf(job->batch->seq, job->index);
  if (!job->marked) {
    End(job, Cause::kLaunchFailed, -1, 0, WallClock(),
        "cigri-job ended before the job began: disk full, or killed");
    return;
  }
  log::warn("the cigri-job of {} (pid {}) was killed: ending what the job left", id, job->pid);
  // The processes of a user who is not known any more (a directory that is down) cannot be known
  // from others'.
  if (job->batch->account) KillRemains(job->pid, id, *job->batch->account);
  End(job, Cause::kUnknown, -1, job->started_at, WallClock(),
      "its cigri-job was killed: how it ended is not known");
}

void Engine::Signal(Job* job, Cause cause) {
  // Who was evicted may be saving his work still, which a deletion does not wait for.
  constexpr char kEvicted = static_cast<char>(Cause::kPreempted);
  if (job->killing != 0 && (job->killing != kEvicted || cause == Cause::kPreempted)) return;
  siginfo_t info{};
  info.si_signo = SIGTERM;
  info.si_code = SI_QUEUE;
  info.si_pid = getpid();
  info.si_uid = getuid();
  info.si_value.sival_int = static_cast<int>(cause);
  bool asked = false;
  if (job->wrapper != nullptr) {
    // The number of our own child is its own until we reap it.
    asked = sigqueue(job->pid, SIGTERM, info.si_value) == 0;
    job->wrapper->signalled = true;
  } else {
    asked = syscall(SYS_pidfd_send_signal, job->exit.get(), SIGTERM, &info, 0) == 0;
    // Before Linux 5.3 job->exit is no pidfd: it must be looked at.
    if (!asked && (errno == ENOSYS || errno == EBADF) &&
        IsWrapperOf(job->pid, IdOf(job->batch->seq, job->index)))
      asked = sigqueue(job->pid, SIGTERM, info.si_value) == 0;
  }
  if (asked) job->killing = static_cast<char>(cause);
}

std::vector<Engine::Killed> Engine::Kill(const std::vector<JobName>& jobs) {
  std::vector<Killed> killed;
  killed.reserve(jobs.size());
  Lock lock(mutex_);
  for (const auto& name : jobs) killed.push_back(KillOne(name));
  Schedule();
  return killed;
}

// Leaves the scheduling to the caller.
Engine::Killed Engine::KillOne(const JobName& name) {
  std::int64_t seq = 0;
  int index = 0;
  if (!ParseId(name.id, &seq, &index)) return Killed::kGone;
  Job* job = FindLive(seq, index);
  if (job == nullptr) return Killed::kGone;
  if (!name.tag.empty() && job->batch->tag != name.tag) return Killed::kForeign;
  if (job->state == State::kRunning) {
    if (name.only_waiting) return Killed::kBegun;
    Signal(job, Cause::kDeleted);
    return Killed::kAsked;
  }
  End(job, Cause::kDeleted, -1, 0, WallClock(), "deleted before it started");
  return Killed::kGone;
}

void Engine::KillAll() {
  Lock lock(mutex_);
  draining_ = true;
  for (const auto& [no, job] : running_) Signal(job, Cause::kNodeFailed);
  ++waiters_;
  news_.wait(lock, [this] { return running_.empty() || stopping_; });
  --waiters_;
}

Job* Engine::FindLive(std::int64_t seq, int index) {
  const auto it = batches_.find(seq);
  if (it == batches_.end() || index < 0 || index >= static_cast<int>(it->second.jobs.size()))
    return nullptr;
  return it->second.jobs[static_cast<std::size_t>(index)].get();
}

process::Fd Engine::OpenOutput(const JobView& view, bool err) {
  Lock lock(mutex_);
  const Job* job = FindLive(view.batch->seq, view.index);
  if (job == nullptr || job->state != State::kRunning) return process::Fd();
  const bool ours = job->wrapper != nullptr;
  const int file = ours ? (err ? job->err : job->out).fd.get() : err ? kErrFd : kOutFd;
  const std::string process = ours ? "self" : std::to_string(job->pid);
  return process::Fd(open(("/proc/" + process + "/fd/" + std::to_string(file)).c_str(),
                          O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

std::int64_t Engine::NextChange() {
  if (++change_ > reserved_) {
    try {
      reserved_ = store_.ReserveChanges(200'000) + 199'999;
    } catch (const StoreError&) {
      // Numbers go on; only a crash before the next success could issue some of them twice.
    }
  }
  return change_;
}

void Engine::Flush() {
  Store::Flush flush;
  for (const auto& [no, job] : running_)
    if (job->marked && !job->kept) flush.started.push_back(job);
  flush.ended.swap(ended_);
  flush.closed.swap(closed_);
  flush.positions = records_.positions();
  try {
    store_.Write(flush);
  } catch (const StoreError&) {
    ended_.swap(flush.ended);
    closed_.swap(flush.closed);
    throw;
  }
  for (const Job* job : flush.started) const_cast<Job*>(job)->kept = true;
  if (!flush.ended.empty()) stored_change_ = flush.ended.back().change;
  since_prune_ += static_cast<std::int64_t>(flush.ended.size());
  segment_known_ = true;
}

void Engine::TryFlush() {
  try {
    NewSegmentIfLarge();
    Flush();
    if (since_prune_ >= 20'000) {
      since_prune_ = 0;
      store_.Prune(WallClock(), options_.max_ended);
    }
    if (store_failing_) log::info("the store can be written again");
    store_failing_ = false;
  } catch (const std::exception& e) {
    if (!store_failing_)
      log::error("cannot write the store in {}: {}; trying again every second",
                 options_.launcher.state_dir, e.what());
    store_failing_ = true;
    ArmTimer(milliseconds(1000));
  }
}

// A quiet cluster is as small after many jobs as before: its ends have been asked for by now.
void Engine::ReleaseMemory() {
  launcher_.outputs().Clear();
  store_.ReleaseMemory();
  malloc_trim(0);
}

void Engine::NewSegmentIfLarge() {
  records_.Drop([this](std::int64_t segment) {
    for (const auto& [no, job] : running_)
      if (job->segment == segment) return true;
    return false;
  });
  if (records_.bytes() < kSegmentBytes) return;
  records_.Begin();
  segment_known_ = false;  // no job may write to it before the store knows it
}

void Engine::ArmTimer(milliseconds in) {
  const auto now = std::chrono::steady_clock::now();
  const auto at = now + in;
  if (timer_at_ > now && timer_at_ <= at) return;
  timer_at_ = at;
  itimerspec spec{};
  spec.it_value.tv_sec = in.count() / 1000;
  spec.it_value.tv_nsec = in.count() % 1000 * 1'000'000 + 1;
  timerfd_settime(timer_, 0, &spec, nullptr);
}

void Engine::Run() {
  constexpr int kQuietMs = 15'000;
  bool released = false;
  epoll_event events[64];
  for (;;) {
    const int n = epoll_wait(epoll_, events, 64, released ? -1 : kQuietMs);
    Lock lock(mutex_);
    if (stopping_) break;
    if (n == 0) ReleaseMemory();
    released = n == 0;
    for (int i = 0; i < n; ++i) {
      const int fd = events[i].data.fd;
      if (fd == wake_) {
        Drain(fd);
      } else if (fd == timer_) {
        Drain(fd);
        timer_at_ = {};
        TryFlush();
        if (launcher_.wrappers().EndIdle(kWriteAfter)) ArmTimer(kWriteAfter);
      } else {
        OnExit(fd);
      }
    }
    Schedule();
    if (spreaders_ > 0 && SlotsWait()) slots_wait_.notify_all();
  }
  Lock lock(mutex_);
  TryFlush();
}

void Engine::Stop() {
  Lock lock(mutex_);
  stopping_ = true;
  news_.notify_all();
  slots_wait_.notify_all();
  const std::uint64_t one = 1;
  if (write(wake_, &one, sizeof one) < 0)
    log::error("cannot wake the loop: {}", std::strerror(errno));
}

}  // namespace cigri::localcluster
