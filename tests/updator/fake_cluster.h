// A cluster for tests of the updator: it answers polls from a script.
#pragma once
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "cluster/cluster.h"

namespace cigri::updator {

/// The script of a fake cluster. It outlives the drivers that answer from it. Thread-safe.
class FakeScript {
 public:
  /// The cluster's next answer. Without one a poll waits, as a feed without news does.
  void Answer(cluster::PollResult answer) {
    std::lock_guard lock(mutex_);
    answers_.push_back(std::move(answer));
    changed_.notify_all();
  }
  /// The next poll fails.
  void Fail() {
    std::lock_guard lock(mutex_);
    answers_.push_back(std::nullopt);
    changed_.notify_all();
  }
  /// No poll waits for an answer any more: it fails. For the end of a test.
  void Close() {
    std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  /// What the cluster was asked, in order.
  std::vector<cluster::PollRequest> requests() {
    std::lock_guard lock(mutex_);
    return requests_;
  }
  cluster::PollResult Poll(const cluster::PollRequest& request) {
    std::unique_lock lock(mutex_);
    requests_.push_back(request);
    changed_.wait(lock, [&] { return closed_ || !answers_.empty(); });
    if (closed_) throw cluster::CallFailed(cluster::CallFailed::Why::kUnreachable, "closed");
    auto answer = std::move(answers_.front());
    answers_.pop_front();
    if (!answer) throw cluster::CallFailed(cluster::CallFailed::Why::kServer, "as scripted");
    return *std::move(answer);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::optional<cluster::PollResult>> answers_;  // none: a failure
  std::vector<cluster::PollRequest> requests_;
  bool closed_ = false;
};

class FakeCluster : public cluster::Cluster {
 public:
  FakeCluster(std::shared_ptr<FakeScript> script, bool feed)
      : script_(std::move(script)), feed_(feed) {}
  cluster::Capabilities capabilities() const override {
    cluster::Capabilities caps;
    caps.feed = feed_;
    return caps;
  }
  cluster::PollResult Poll(const cluster::PollRequest& request) override {
    return script_->Poll(request);
  }
  cluster::Resources GetResources(const std::vector<std::string>& classes) override {
    cluster::Resources resources;
    resources.max = 10;
    for (const auto& request : classes)
      if (request == "gpu") resources.classes[request] = {"GPUs", 4, 3};
    return resources;
  }
  std::vector<cluster::RemoteJob> ListTagged(const std::string&, const JobFilter&) override {
    return {};
  }
  std::vector<std::string> Submit(const cluster::Batch&) override { throw NotAsked("Submit"); }
  cluster::FindResult Find(const std::string&, const std::string&, double, bool) override {
    throw NotAsked("Find");
  }
  void Release(const cluster::Batch&, const std::vector<std::string>&) override {
    throw NotAsked("Release");
  }
  std::vector<cluster::CheckItem> Check(const std::string&, bool) override {
    throw NotAsked("Check");
  }
  cluster::KillResult Kill(const std::vector<cluster::RemoteRef>&) override {
    throw NotAsked("Kill");
  }

 private:
  static std::logic_error NotAsked(const std::string& what) {
    return std::logic_error("the updator never calls " + what);
  }
  std::shared_ptr<FakeScript> script_;
  bool feed_;
};

}  // namespace cigri::updator
