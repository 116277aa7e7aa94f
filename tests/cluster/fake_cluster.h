// A batch scheduler in memory and its driver: the smallest one that passes the conformance suite.
// docs/develop/write-a-driver.md explains it.
#pragma once
#include <functional>
#include <map>
#include <mutex>
#include <set>

#include "cluster/cluster.h"
#include "tests/cluster/conformance/fault.h"

namespace cigri::test {

using conformance::Fault;
using conformance::Which;

/// The scheduler. It starts a job as soon as it is released: "exit N" ends at once with N, any
/// other command runs until it is killed. REQUIRES: calls from several threads go through Carry.
class FakeScheduler {
 public:
  static constexpr int kSlots = 100;
  /// What the driver sees of a request, as of any network call.
  enum class Outcome { kAnswered, kNotSent, kNoAnswer, kUnreadable };
  /// Runs `request` unless the fault keeps it from arriving.
  Outcome Carry(Which which, const std::function<void()>& request);
  void Break(Fault fault, Which which);

  /// The jobs, by id.
  std::map<std::string, cluster::RemoteJob> jobs;
  std::set<std::string> refused_tags;
  /// Takes the batch on hold and returns its ids; why it does not in `refusal`.
  std::vector<std::string> Add(const cluster::Batch& batch, std::string* refusal);
  void Start(const std::string& id);
  /// The job of `ref`, with the same id and tag; nullptr when there is none.
  cluster::RemoteJob* JobOf(const cluster::RemoteRef& ref);

 private:
  std::mutex mutex_;
  Fault fault_ = Fault::kNone;
  Which which_ = Which::kAll;
  std::map<std::string, std::string> commands_;  // by id
};

/// Its driver.
class FakeCluster final : public cluster::Cluster {
 public:
  explicit FakeCluster(FakeScheduler* scheduler) : scheduler_(*scheduler) {}
  cluster::Capabilities capabilities() const override;
  std::vector<std::string> Submit(const cluster::Batch& batch) override;
  void Release(const cluster::Batch& batch, const std::vector<std::string>& remote_ids) override;
  cluster::FindResult Find(const std::string& tag, const std::string& cluster_user, double since,
                           bool revoke) override;
  cluster::PollResult Poll(const cluster::PollRequest& request) override;
  cluster::KillResult Kill(const std::vector<cluster::RemoteRef>& jobs) override;
  cluster::Resources GetResources(const std::vector<std::string>& classes) override;
  cluster::ResourceClass ResourceClassOf(const cluster::Batch& batch) const override;
  std::vector<cluster::RemoteJob> ListTagged(const std::string& prefix,
                                             const JobFilter& wanted) override;
  std::vector<std::string> TagsSince(const std::string& prefix, double since) override;
  std::vector<cluster::CheckItem> Check(const std::string& cluster_user, bool submit) override;

 private:
  void Ask(const std::function<void()>& request);
  FakeScheduler& scheduler_;
};

}  // namespace cigri::test
