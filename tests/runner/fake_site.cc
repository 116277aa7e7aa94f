#include "tests/runner/fake_site.h"

#include <algorithm>

namespace cigri::test {

namespace {
std::string RemoteId(const std::string& tag, int index) {
  return tag + "/" + std::to_string(index);
}
}  // namespace

class FakeCluster final : public cluster::Cluster {
 public:
  FakeCluster(FakeSite& site, std::string name) : site_(site), name_(std::move(name)) {
    caps_.hold_release = site.hold_release;
    caps_.revokes = site.revokes;
  }
  cluster::Capabilities capabilities() const override { return caps_; }

  std::vector<std::string> Submit(const cluster::Batch& batch) override {
    std::unique_lock lock(site_.mutex_);
    site_.changed_.wait(lock, [&] { return site_.hanging_ != name_; });
    if (!site_.refusal_.empty())
      throw cluster::SubmitRefused(cluster::SubmitRefused::Why::kTemporary, site_.refusal_);
    const auto network = site_.network_;
    site_.options_.push_back(batch.options.dump());
    if (network != Network::kLosesRequests)
      site_.taken_.push_back({name_, batch.tag, static_cast<int>(batch.elements.size()),
                              batch.tasks_per_job});
    if (network != Network::kWorks) throw cluster::SubmitInDoubt("connection reset");
    std::vector<std::string> ids;
    for (std::size_t i = 0; i < batch.elements.size(); ++i)
      ids.push_back(RemoteId(batch.tag, static_cast<int>(i)));
    return ids;
  }

  void Release(const cluster::Batch& batch, const std::vector<std::string>&) override {
    std::lock_guard lock(site_.mutex_);
    RequireToken(batch.cluster_user);
    site_.releases_.push_back(batch.cluster_user);
  }

  cluster::FindResult Find(const std::string& tag, const std::string& user, double,
                           bool revoke) override {
    std::lock_guard lock(site_.mutex_);
    RequireToken(user);
    cluster::FindResult found;
    found.complete = true;
    found.revoked = revoke;
    for (const auto& batch : site_.taken_)
      for (int i = 0; batch.cluster == name_ && batch.tag == tag && i < batch.n; i += batch.step) {
        cluster::RemoteJob job;
        job.ref.remote_id = RemoteId(tag, i);
        job.ref.tag = tag;
        job.ref.index = i;
        found.jobs.push_back(std::move(job));
      }
    return found;
  }

  // The runner calls none of these.
  cluster::PollResult Poll(const cluster::PollRequest&) override { return {}; }
  cluster::KillResult Kill(const std::vector<cluster::RemoteRef>&) override { return {}; }
  cluster::Resources GetResources(const std::vector<std::string>&) override { return {}; }
  std::vector<cluster::RemoteJob> ListTagged(const std::string&,
                                             const cluster::Cluster::JobFilter&) override {
    return {};
  }
  std::vector<std::string> TagsSince(const std::string&, double) override {
    std::lock_guard lock(site_.mutex_);
    if (name_ == site_.silent_cluster)
      throw cluster::CallFailed(cluster::CallFailed::Why::kUnreachable, "no route to host");
    std::vector<std::string> tags;
    for (const auto& batch : site_.taken_)
      if (batch.cluster == name_) tags.push_back(batch.tag);
    return tags;
  }
  std::vector<cluster::CheckItem> Check(const std::string&, bool) override { return {}; }

 private:
  void RequireToken(const std::string& user) const {
    if (user == site_.user_without_token_)
      throw cluster::CallFailed(cluster::CallFailed::Why::kAuth, "no token of user " + user);
  }
  FakeSite& site_;
  const std::string name_;
  cluster::Capabilities caps_;
};

std::unique_ptr<cluster::Cluster> FakeSite::MakeDriver(const clusterdb::ClusterRow& row) {
  if (row.config.name == broken_cluster) throw std::runtime_error("its address is wrong");
  return std::make_unique<FakeCluster>(*this, row.config.name);
}

void FakeSite::Set(Network network) {
  std::lock_guard lock(mutex_);
  network_ = network;
}

void FakeSite::Hang(const std::string& cluster) {
  {
    std::lock_guard lock(mutex_);
    hanging_ = cluster;
  }
  changed_.notify_all();
}

void FakeSite::Refuse(const std::string& why) {
  std::lock_guard lock(mutex_);
  refusal_ = why;
}

void FakeSite::TakeToken(const std::string& user) {
  std::lock_guard lock(mutex_);
  user_without_token_ = user;
}

void FakeSite::GivenSubmitted(const std::string& cluster, const std::string& tag, int n, int step) {
  std::lock_guard lock(mutex_);
  taken_.push_back({cluster, tag, n, step});
}

std::size_t FakeSite::Taken(const std::string& cluster) {
  std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::count_if(taken_.begin(), taken_.end(), [&](const auto& b) {
    return cluster.empty() || b.cluster == cluster;
  }));
}

std::vector<std::string> FakeSite::NodeOptions() {
  std::lock_guard lock(mutex_);
  return options_;
}

std::vector<std::string> FakeSite::Releases() {
  std::lock_guard lock(mutex_);
  return releases_;
}

}  // namespace cigri::test
