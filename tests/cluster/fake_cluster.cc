#include "fake_cluster.h"

#include "cluster/resource_request.h"
#include "core/text.h"

namespace cigri::test {

using namespace cluster;
using Outcome = FakeScheduler::Outcome;

// ---------------------------------------------------------------- the scheduler

Outcome FakeScheduler::Carry(Which which, const std::function<void()>& request) {
  const std::lock_guard lock(mutex_);
  const bool hit = which_ == Which::kAll || which_ == which;
  if (hit && fault_ == Fault::kNoConnection) return Outcome::kNotSent;
  request();
  if (!hit || fault_ == Fault::kNone) return Outcome::kAnswered;
  const bool answer = fault_ == Fault::kServerError || fault_ == Fault::kGarbage;
  return answer ? Outcome::kUnreadable : Outcome::kNoAnswer;
}

void FakeScheduler::Break(Fault fault, Which which) {
  const std::lock_guard lock(mutex_);
  fault_ = fault;
  which_ = which;
}

std::vector<std::string> FakeScheduler::Add(const Batch& batch, std::string* refusal) {
  if (batch.slots > kSlots) *refusal = "a job asks for more slots than there are";
  if (refused_tags.count(batch.tag) != 0) *refusal = "the tag was given up";
  if (!refusal->empty()) return {};
  std::vector<std::string> ids;
  for (const auto& element : batch.elements) {
    RemoteJob job;
    job.ref = {std::to_string(jobs.size() + 1),
               batch.tag,
               static_cast<int>(ids.size()),
               element.job_id,
               batch.cluster_user,
               batch.walltime_s};
    job.state = RemoteState::kHeld;
    ids.push_back(job.ref.remote_id);
    commands_[ids.back()] = element.command;
    jobs[ids.back()] = job;
  }
  return ids;
}

void FakeScheduler::Start(const std::string& id) {
  auto& job = jobs.at(id);
  const auto& command = commands_.at(id);
  if (job.state != RemoteState::kHeld) return;
  job.state = RemoteState::kRunning;
  if (!StartsWith(command, "exit ")) return;
  job.state = RemoteState::kEnded;
  job.wait_status = std::stoi(command.substr(5)) << 8;
}

RemoteJob* FakeScheduler::JobOf(const RemoteRef& ref) {
  const auto it = jobs.find(ref.remote_id);
  return it != jobs.end() && it->second.ref.tag == ref.tag ? &it->second : nullptr;
}

// ---------------------------------------------------------------- the driver

Capabilities FakeCluster::capabilities() const {
  Capabilities c;
  c.max_array = 100;
  c.revokes = c.hold_release = true;
  return c;
}

std::vector<std::string> FakeCluster::Submit(const Batch& batch) {
  using Why = SubmitRefused::Why;
  if (std::chrono::steady_clock::now() >= batch.send_by)
    throw SubmitRefused(Why::kTemporary, "its time to be sent had passed");
  std::vector<std::string> ids;
  std::string refusal;
  switch (scheduler_.Carry(Which::kSubmissions, [&] { ids = scheduler_.Add(batch, &refusal); })) {
    case Outcome::kNotSent:  // certain: the scheduler has seen nothing
      throw SubmitRefused(Why::kTemporary, "nobody answers");
    case Outcome::kNoAnswer:  // it may have been carried out
      throw SubmitInDoubt("no answer to the submission");
    case Outcome::kUnreadable:
      throw SubmitInDoubt("the answer to the submission names no jobs");
    case Outcome::kAnswered:
      break;
  }
  if (!refusal.empty()) throw SubmitRefused(Why::kBatch, refusal);
  return ids;
}

// Every other call: no answer is an exception, never an empty list.
void FakeCluster::Ask(const std::function<void()>& request) {
  using Why = CallFailed::Why;
  switch (scheduler_.Carry(Which::kAll, request)) {
    case Outcome::kNotSent:
      throw CallFailed(Why::kUnreachable, "nobody answers");
    case Outcome::kNoAnswer:
      throw CallFailed(Why::kTimeout, "no answer in time");
    case Outcome::kUnreadable:
      throw CallFailed(Why::kGarbage, "the answer cannot be read");
    case Outcome::kAnswered:
      return;
  }
}

void FakeCluster::Release(const Batch&, const std::vector<std::string>& remote_ids) {
  Ask([&] {
    for (const auto& id : remote_ids) scheduler_.Start(id);
  });
}

FindResult FakeCluster::Find(const std::string& tag, const std::string&, double, bool revoke) {
  FindResult found;
  Ask([&] {
    for (const auto& [id, job] : scheduler_.jobs)
      if (job.ref.tag == tag) found.jobs.push_back(job);
    if (revoke) scheduler_.refused_tags.insert(tag);
  });
  found.complete = true;  // the scheduler forgets nothing, and all of it was looked through
  found.revoked = revoke;
  return found;
}

PollResult FakeCluster::Poll(const PollRequest& request) {
  PollResult result;
  Ask([&] {
    for (const auto& ref : request.jobs) {
      const auto* job = scheduler_.JobOf(ref);
      if (job != nullptr)
        result.jobs.push_back(*job);
      else  // never seen, or the id of another job by now
        result.missing.push_back(ref);
    }
  });
  result.calls = 1;
  return result;
}

KillResult FakeCluster::Kill(const std::vector<RemoteRef>& jobs) {
  KillResult result;
  Ask([&] {
    for (const auto& ref : jobs) {
      auto* job = scheduler_.JobOf(ref);
      if (job == nullptr || job->state == RemoteState::kEnded) {
        result.gone.push_back(ref);  // an end that is there stays as it is
      } else if (ref.only_waiting && job->state == RemoteState::kRunning) {
        result.begun.push_back(ref);
      } else if (job->ref.cluster_user != ref.cluster_user) {
        result.failed.emplace_back(ref, "it is a job of " + job->ref.cluster_user);
      } else {
        job->state = RemoteState::kEnded;
        job->cause = EndCause::kDeleted;
        result.asked.push_back(ref);
      }
    }
  });
  return result;
}

// One of its slots has a GPU, on which nothing runs.
ResourceClass FakeCluster::ResourceClassOf(const Batch& batch) const {
  const int gpus = ResourceRequestOf(batch).gpus;
  return gpus > 0 ? ResourceClass{"gpu", gpus} : ResourceClass{};
}

Resources FakeCluster::GetResources(const std::vector<std::string>& classes) {
  Resources resources;
  for (const auto& request : classes)
    if (request == "gpu") resources.classes[request] = {"GPUs", 1, 1};
  Ask([&] {
    resources.max = FakeScheduler::kSlots;
    for (const auto& [id, job] : scheduler_.jobs)
      resources.used += job.state == RemoteState::kRunning ? 1 : 0;
  });
  return resources;
}

std::vector<RemoteJob> FakeCluster::ListTagged(const std::string& prefix, const JobFilter& wanted) {
  std::vector<RemoteJob> listed;
  Ask([&] {
    for (const auto& [id, job] : scheduler_.jobs)
      if (job.state != RemoteState::kEnded && StartsWith(job.ref.tag, prefix) &&
          (!wanted || wanted(id, job.ref.tag)))
        listed.push_back(job);
  });
  return listed;
}

// It forgets no job, so all are younger than any `since`.
std::vector<std::string> FakeCluster::TagsSince(const std::string& prefix, double) {
  std::set<std::string> tags;
  Ask([&] {
    for (const auto& [id, job] : scheduler_.jobs)
      if (StartsWith(job.ref.tag, prefix)) tags.insert(job.ref.tag);
  });
  return {tags.begin(), tags.end()};
}

std::vector<CheckItem> FakeCluster::Check(const std::string&, bool) {
  try {
    GetResources({});
    return {{"reachable", CheckItem::Verdict::kOk, "in memory"}};
  } catch (const CallFailed& e) {
    return {{"reachable", CheckItem::Verdict::kFail, e.what()}};
  }
}

}  // namespace cigri::test
