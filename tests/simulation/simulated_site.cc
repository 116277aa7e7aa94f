#include "tests/simulation/simulated_site.h"

#include <algorithm>

#include "cluster/job_record.h"
#include "tests/simulation/faults.h"
#include "tests/simulation/scheduler.h"
#include "tests/simulation/sessions.h"

namespace cigri::test {

using cluster::CallFailed;
using cluster::RemoteState;

namespace {

constexpr std::int64_t kMs = 1'000'000, kSecond = 1000 * kMs;

double Seconds(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }

constexpr std::int64_t kPrologue = -1, kEpilogue = -2;

std::int64_t TaskOf(const cluster::Batch& batch, std::size_t i) {
  if (batch.kind == BatchKind::kPrologue) return kPrologue;
  return batch.kind == BatchKind::kEpilogue ? kEpilogue : batch.elements[i].task_index;
}

// Of the task of `index` in its job.
std::string KeyOf(const std::string& remote_id, int index, int sharing) {
  const int place = index % sharing;
  return place == 0 ? remote_id : remote_id + "+" + std::to_string(place);
}

bool Happens(const char* step, const char* fault, unsigned percent) {
  return Faults::OfProcess().Happens(step, fault, percent);
}

// One call from the grid to a cluster. It takes its time, and either way it may get lost.
class Call {
 public:
  explicit Call(const std::string& step) : step_(step) {
    if (world::IsDead(world::Process())) throw CallFailed(CallFailed::Why::kUnreachable, "killed");
    fault_ = Faults::OfProcess().At({step});
    static const char* const kNames[] = {"",        " lost",   " answer lost",
                                         " killed", " paused", " outlived"};
    world::Trace(step + kNames[static_cast<int>(fault_)]);
    if (fault_ == Fault::kPaused || fault_ == Fault::kOutlived)
      sessions::Pause(fault_ == Fault::kOutlived);
    if (fault_ == Fault::kKilled) {
      killed_after_ = world::Chance(50);
      if (!killed_after_) sessions::Kill(world::Process());
    }
    Travel();
    if (fault_ == Fault::kLost) throw CallFailed(CallFailed::Why::kTimeout, "the request was lost");
  }
  /// The cluster has done what it was asked for; the answer is on its way.
  void Done() {
    if (fault_ == Fault::kKilled && killed_after_) sessions::Kill(world::Process());
    Travel();
    if (fault_ == Fault::kAnswer) throw CallFailed(CallFailed::Why::kTimeout, "no answer");
  }

 private:
  void Travel() {
    world::SleepFor(std::chrono::microseconds(500 + world::Random(20000)));
    if (world::IsDead(world::Process())) throw CallFailed(CallFailed::Why::kUnreachable, "killed");
  }
  const std::string step_;
  Fault fault_;
  bool killed_after_ = false;
};

}  // namespace

bool SimulatedSite::Job::Started() const { return starts_at <= world::Now(); }
bool SimulatedSite::Job::Ended() const { return ends_at <= world::Now(); }
bool SimulatedSite::Job::Succeeded() const {
  return Ended() && cause == cluster::EndCause::kExited && wait_status == 0;
}

class SimulatedCluster final : public cluster::Cluster {
 public:
  SimulatedCluster(SimulatedSite& site, std::string name, bool feed)
      : site_(site), name_(std::move(name)) {
    caps_.feed = feed;
    caps_.hold_release = !feed;
    caps_.revokes = site.revokes_;
    caps_.exact_walltime = true;
    caps_.absence_delay = std::chrono::seconds(2);
  }
  cluster::Capabilities capabilities() const override { return caps_; }

