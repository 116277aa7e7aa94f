#include "updator/poller.h"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <set>

#include "core/log.h"

namespace cigri::updator {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

namespace {
double SystemTime() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

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

struct Poller::State {
  std::int64_t id = 0;
  std::unique_ptr<cluster::Cluster> cluster;
  cluster::Capabilities caps;
  Pace pace;
  std::shared_ptr<Mailbox> mailbox;
  module::Waker* waker = nullptr;      // lives as long as the process
  std::string name, token, grid_mark;  // these: the thread's own
  int failures = 0;
  Clock::time_point slow_at;  // of the next slow sweep

  std::mutex mutex;
  std::condition_variable changed;
  bool stop = false, busy = false, due = false;
  int untaken = 0;
  std::optional<std::vector<cluster::RemoteRef>> refs;

  void Loop();
  bool Sleep(double seconds);  // false: to end
  bool AwaitRefs();
  std::optional<Answer> Ask();
  void SlowSweep(const std::vector<cluster::RemoteRef>& known, Answer* a);
  void Failed(const std::string& error, bool unreachable, double wait_s, Answer* a);
  double PauseAfter(const Answer& a);
};

Poller::Poller(const clusterdb::ClusterRow& row, std::string token,
               std::shared_ptr<Mailbox> mailbox, module::Waker& waker, const std::string& conninfo,
               std::string grid_mark, double slow_s)
    : state_(std::make_shared<State>()) {
  state_->id = row.config.id;
  state_->name = row.config.name;
  state_->cluster = clusterdb::MakeDriver(row, conninfo, clusterdb::Caller::kUpdator);
  state_->grid_mark = std::move(grid_mark);
  state_->pace.slow_s = slow_s;
  state_->slow_at = Clock::now() + milliseconds(static_cast<int>(std::min(60.0, slow_s) * 1000));
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

// Nothing when our own ceiling on calls stands before it: that says nothing of the cluster.
std::optional<Answer> Poller::State::Ask() {
  Answer a;
  a.cluster_id = id;
  a.feed = caps.feed;
  a.holds = caps.hold_release;
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
    if (const double clock = std::max(a.poll.cluster_time, a.resources->cluster_time);
        clock > 0 && !caps.feed)
      a.skew_s = clock + 0.5 - SystemTime();  // APIs tell whole seconds
    token = a.poll.token;
    failures = 0;
    a.ok = true;
    if (!caps.feed && Clock::now() >= slow_at) SlowSweep(request.jobs, &a);
  } catch (const cluster::CallFailed& e) {
    using Why = cluster::CallFailed::Why;
    if (e.why() == Why::kBusy) return std::nullopt;
    Failed(e.what(), e.why() == Why::kUnreachable || e.why() == Why::kTimeout, e.wait_s(), &a);
  } catch (const std::exception& e) {
    Failed(e.what(), false, 0, &a);
  }
  return a;
}

void Poller::State::Failed(const std::string& error, bool unreachable, double wait_s, Answer* a) {
  a->error = error;
  a->unreachable = unreachable;
  a->failures = ++failures;
  const double most = caps.feed ? 5 : 300;
  a->again_in_s =
      wait_s > 0
          ? wait_s  // the breaker says when one may try again
          : std::min(most, 0.1 * std::exp2(std::min(failures - 1, 12)) * (caps.feed ? 1 : 20));
}

// Everything there with a tag of ours that is not among those just asked for. When it fails, the
// sweep itself was good all the same: it is tried again in its time.
void Poller::State::SlowSweep(const std::vector<cluster::RemoteRef>& known, Answer* a) {
  slow_at = Clock::now() + milliseconds(static_cast<int>(pace.slow_s * 1000));
  std::set<std::string> ids;
  for (const auto& ref : known) ids.insert(ref.remote_id);
  try {
    auto listed =
        cluster->ListTagged("cigri.", [&](const std::string& remote, const std::string& tag) {
          return tag.find(grid_mark) != std::string::npos && ids.count(remote) == 0;
        });
    std::erase_if(listed,
                  [](const auto& job) { return job.state == cluster::RemoteState::kEnded; });
    a->strays = std::move(listed);
  } catch (const std::exception& e) {
    log::warn("[{}] cannot be looked through for jobs of ours: {}", name, e.what());
  }
}

// Half of a ceiling on calls is for sweeps, the rest for sending and killing.
double Poller::State::PauseAfter(const Answer& a) {
  if (!a.ok) return a.again_in_s;
  if (caps.feed) return 0;
  const int ceiling = cluster->gate() != nullptr ? cluster->gate()->ceiling() : 0;
  return ceiling == 0 ? pace.sweep_s : std::max(pace.sweep_s, a.poll.calls * 120.0 / ceiling);
}

void Poller::State::Loop() {
  for (;;) {
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return stop || untaken < kMostUntaken; });
      if (stop) return;
    }
    if (!caps.feed && !AwaitRefs()) return;
    auto a = Ask();
    if (!a) {
      if (!Sleep(1)) return;
      continue;
    }
    const double pause = PauseAfter(*a);
    bool now_busy;
    {
      std::lock_guard lock(mutex);
      if (stop) return;
      ++untaken;
      now_busy = busy;
    }
    mailbox->Put(std::move(*a));
    waker->Wake();
    if (!Sleep(caps.feed || now_busy || failures > 0 ? pause : std::max(pause, pace.idle_s)))
      return;
  }
}

}  // namespace cigri::updator
