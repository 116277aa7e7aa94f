#include "tests/seeds/simulated_site.h"

#include <algorithm>

namespace cigri::test {

using cluster::CallFailed;
using cluster::RemoteState;

class SimulatedCluster final : public cluster::Cluster {
 public:
  SimulatedCluster(SimulatedSite& site, std::string name) : site_(site), name_(std::move(name)) {
    caps_.revokes = true;
    caps_.exact_walltime = true;
    caps_.absence_delay = std::chrono::seconds(0);
  }
  cluster::Capabilities capabilities() const override { return caps_; }

  std::vector<std::string> Submit(const cluster::Batch& batch) override {
    std::lock_guard lock(site_.mutex_);
    using Why = cluster::SubmitRefused::Why;
    if (site_.revoked_.count(batch.tag) != 0)
      throw cluster::SubmitRefused(Why::kTemporary, "the tag was revoked");
    if (site_.Happens("refused", 5)) throw cluster::SubmitRefused(Why::kTemporary, "busy");
    if (site_.Happens("request lost", 10)) throw cluster::SubmitInDoubt("no answer");
    const int first = site_.next_id_;
    site_.Take(name_, batch);
    if (site_.Happens("answer lost", 15)) throw cluster::SubmitInDoubt("the answer was cut");
    std::vector<std::string> ids;
    for (int id = first; id < site_.next_id_; ++id) ids.push_back(std::to_string(id));
    return ids;
  }
  cluster::FindResult Find(const std::string& tag, const std::string&, double,
                           bool revoke) override {
    std::lock_guard lock(site_.mutex_);
    if (site_.Happens("look-up failed", 20)) throw CallFailed(CallFailed::Why::kTimeout, "silence");
    if (revoke) site_.revoked_.insert(tag);
    cluster::FindResult found;
    found.complete = true;
    found.revoked = revoke;
    for (const auto& [id, job] : site_.jobs_[name_])
      if (job.tag == tag) found.jobs.push_back(site_.Seen(id, job));
    return found;
  }
  cluster::PollResult Poll(const cluster::PollRequest& request) override {
    std::lock_guard lock(site_.mutex_);
    if (site_.Happens("poll failed", 10)) throw CallFailed(CallFailed::Why::kServer, "error 500");
    for (auto& [id, job] : site_.jobs_[name_])
      if (!job.ended && --job.polls_left <= 0) job.ended = true;
    cluster::PollResult result;
    for (const auto& ref : request.jobs) {
      const auto it = site_.jobs_[name_].find(ref.remote_id);
      if (it == site_.jobs_[name_].end() || it->second.tag != ref.tag)
        result.missing.push_back(ref);
      else if (!site_.Happens("job left out of an answer", 5))
        result.jobs.push_back(site_.Seen(it->first, it->second));
    }
    return result;
  }
  cluster::Resources GetResources(const std::vector<std::string>&) override {
    cluster::Resources resources;
    resources.max = 100;
    return resources;
  }
  void Release(const cluster::Batch&, const std::vector<std::string>&) override {}
  cluster::KillResult Kill(const std::vector<cluster::RemoteRef>& refs) override {
    std::lock_guard lock(site_.mutex_);
    cluster::KillResult result;
    for (const auto& ref : refs) {
      const auto it = site_.jobs_[name_].find(ref.remote_id);
      if (it == site_.jobs_[name_].end() || it->second.ended)
        result.gone.push_back(ref);
      else if (site_.Happens("kill refused", 20))
        result.failed.emplace_back(ref, "busy");
      else
        result.asked.push_back(ref);
      // It may be registered and do nothing.
      if (result.asked.empty() || result.asked.back().remote_id != ref.remote_id) continue;
      if (site_.Happens("kill without effect", 20)) continue;
      it->second.ended = true;
      it->second.cause = cluster::EndCause::kDeleted;
      ++site_.faults_["killed before its end"];
    }
    return result;
  }
  std::vector<cluster::RemoteJob> ListTagged(const std::string&, const JobFilter&) override {
    return {};
  }
  std::vector<cluster::CheckItem> Check(const std::string&, bool) override { return {}; }

 private:
  SimulatedSite& site_;
  const std::string name_;
  cluster::Capabilities caps_;
};

std::unique_ptr<cluster::Cluster> SimulatedSite::MakeDriver(const clusterdb::ClusterRow& row) {
  return std::make_unique<SimulatedCluster>(*this, row.config.name);
}

bool SimulatedSite::Happens(const std::string& fault, int percent) {
  if (calm_ || static_cast<int>(random_() % 100) >= percent) return false;
  ++faults_[fault];
  return true;
}

void SimulatedSite::Take(const std::string& cluster, const cluster::Batch& batch) {
  for (std::size_t i = 0; i < batch.elements.size(); ++i) {
    const auto task = batch.elements[i].task_index;
    for (const auto& [name, jobs] : jobs_)
      for (const auto& [id, job] : jobs) {
        if (job.task != task) continue;
        if (!job.ended)
          violations_.push_back("task " + std::to_string(task) + " ran twice at once");
        else if (job.cause == cluster::EndCause::kExited && job.wait_status == 0)
          violations_.push_back("task " + std::to_string(task) + " ran again after its success");
      }
    Job job{.tag = batch.tag, .index = static_cast<int>(i), .task = task};
    job.polls_left = 1 + static_cast<int>(random_() % 4);
    if (Happens("runs long", 20)) job.polls_left = 1000;
    if (Happens("preempted", 10))
      job.cause = cluster::EndCause::kPreempted;
    else if (Happens("program failed", 10))
      job.wait_status = 1 << 8;
    jobs_[cluster].emplace(std::to_string(next_id_++), std::move(job));
  }
}

cluster::RemoteJob SimulatedSite::Seen(const std::string& id, const Job& job) const {
  cluster::RemoteJob seen;
  seen.ref.remote_id = id;
  seen.ref.tag = job.tag;
  seen.ref.index = job.index;
  seen.state = job.ended ? RemoteState::kEnded : RemoteState::kRunning;
  seen.cause = job.cause;
  if (job.ended && job.cause == cluster::EndCause::kExited) seen.wait_status = job.wait_status;
  return seen;
}

void SimulatedSite::Calm() {
  std::lock_guard lock(mutex_);
  calm_ = true;
  for (auto& [name, jobs] : jobs_)
    for (auto& [id, job] : jobs) job.polls_left = std::min(job.polls_left, 4);
}

std::vector<std::string> SimulatedSite::Violations() {
  std::lock_guard lock(mutex_);
  return violations_;
}

std::map<std::string, int> SimulatedSite::Faults() {
  std::lock_guard lock(mutex_);
  return faults_;
}

std::map<std::int64_t, int> SimulatedSite::Successes() {
  std::lock_guard lock(mutex_);
  std::map<std::int64_t, int> successes;
  for (const auto& [name, jobs] : jobs_)
    for (const auto& [id, job] : jobs)
      if (job.ended && job.cause == cluster::EndCause::kExited && job.wait_status == 0)
        ++successes[job.task];
  return successes;
}

}  // namespace cigri::test