  std::vector<std::string> Submit(const cluster::Batch& batch) override {
    using Why = cluster::SubmitRefused::Why;
    sessions::Called("submit");
    std::vector<std::string> ids;
    try {
      Call call("submit: send");
      if (std::chrono::steady_clock::now() > batch.send_by)
        throw cluster::SubmitRefused(Why::kTemporary, "too late to send it");
      for (const auto& why : site_.closed_[name_])
        site_.violations_.push_back("jobs were sent to " + name_ + ", which is " + why);
      if (site_.revoked_.count(batch.tag) != 0)
        throw cluster::SubmitRefused(Why::kTemporary, "the tag was revoked");
      if (Happens("submit: send", "refused", 3))
        throw cluster::SubmitRefused(Why::kTemporary, "busy");
      if (Happens("submit: send", "carried out later", 5)) {
        site_.late_.push_back({world::Now() + LateBy(batch), name_, batch});
        throw cluster::SubmitInDoubt("no answer");
      }
      ids = site_.Take(name_, batch, caps_.hold_release);
      if (Happens("submit: send", "answer late", 10))
        world::SleepFor(std::chrono::milliseconds(500 + world::Random(4000)));
      call.Done();
    } catch (const CallFailed& e) {
      throw cluster::SubmitInDoubt(e.what());
    }
    return ids;
  }
  void Release(const cluster::Batch& batch, const std::vector<std::string>&) override {
    Call call("submit: release");
    for (auto& [key, job] : site_.jobs_[name_])
      if (job.tag == batch.tag && job.IsFirst() && job.starts_at == INT64_MAX && !job.Ended())
        site_.Start(name_, site_.SharedBy(name_, job.remote_id));
    call.Done();
  }
  cluster::FindResult Find(const std::string& tag, const std::string&, double,
                           bool revoke) override {
    sessions::Called("find");
    Call call("submit: look up");
    site_.TakeLate();
    if (revoke) site_.revoked_.insert(tag);
    cluster::FindResult found;
    found.complete = !Happens("submit: look up", "incomplete", 5);
    found.revoked = revoke;
    for (const auto& [key, job] : site_.jobs_[name_])
      if (job.tag == tag && job.IsFirst() && (found.complete || world::Chance(50)))
        found.jobs.push_back(site_.Seen(job));
    call.Done();
    return found;
  }
  cluster::PollResult Poll(const cluster::PollRequest& request) override {
    Call call("status: poll");
    site_.TakeLate();
    auto result = caps_.feed ? PollFeed(request) : PollJobs(request);
    result.cluster_time = Seconds(world::Now());
    for (const auto& job : result.jobs)
      if (job.state == RemoteState::kEnded && job.cause == cluster::EndCause::kDeleted)
        sessions::KilledJobSeen();
    call.Done();
    return result;
  }
  cluster::Resources GetResources(const std::vector<std::string>&) override {
    cluster::Resources resources;
    resources.max = 100;
    return resources;
  }
  cluster::KillResult Kill(const std::vector<cluster::RemoteRef>& refs) override {
    Call call("kill: send");
    cluster::KillResult result;
    for (const auto& ref : refs) {
      const auto job = site_.SharedBy(name_, ref.remote_id);
      if (job.empty() || job.back()->Ended()) {
        result.gone.push_back(ref);
      } else if (ref.only_waiting && job.front()->Started()) {
        result.begun.push_back(ref);
      } else if (Happens("kill: send", "refused",
                         Faults::OfProcess().Aims("kill: answer") ? 80 : 20)) {
        result.failed.emplace_back(ref, "busy");
      } else {
        result.asked.push_back(ref);
        // It may be registered and do nothing.
        if (!Happens("kill: send", "without effect", 10)) SimulatedSite::End(job);
      }
    }
    call.Done();
    return result;
  }
  std::vector<cluster::RemoteJob> ListTagged(const std::string&, const JobFilter& wanted) override {
    std::vector<cluster::RemoteJob> listed;
    for (const auto& [key, job] : site_.jobs_[name_])
      if (job.IsFirst() && !site_.SharedBy(name_, job.remote_id).back()->Ended() &&
          wanted(job.remote_id, job.tag))
        listed.push_back(site_.Seen(job));
    return listed;
  }
  std::vector<cluster::CheckItem> Check(const std::string&, bool) override { return {}; }

 private:
  cluster::PollResult PollJobs(const cluster::PollRequest& request) {
    cluster::PollResult result;
    for (const auto& ref : request.jobs) {
      const auto it = site_.jobs_[name_].find(KeyOf(ref.remote_id, ref.index, ref.tasks_per_job));
      if (it == site_.jobs_[name_].end() || it->second.tag != ref.tag)
        result.missing.push_back(ref);
      else if (!Happens("status: poll", "job left out", 5))
        result.jobs.push_back(site_.Seen(it->second));
    }
    return result;
  }
  // Its token is the moment before the answer: what changed since then is news, also what changes
  // after the answer and at the same time.
  cluster::PollResult PollFeed(const cluster::PollRequest& request) {
    const std::int64_t since = request.token.empty() ? -1 : std::stoll(request.token);
    std::map<std::string, cluster::RemoteJob> news;
    const auto find = [&] {
      site_.TakeLate();
      for (const auto& [key, job] : site_.jobs_[name_]) {
        const auto changed = job.Ended() ? job.ends_at : job.Started() ? job.starts_at : 0;
        if (changed > since) news[key] = site_.Seen(job);
      }
      return !news.empty();
    };
    const auto until = world::Now() + std::chrono::nanoseconds(request.wait).count();
    while (!find() && since >= 0 && world::Now() < until && !world::IsDead(world::Process()))
      world::SleepFor(std::chrono::milliseconds(500));
    cluster::PollResult result;
    result.full = since < 0;
    result.token = std::to_string(world::Now() - 1);
    for (auto& [id, job] : news) result.jobs.push_back(std::move(job));
    return result;
  }

