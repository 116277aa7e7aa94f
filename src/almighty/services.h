// The daemons of a host: its runner, its API, and the local clusters of its home.
#pragma once
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "almighty/almighty.h"
#include "almighty/child.h"
#include "process/spawn.h"

namespace cigri::almighty {

/// Keeps the services of a home alive, whoever leads the grid: they outlive leaders and fail-overs
/// of the database. Of several almighties with the same home one does it, the next one takes over
/// at once when it dies. A thread of its own, so that no wait for a database delays it.
class Services {
 public:
  /// `signals`: readable when this process is asked to exit; the services exit then.
  Services(const Options& options, int signals);
  ~Services();
  Services(const Services&) = delete;

  /// What has exited and is restarted since the last call, and how it ended last:
  /// "localcluster[alpha]" -> "exit code 3".
  std::map<std::string, std::string> TakeRestarts();

 private:
  void Run();
  bool TakeOver();
  void Keep();
  bool Wait(const std::vector<int>& fds, int ms);
  void Reap(Child& child);

  const Options& options_;
  int signals_;
  process::Fd place_, stop_;
  std::vector<Child> children_;
  std::mutex mutex_;
  std::map<std::string, std::string> restarts_;
  std::thread thread_;
};

}  // namespace cigri::almighty
