#include "updator/poller.h"

#include <algorithm>
#include <cmath>
#include <condition_variable>

namespace cigri::updator {

using std::chrono::milliseconds;

namespace {
constexpr milliseconds kFeedWait{25000};
constexpr int kMostUntaken = 2;  // answers ahead of the fold: no more memory than that
}  // namespace

void Mailbox::Put(Answer answer) {
  std::lock_guard lock(mutex_);
  answers_.push_back(std::move(answer));
}

std::vector<Answer> Mailbox::TakeAll() {
  std::lock_guard lock(mutex_);
  return std::exchange(answers_, {});
}

using Clock = std::chrono::steady_clock;

struct Poller::State {
  std::int64_t id = 0;
  std::unique_ptr<cluster::Cluster> cluster;
  cluster::Capabilities caps;
  Pace pace;
  std::shared_ptr<Mailbox> mailbox;
  module::Waker* waker = nullptr;  // lives as long as the process
  std::string token;               // these two: the thread's own
  int failures = 0;

  std::mutex mutex;
  std::condition_variable changed;
  bool stop = false, busy = false, due = false;
  int untaken = 0;
  std::optional<std::vector<cluster::RemoteRef>> refs;

  void Loop();
  bool Sleep(double seconds);  // false: to end
  bool AwaitRefs();
  Answer Ask();
};

Poller::Poller(const clusterdb::ClusterRow& row, std::string token,
               std::shared_ptr<Mailbox> mailbox, module::Waker& waker, const std::string& conninfo)
    : state_(std::make_shared<State>()) {
  state_->id = row.config.id;
  state_->cluster = clusterdb::MakeDriver(row, conninfo);
  state_->caps = state_->cluster->capabilities();
  state_->pace.sweep_s = row.min_round_s;
  state_->mailbox = std::move(mailbox);
  state_->waker = &waker;
  state_->token = std::move(token);
  std::thread([state = state_] { state->Loop(); }).detach();
}

Poller::~Poller() {
  {
    std::lock_guard lock(state_->mutex);
    state_->stop = true;
  }
  state_->changed.notify_all();
}

bool Poller::Due() {
  std::lock_guard lock(state_->mutex);
  return state_->due;
}

void Poller::Give(std::vector<cluster::RemoteRef> refs) {
  {
    std::lock_guard lock(state_->mutex);
    state_->refs = std::move(refs);
    state_->due = false;
  }
  state_->changed.notify_all();
}

void Poller::SetBusy(bool busy) {
  {
    std::lock_guard lock(state_->mutex);
    if (state_->busy == busy) return;
    state_->busy = busy;
  }
  state_->changed.notify_all();
}

void Poller::Taken() {
  {
    std::lock_guard lock(state_->mutex);
    --state_->untaken;
  }
  state_->changed.notify_all();
}

bool Poller::State::Sleep(double seconds) {
  std::unique_lock lock(mutex);
  const bool was_busy = busy;
  changed.wait_for(lock, milliseconds(static_cast<int>(seconds * 1000)),
                   [&] { return stop || (busy && !was_busy); });
  return !stop;
}

bool Poller::State::AwaitRefs() {
  {
    std::lock_guard lock(mutex);
    due = true;
  }
  waker->Wake();
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return stop || refs.has_value(); });
  return !stop;
}

Answer Poller::State::Ask() {
  Answer a;
  a.cluster_id = id;
  a.feed = caps.feed;
  a.began = Clock::now();
  try {
    cluster::PollRequest request;
    if (caps.feed) {
      request.token = token;
      request.wait = kFeedWait;
    } else {
      std::lock_guard lock(mutex);
      request.jobs = std::move(*refs);
      refs.reset();
    }
    a.poll = cluster->Poll(request);
    a.resources = a.poll.resources;
    if (!a.resources) {
      a.resources = cluster->GetResources();
      ++a.poll.calls;
    }
    token = a.poll.token;
    failures = 0;
    a.ok = true;
  } catch (const std::exception& e) {
    a.error = e.what();
    a.failures = ++failures;
    const double most = caps.feed ? 5 : 300;
    a.again_in_s =
        std::min(most, 0.1 * std::exp2(std::min(failures - 1, 12)) * (caps.feed ? 1 : 20));
  }
  return a;
}

void Poller::State::Loop() {
  for (;;) {
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return stop || untaken < kMostUntaken; });
      if (stop) return;
    }
    if (!caps.feed && !AwaitRefs()) return;
    Answer a = Ask();
    const double pause = !a.ok ? a.again_in_s : caps.feed ? 0.0 : pace.sweep_s;
    bool now_busy;
    {
      std::lock_guard lock(mutex);
      if (stop) return;
      ++untaken;
      now_busy = busy;
    }
    mailbox->Put(std::move(a));
    waker->Wake();
    if (!Sleep(caps.feed || now_busy || failures > 0 ? pause : pace.idle_s)) return;
  }
}

}  // namespace cigri::updator