  // A POST that is under way when its client gives up is carried out before the absence of its tag
  // is final: soon, or at the last moment.
  std::int64_t LateBy(const cluster::Batch& batch) const {
    const std::chrono::nanoseconds left = batch.send_by - std::chrono::steady_clock::now();
    const auto last = left.count() + std::chrono::nanoseconds(caps_.absence_delay).count() - kMs;
    const auto most = world::Chance(50) ? 1500 * kMs : std::max(kMs, last);
    return world::Random(static_cast<unsigned>(most / kMs)) * kMs;
  }

  SimulatedSite& site_;
  const std::string name_;
  cluster::Capabilities caps_;
};

std::unique_ptr<cluster::Cluster> SimulatedSite::MakeDriver(const clusterdb::ClusterRow& row) {
  return std::make_unique<SimulatedCluster>(*this, row.config.name, row.config.id == 2);
}

std::vector<std::string> SimulatedSite::Take(const std::string& cluster,
                                             const cluster::Batch& batch, bool hold) {
  auto& ids = taken_[batch.tag];
  if (!ids.empty()) return ids;
  for (std::size_t i = 0; i < batch.elements.size(); ++i) {
    const auto place = static_cast<int>(i) % batch.tasks_per_job;
    if (place == 0)
      ids.push_back(std::to_string(next_id_++));
    else
      ids.push_back(ids.back());
    Job job{.tag = batch.tag,
            .remote_id = ids.back(),
            .index = static_cast<int>(i),
            .sharing = batch.tasks_per_job,
            .last = place + 1 == batch.tasks_per_job || i + 1 == batch.elements.size(),
            .campaign = batch.campaign_id,
            .task = TaskOf(batch, i),
            .needs_prologue = batch.campaign_name.find(kWithScripts) != std::string::npos,
            .copies = batch.campaign_name.find(kWithCopies) != std::string::npos ? 1 : 0};
    job.lasts = (500 + world::Random(8000)) * kMs;
    // Before the grid has recorded it, where it starts at once.
    if (Happens("jobs", "ends at once", 25)) job.lasts = world::Random(20) * kMs;
    if (Happens("jobs", "runs long", Faults::OfProcess().Aims("kill") ? 60 : 20))
      job.lasts = 1000 * kSecond;
    if (Happens("jobs", "preempted", Faults::OfProcess().Aims("submit") ? 40 : 10))
      job.cause = cluster::EndCause::kPreempted;
    else if (Happens("jobs", "program failed", Faults::OfProcess().Aims("status") ? 40 : 10))
      job.wait_status = 1 << 8;
    jobs_[cluster].emplace(KeyOf(job.remote_id, job.index, job.sharing), job);
    if (job.last && !hold) Start(cluster, SharedBy(cluster, job.remote_id));
  }
  return ids;
}

SimulatedSite::Shared SimulatedSite::SharedBy(const std::string& cluster,
                                              const std::string& remote_id) {
  Shared job;
  auto& jobs = jobs_[cluster];
  for (auto it = jobs.find(remote_id); it != jobs.end();
       it = jobs.find(remote_id + "+" + std::to_string(job.size())))
    job.push_back(&it->second);
  return job;
}

// As of the moment in which it begins.
void SimulatedSite::Check(const std::string& cluster, Job& one) {
  one.checked = true;
  CheckScripts(cluster, one);
  CheckOnce(cluster, one);
}

// A task runs once at a time (in a campaign with copies, twice), and not after its success; a
// script once at a time on its cluster, and a prologue again only after an epilogue.
void SimulatedSite::CheckOnce(const std::string& cluster, const Job& one) {
  const auto task = "task " + std::to_string(one.task);
  int running = 0;
  for (const auto& [name, jobs] : jobs_)
    for (const auto& [key, job] : jobs) {
      if (job.campaign != one.campaign || job.task != one.task || &job == &one ||
          job.starts_at > one.starts_at || (one.task < 0 && name != cluster))
        continue;
      const bool over = job.ends_at <= one.starts_at;
      running += !over;
      // Who claimed the copy cannot know yet.
      if (!over || !job.Succeeded() || one.task == kEpilogue || one.copies) continue;
      if (one.task == kPrologue &&
          LastEpilogue(cluster, one.campaign, one.starts_at) >= job.ends_at)
        continue;
      violations_.push_back(task + " ran again after its success");
    }
  if (running > one.copies) violations_.push_back(task + " ran too often at once");
}

// When the last epilogue of the campaign until `at` began there; -1: none has.
std::int64_t SimulatedSite::LastEpilogue(const std::string& cluster, std::int64_t campaign,
                                         std::int64_t at) {
  std::int64_t last = -1;
  for (const auto& [key, job] : jobs_[cluster])
    if (job.campaign == campaign && job.task == kEpilogue && job.starts_at <= at)
      last = std::max(last, job.starts_at);
  return last;
}

void SimulatedSite::CheckScripts(const std::string& cluster, const Job& one) {
  bool others = false;
  std::int64_t prologue = -1;  // when the last good one ended
  for (const auto& [key, job] : jobs_[cluster]) {
    if (job.campaign != one.campaign || &job == &one) continue;
    const bool over = job.ends_at <= one.starts_at;
    if (job.task == kPrologue && over && job.Succeeded())
      prologue = std::max(prologue, job.ends_at);
    others = others || (job.starts_at <= one.starts_at && !over);
  }
  if (one.task >= 0 && one.needs_prologue && prologue < 0)
    violations_.push_back("a task began on " + cluster + " before its prologue had succeeded");
  else if (one.task >= 0 && LastEpilogue(cluster, one.campaign, one.starts_at) > prologue)
    violations_.push_back("a task began on " + cluster + " after the epilogue, with no prologue");
  if (one.task == kEpilogue && others)
    violations_.push_back("the epilogue began on " + cluster + " while a job of its campaign ran");
}

void SimulatedSite::Start(const std::string& cluster, const Shared& job) {
  auto& first = *job.front();
  Plan(job, 0, world::Now());
  Check(cluster, first);
  world::Trace("job " + first.remote_id + " of task " + std::to_string(first.task) + " starts");
}

// One begins when the one before it has ended, unless all of them were preempted then.
void SimulatedSite::Plan(const Shared& job, std::size_t from, std::int64_t at) const {
  bool goes_on = from == 0 || job[from - 1]->cause != cluster::EndCause::kPreempted;
  for (std::size_t i = from; i < job.size(); ++i) {
    auto& one = *job[i];
    one.starts_at = goes_on ? at : INT64_MAX;
    if (goes_on) at += calm_ ? std::min(one.lasts, 3 * kSecond) : one.lasts;
    one.ends_at = at;
    if (!goes_on) one.cause = cluster::EndCause::kNotBegun;
    goes_on = goes_on && one.cause != cluster::EndCause::kPreempted;
  }
}

void SimulatedSite::End(const Shared& job) {
  for (auto* one : job) {
    if (one->Ended()) continue;
    const bool begun = one == job.front() || one->Started();
    one->cause = begun ? cluster::EndCause::kDeleted : cluster::EndCause::kNotBegun;
    if (!one->Started()) one->starts_at = INT64_MAX;
    one->ends_at = world::Now();
  }
}

// Looks at those that have begun in a job of others since the last look, in the order of time.
void SimulatedSite::BeginShared() {
  std::vector<std::pair<const std::string*, Job*>> begun;
  for (auto& [name, jobs] : jobs_)
    for (auto& [key, job] : jobs)
      if (!job.IsFirst() && !job.checked && job.Started()) begun.emplace_back(&name, &job);
  std::sort(begun.begin(), begun.end(),
            [](const auto& a, const auto& b) { return a.second->starts_at < b.second->starts_at; });
  for (const auto& [name, job] : begun) Check(*name, *job);
}

// POSTs that were carried out after their clients had gone.
void SimulatedSite::TakeLate() {
  BeginShared();
  for (auto it = late_.begin(); it != late_.end();) {
    if (it->at > world::Now()) {
      ++it;
      continue;
    }
    if (revoked_.count(it->batch.tag) == 0) Take(it->cluster, it->batch, it->cluster == "c1");
    it = late_.erase(it);
  }
}

cluster::RemoteJob SimulatedSite::Seen(const Job& job) {
  cluster::RemoteJob seen;
  seen.ref.remote_id = job.remote_id;
  seen.ref.tag = job.tag;
  seen.ref.index = job.index;
  seen.ref.tasks_per_job = job.sharing;
  seen.state = job.Ended()     ? RemoteState::kEnded
               : job.Started() ? RemoteState::kRunning
                               : RemoteState::kHeld;
  seen.cause = job.cause;
  if (job.Started()) seen.started_at = Seconds(job.starts_at);
  if (job.Ended()) seen.ended_at = Seconds(job.ends_at);
  if (job.Ended() && job.cause == cluster::EndCause::kExited) seen.wait_status = job.wait_status;
  return job.sharing > 1 ? InShared(job, seen.ref) : seen;
}

// As drivers put it together, of what the cluster says of the job and of what the job has written.
cluster::RemoteJob SimulatedSite::InShared(const Job& job, const cluster::RemoteRef& ref) {
  Shared all;
  for (const auto& [name, jobs] : jobs_)
    if (jobs.count(job.remote_id) != 0) all = SharedBy(name, job.remote_id);
  cluster::RemoteJob whole;
  whole.ref = ref;
  whole.state = all.back()->Ended()      ? RemoteState::kEnded
                : all.front()->Started() ? RemoteState::kRunning
                                         : RemoteState::kHeld;
  if (all.front()->Started()) whole.started_at = Seconds(all.front()->starts_at);
  if (all.back()->Ended()) whole.ended_at = Seconds(all.back()->ends_at);
  cluster::GroupLog log;
  for (const auto* one : all) {
    const int place = one->index % one->sharing;
    if (one->Started()) log.begun[log.last_begun = place] = Seconds(one->starts_at);
    if (!one->Ended()) continue;
    if (one->cause == cluster::EndCause::kExited)
      log.ends[place] = {one->wait_status, Seconds(one->starts_at), Seconds(one->ends_at)};
    else if (one->cause != cluster::EndCause::kNotBegun)
      whole.cause = one->cause;
  }
  if (whole.state == RemoteState::kEnded && whole.cause == cluster::EndCause::kExited)
    whole.wait_status = 0;
  return cluster::InGroup(whole, ref, job.last, log);
}

void SimulatedSite::Calm() {
  calm_ = true;
  for (auto& [name, jobs] : jobs_)
    for (auto& [key, job] : jobs) {
      if (!job.IsFirst()) continue;
      const auto all = SharedBy(name, job.remote_id);
      for (std::size_t i = 0; i < all.size(); ++i)
        if (all[i]->Started() && !all[i]->Ended()) {
          all[i]->ends_at = std::min(all[i]->ends_at, world::Now() + 3 * kSecond);
          Plan(all, i + 1, all[i]->ends_at);
        }
    }
}

const std::vector<std::string>& SimulatedSite::Violations() {
  BeginShared();
  return violations_;
}

std::map<std::int64_t, int> SimulatedSite::Successes(std::int64_t campaign) {
  std::map<std::int64_t, int> successes;
  for (const auto& [name, jobs] : jobs_)
    for (const auto& [key, job] : jobs)
      if (job.campaign == campaign && job.task >= 0 && job.Succeeded()) ++successes[job.task];
  return successes;
}

std::vector<std::string> SimulatedSite::WithoutEpilogue(std::int64_t campaign) const {
  std::vector<std::string> clusters;
  for (const auto& [name, jobs] : jobs_) {
    std::int64_t last = 0, epilogue = 0;
    for (const auto& [key, job] : jobs) {
      if (job.campaign != campaign || !job.needs_prologue || !job.Started()) continue;
      if (job.task != kEpilogue)
        last = std::max(last, job.ends_at);
      else if (job.Ended() && job.cause == cluster::EndCause::kExited)
        epilogue = std::max(epilogue, job.starts_at);
    }
    if (last > epilogue) clusters.push_back(name);
  }
  return clusters;
}

bool SimulatedSite::HasCopies(std::int64_t campaign) const {
  for (const auto& [name, jobs] : jobs_)
    for (const auto& [key, job] : jobs)
      if (job.campaign == campaign) return job.copies > 0;
  return false;
}

int SimulatedSite::Live(std::int64_t campaign) {
  int live = 0;
  for (const auto& [name, jobs] : jobs_)
    for (const auto& [key, job] : jobs) live += job.campaign == campaign && !job.Ended();
  return live;
}

void SimulatedSite::SetClosed(const std::string& cluster, const std::string& why, bool closed) {
  if (closed)
    closed_[cluster].insert(why);
  else
    closed_[cluster].erase(why);
}

}  // namespace cigri::test
