#include "updator/poller.h"

#include <algorithm>
#include <cmath>

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

Poller::Poller(const clusterdb::ClusterRow& row, std::string token, Mailbox& mailbox,
               module::Waker& waker)
    : id_(row.config.id),
      cluster_(clusterdb::MakeDriver(row)),
      caps_(cluster_->capabilities()),
      pace_{.sweep_s = row.min_round_s},
      mailbox_(mailbox),
      waker_(waker),
      token_(std::move(token)) {
  thread_ = std::thread([this] { Loop(); });
}

Poller::~Poller() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

bool Poller::Due() {
  std::lock_guard lock(mutex_);
  return due_;
}

void Poller::Give(std::vector<cluster::RemoteRef> refs) {
  {
    std::lock_guard lock(mutex_);
    refs_ = std::move(refs);
    due_ = false;
  }
  changed_.notify_all();
}

void Poller::SetBusy(bool busy) {
  {
    std::lock_guard lock(mutex_);
    if (busy_ == busy) return;
    busy_ = busy;
  }
  changed_.notify_all();
}

void Poller::Taken() {
  {
    std::lock_guard lock(mutex_);
    --untaken_;
  }
  changed_.notify_all();
}

bool Poller::Sleep(double seconds) {
  std::unique_lock lock(mutex_);
  const bool was_busy = busy_;
  changed_.wait_for(lock, milliseconds(static_cast<int>(seconds * 1000)),
                    [&] { return stop_ || (busy_ && !was_busy); });
  return !stop_;
}

bool Poller::AwaitRefs() {
  {
    std::lock_guard lock(mutex_);
    due_ = true;
  }
  waker_.Wake();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return stop_ || refs_.has_value(); });
  return !stop_;
}

Answer Poller::Ask() {
  Answer a;
  a.cluster_id = id_;
  a.feed = caps_.feed;
  a.began = Clock::now();
  try {
    cluster::PollRequest request;
    if (caps_.feed) {
      request.token = token_;
      request.wait = kFeedWait;
    } else {
      std::lock_guard lock(mutex_);
      request.jobs = std::move(*refs_);
      refs_.reset();
    }
    a.poll = cluster_->Poll(request);
    a.resources = a.poll.resources;
    if (!a.resources) {
      a.resources = cluster_->GetResources();
      ++a.poll.calls;
    }
    token_ = a.poll.token;
    failures_ = 0;
    a.ok = true;
  } catch (const std::exception& e) {
    a.error = e.what();
    a.failures = ++failures_;
    const double most = caps_.feed ? 5 : 300;
    a.again_in_s = std::min(most, 0.1 * std::exp2(std::min(failures_ - 1, 12)) *
                                      (caps_.feed ? 1 : 20));
  }
  return a;
}

void Poller::Loop() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stop_ || untaken_ < kMostUntaken; });
      if (stop_) return;
    }
    if (!caps_.feed && !AwaitRefs()) return;
    Answer a = Ask();
    const double pause = !a.ok ? a.again_in_s : caps_.feed ? 0.0 : pace_.sweep_s;
    bool busy;
    {
      std::lock_guard lock(mutex_);
      if (stop_) return;
      ++untaken_;
      busy = busy_;
    }
    mailbox_.Put(std::move(a));
    waker_.Wake();
    if (!Sleep(caps_.feed || busy || failures_ > 0 ? pause : pace_.idle_s)) return;
  }
}

}  // namespace cigri::updator
