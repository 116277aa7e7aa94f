// Asks one cluster to end jobs, in a thread of its own: a slow cluster costs the others nothing.
#pragma once
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cluster/cluster.h"
#include "module/module.h"

namespace cigri::nikita {

/// What came of one call.
struct Outcome {
  std::vector<std::pair<std::int64_t, std::string>> failed;  ///< job, and what the cluster said
  std::vector<std::int64_t> begun;  ///< jobs that were to be killed only while they wait
  /// Of copies, which have no job: by remote id, what the cluster said, "" = it is gone.
  std::map<std::string, std::string> duplicates;
};

class Killer {
 public:
  Killer(std::unique_ptr<cluster::Cluster> driver, module::Waker& waker);
  ~Killer();
  /// True while a call is on its way.
  bool busy();
  /// REQUIRES: !busy(). Calls the cluster in the background, then wakes the grid.
  void Kill(std::vector<cluster::RemoteRef> jobs);
  /// What became of finished calls since the last time.
  std::vector<Outcome> Take();

 private:
  void Loop();
  Outcome Call(const std::vector<cluster::RemoteRef>& jobs);

  std::unique_ptr<cluster::Cluster> driver_;
  module::Waker& waker_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;
  std::vector<cluster::RemoteRef> jobs_;
  std::vector<Outcome> outcomes_;
  std::thread thread_;
};

}  // namespace cigri::nikita
