#include "updator/poller.h"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <set>
#include <thread>

#include "core/log.h"

namespace cigri::updator {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

namespace {
double SystemTime() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

constexpr milliseconds kFeedWait{25000};
constexpr int kMostUntaken = 2;  // answers of a feed that the pass has not taken yet
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
  // What the thread alone uses.
  PollerSettings settings;
  std::unique_ptr<cluster::Cluster> cluster;
  cluster::Capabilities caps;
  std::shared_ptr<Mailbox> mailbox;
  int failures = 0;
  Clock::time_point full_at;  // of the next full listing

  std::mutex mutex;  // of what follows
  std::condition_variable changed;
  module::Waker* waker = nullptr;  // not to be used after `stop`
  bool stop = false, busy = false, ask_for_all = false;
  int untaken = 0;
  JobList jobs;
  std::vector<std::string> classes;

  void Loop();
  bool Sleep(double seconds);        // false: to end
  bool AwaitTaken(JobList* to_ask);  // false: to end
  bool Put(Answer answer);           // false: to end
  std::optional<Answer> Ask(const JobList& to_ask);
  cluster::Resources CountResources();
  void ListUnasked(const std::vector<cluster::RemoteRef>& asked, Answer* a);
  void Failed(const std::string& error, bool unreachable, double wait_s, Answer* a);
  double PauseAfter(const Answer& a);
};

Poller::Poller(PollerSettings settings, std::unique_ptr<cluster::Cluster> cluster,
               std::shared_ptr<Mailbox> mailbox, module::Waker& waker)
    : state_(std::make_shared<State>()) {
  state_->settings = std::move(settings);
  state_->cluster = std::move(cluster);
  state_->caps = state_->cluster->capabilities();
  state_->mailbox = std::move(mailbox);
  state_->waker = &waker;
  const double first_s = std::min(60.0, state_->settings.pace.full_s);
  state_->full_at = Clock::now() + milliseconds(static_cast<int>(first_s * 1000));
  std::thread([state = state_] { state->Loop(); }).detach();
}

Poller::~Poller() {
  {
    std::lock_guard lock(state_->mutex);
    state_->stop = true;
  }
  state_->changed.notify_all();
}

bool Poller::NeedsJobs() const { return !state_->caps.feed; }

void Poller::Publish(JobList jobs) {
  {
    std::lock_guard lock(state_->mutex);
    state_->jobs = std::move(jobs);
  }
  state_->changed.notify_all();
}

void Poller::SetClasses(std::vector<std::string> classes) {
  const std::lock_guard lock(state_->mutex);
  state_->classes = std::move(classes);
}

void Poller::SetBusy(bool busy) {
  {
    std::lock_guard lock(state_->mutex);
    if (state_->busy == busy) return;
    state_->busy = busy;
  }
  state_->changed.notify_all();
}

void Poller::AskForAll() {
  const std::lock_guard lock(state_->mutex);
  state_->ask_for_all = true;
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

// Waits until the pass has committed the last answers. Without a feed none may be left: the list
// then says what the cluster said last, and the cluster is not asked about jobs that have ended.
bool Poller::State::AwaitTaken(JobList* to_ask) {
  std::unique_lock lock(mutex);
  const int most = caps.feed ? kMostUntaken : 1;
  changed.wait(lock, [&] { return stop || (untaken < most && (caps.feed || jobs)); });
  *to_ask = jobs;
  return !stop;
}

// Nothing when our own ceiling on calls forbids the call: the cluster is not to blame.
std::optional<Answer> Poller::State::Ask(const JobList& to_ask) {
  Answer a;
  a.cluster_id = settings.cluster_id;
  a.feed = caps.feed;
  a.holds = caps.hold_release;
  a.began = Clock::now();
  try {
    cluster::PollRequest request;
    if (caps.feed) {
      {
        // Kept until an answer gives a new one, also over calls that fail.
        const std::lock_guard lock(mutex);
        if (std::exchange(ask_for_all, false)) settings.token.clear();
      }
      request.token = settings.token;
      request.wait = kFeedWait;
    } else {
      request.jobs = *to_ask;
    }
    a.poll = cluster->Poll(request);
    a.resources = a.poll.resources;
    if (!a.resources) {
      a.resources = CountResources();
      ++a.poll.calls;
    }
    if (const double clock = std::max(a.poll.cluster_time, a.resources->cluster_time);
        clock > 0 && !caps.feed)
      a.skew_s = clock + 0.5 - SystemTime();  // APIs give whole seconds
    settings.token = a.poll.token;
    failures = 0;
    a.ok = true;
    if (!caps.feed && Clock::now() >= full_at) ListUnasked(request.jobs, &a);
  } catch (const cluster::CallFailed& e) {
    using Why = cluster::CallFailed::Why;
    if (e.why() == Why::kBusy) return std::nullopt;
    Failed(e.what(), e.why() == Why::kUnreachable || e.why() == Why::kTimeout, e.wait_s(), &a);
  } catch (const std::exception& e) {
    Failed(e.what(), false, 0, &a);
  }
  return a;
}

// With an entry for each class that was asked about: one without a name cannot be counted.
cluster::Resources Poller::State::CountResources() {
  std::vector<std::string> asked;
  {
    const std::lock_guard lock(mutex);
    asked = classes;
  }
  auto resources = cluster->GetResources(asked);
  for (const auto& request : asked) resources.classes.try_emplace(request);
  return resources;
}

void Poller::State::Failed(const std::string& error, bool unreachable, double wait_s, Answer* a) {
  a->error = error;
  a->unreachable = unreachable;
  a->failures = ++failures;
  const double most = caps.feed ? 5 : 300;
  a->retry_in_s =
      wait_s > 0
          ? wait_s  // the circuit breaker says when the next call may be made
          : std::min(most, 0.1 * std::exp2(std::min(failures - 1, 12)) * (caps.feed ? 1 : 20));
}

// Everything on the cluster with a tag of ours that the poll did not ask about. When the listing
// fails the answer is good all the same; the next listing comes in its time.
void Poller::State::ListUnasked(const std::vector<cluster::RemoteRef>& asked, Answer* a) {
  full_at = Clock::now() + milliseconds(static_cast<int>(settings.pace.full_s * 1000));
  std::set<std::string> ids;
  for (const auto& ref : asked) ids.insert(ref.remote_id);
  try {
    auto listed =
        cluster->ListTagged("cigri.", [&](const std::string& remote, const std::string& tag) {
          return tag.find(settings.grid_mark) != std::string::npos && ids.count(remote) == 0;
        });
    std::erase_if(listed,
                  [](const auto& job) { return job.state == cluster::RemoteState::kEnded; });
    a->unasked = std::move(listed);
  } catch (const std::exception& e) {
    log::warn("[{}] cannot list the jobs of this grid there: {}", settings.name, e.what());
  }
}

// Half of a ceiling on calls is for polls, the rest for submitting and killing.
double Poller::State::PauseAfter(const Answer& a) {
  if (!a.ok) return a.retry_in_s;
  if (caps.feed) return 0;
  double pause = settings.pace.poll_s;
  const int ceiling = cluster->limiter() != nullptr ? cluster->limiter()->ceiling() : 0;
  if (ceiling > 0) pause = std::max(pause, a.poll.calls * 120.0 / ceiling);
  std::lock_guard lock(mutex);
  return busy ? pause : std::max(pause, settings.pace.idle_s);
}

// Under the mutex, because the waker may be gone after `stop`.
bool Poller::State::Put(Answer answer) {
  std::lock_guard lock(mutex);
  if (stop) return false;
  ++untaken;
  mailbox->Put(std::move(answer));
  waker->Wake();
  return true;
}

void Poller::State::Loop() {
  for (JobList to_ask; AwaitTaken(&to_ask);) {
    auto answer = Ask(to_ask);
    const double pause = answer ? PauseAfter(*answer) : 1;
    if (answer && !Put(std::move(*answer))) return;
    if (!Sleep(pause)) return;
  }
}

}  // namespace cigri::updator
