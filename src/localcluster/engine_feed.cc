// What the engine tells: states, changes, usage.
#include <algorithm>
#include <charconv>
#include <limits>

#include "localcluster/engine.h"

namespace cigri::localcluster {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMostPerAnswer = 5000;
// While changes keep coming, an answer carries what came in this time: each answer costs the grid a
// cycle, and its queue of seconds here keeps the slots busy meanwhile. A burst may go out at once:
// the few changes of a single job on an idle cluster wait for nothing. Neither does anything while
// a slot is free and nothing is queued here: the slot waits for the grid to hear of it.
constexpr std::chrono::milliseconds kSpread{250};
constexpr double kBurst = 4;

}  // namespace

JobView Engine::View(const Job& job) const {
  JobView v;
  v.batch = job.batch;
  v.index = job.index;
  v.attempt = job.attempt;
  v.job_id = job.job_id;
  v.task_index = job.task_index;
  v.state = job.state;
  v.started_at = job.started_at;
  const auto lines = slots_.Lines(job.places);
  if (!lines.empty()) v.node = lines[0];
  return v;
}

JobView Engine::View(const Ended& e) {
  JobView v;
  v.batch = e.batch;
  v.index = e.index;
  v.attempt = e.attempt;
  v.job_id = e.job_id;
  v.task_index = e.task_index;
  v.state = State::kEnded;
  v.cause = e.cause;
  v.status = e.status;
  v.started_at = e.started_at;
  v.ended_at = e.ended_at;
  v.measured = e.measured;
  v.node = e.node;
  v.message = e.message;
  return v;
}

std::vector<JobView> Engine::Find(const std::string& tag, bool revoke) {
  Lock lock(mutex_);
  if (revoke) store_.Revoke(tag, WallClock());
  std::vector<JobView> out;
  const auto stored = store_.FindTag(tag);
  if (!stored) return out;
  for (const auto& e : store_.EndedOf(stored->seq)) out.push_back(View(e));
  for (const auto& e : ended_)
    if (e.batch->seq == stored->seq) out.push_back(View(e));
  if (const auto it = batches_.find(stored->seq); it != batches_.end())
    for (const auto& job : it->second.jobs)
      if (job != nullptr) out.push_back(View(*job));
  return out;
}

std::vector<std::string> Engine::TagsSince(const std::string& prefix, double since) {
  Lock lock(mutex_);
  return store_.TagsSince(prefix, since);
}

std::optional<JobView> Engine::Get(const std::string& id) {
  std::int64_t seq = 0;
  int index = 0;
  if (!ParseId(id, &seq, &index)) return {};
  Lock lock(mutex_);
  if (const Job* job = FindLive(seq, index)) return View(*job);
  for (const auto& e : ended_)
    if (e.batch->seq == seq && e.index == index) return View(e);
  if (const auto e = store_.EndedJob(seq, index)) return View(*e);
  return {};
}

std::vector<JobView> Engine::Live(const std::function<bool(const Batch&)>& wanted) {
  Lock lock(mutex_);
  std::vector<JobView> out;
  for (const auto& [seq, live] : batches_) {
    if (!wanted(*live.batch)) continue;
    for (const auto& job : live.jobs)
      if (job != nullptr) out.push_back(View(*job));
  }
  return out;
}

std::optional<std::int64_t> Engine::ParseToken(const std::string& token) const {
  const std::string begin = store_.instance() + ".";
  if (token.compare(0, begin.size(), begin) != 0) return {};
  std::int64_t number = 0;
  const char* end = token.data() + token.size();
  const auto r = std::from_chars(token.data() + begin.size(), end, number);
  if (r.ec != std::errc() || r.ptr != end || number < 0 || number > change_) return {};
  return number;
}

Changes Engine::Collect(std::int64_t since, bool full) {
  Changes out;
  out.full = full;
  std::int64_t upto = change_;
  if (!full && since < stored_change_) {
    bool known = true;
    const auto stored = store_.ChangesSince(since, kMostPerAnswer, &known);
    if (!known) return Collect(0, true);
    for (const auto& e : stored) out.jobs.push_back(View(e));
    if (static_cast<int>(stored.size()) == kMostPerAnswer) {
      out.more = true;
      out.token = instance() + "." + std::to_string(stored.back().change);
      return out;
    }
  }
  // Two ordered lists, merged: an answer that is cut short ends at a number.
  auto live = changes_.upper_bound(since);
  auto ended = std::upper_bound(ended_.begin(), ended_.end(), since,
                                [](std::int64_t n, const Ended& e) { return n < e.change; });
  for (int n = 0; live != changes_.end() || ended != ended_.end(); ++n) {
    if (n == kMostPerAnswer) {
      out.more = true;
      break;
    }
    if (ended == ended_.end() || (live != changes_.end() && live->first < ended->change)) {
      upto = live->first;
      out.jobs.push_back(View(*(live++)->second));
    } else {
      upto = ended->change;
      out.jobs.push_back(View(*ended++));
    }
  }
  out.token = instance() + "." + std::to_string(out.more ? upto : change_);
  return out;
}

bool Engine::SlotsWait() const {
  return slots_.free() > 0 && normal_.empty() && best_effort_.empty();
}

void Engine::Spread(Lock& lock, Clock::time_point until) {
  const auto refill = [this](Clock::time_point now) {
    const double ms = std::chrono::duration<double, std::milli>(now - answered_at_).count();
    answers_left_ = std::min(kBurst, answers_left_ + ms / static_cast<double>(kSpread.count()));
    answered_at_ = now;
  };
  refill(Clock::now());
  if (answers_left_ < 1) {
    const auto at = std::min(until, answered_at_ + kSpread);
    ++spreaders_;
    slots_wait_.wait_until(lock, at, [this] { return stopping_ || SlotsWait(); });
    --spreaders_;
    refill(Clock::now());
  }
  answers_left_ = std::max(0.0, answers_left_ - 1);
}

Changes Engine::ChangesSince(const std::string& token, std::chrono::milliseconds wait) {
  Lock lock(mutex_);
  const auto since = ParseToken(token);
  if (!since) return Collect(0, true);
  const auto until = Clock::now() + wait;
  ++waiters_;
  news_.wait_until(lock, until, [&] { return stopping_ || change_ > *since; });
  --waiters_;
  if (change_ > *since && wait.count() > 0) Spread(lock, until);
  return Collect(*since, false);
}

Usage Engine::GetUsage() {
  Lock lock(mutex_);
  Usage u;
  u.slots = slots_.total();
  u.used = slots_.total() - slots_.free();
  u.running = static_cast<std::int64_t>(running_.size());
  u.waiting = static_cast<std::int64_t>(normal_.size() + best_effort_.size());
  u.waiting_local = waiting_local_;
  for (const auto& [no, job] : running_) {
    const int n = static_cast<int>(job->places.size());
    (job->batch->best_effort ? u.best_effort : u.local) += n;
    if (job->batch->best_effort && job->killing != 0) u.ending += n;
  }
  return u;
}

std::int64_t Engine::max_file_bytes() const {
  const std::int64_t mb = options_.launcher.max_file_mb;
  return mb == 0 ? std::numeric_limits<std::int64_t>::max() : mb << 20;
}

std::string Engine::OutputStem(const JobView& job) const {
  return launcher_.OutputStem(*job.batch, {job.index, job.attempt, job.job_id, job.task_index});
}

}  // namespace cigri::localcluster
