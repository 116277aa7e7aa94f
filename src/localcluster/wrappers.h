// The cigri-jobs that this daemon has started.
#pragma once
#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "localcluster/job.h"

namespace cigri::localcluster {

/// A cigri-job of ours. It stands over one job at a time and then waits for another: a start of its
/// own would take longer than a short job.
struct Wrapper {
  pid_t pid = 0;
  process::Fd socket{};  ///< readable when its job has ended, or it has
  Job* job = nullptr;    ///< nullptr once the end of its job is known
  OutputFile out, err;   ///< of the job that has ended
  /// A job of its was killed. The signal may have come after the end of that job: it gets no other.
  bool signalled = false;
  std::chrono::steady_clock::time_point waits_since{};
};

class Wrappers {
 public:
  /// Throws Fatal when cigri-job does not stand next to this program.
  Wrappers();
  /// Gives a job with these descriptors (protocol.h) to one that waits, or to a new one. Throws
  /// LaunchError or TryLater.
  Wrapper* Start(const std::array<int, 6>& descriptors);
  /// The one that has this socket; nullptr: none has.
  Wrapper* Find(int socket);
  enum class News { kNone, kReady, kGone };
  /// What its socket says: it is ready for another job, or has ended.
  static News Hear(const Wrapper& wrapper);
  /// REQUIRES: Hear() has said kReady.
  void Wait(Wrapper* wrapper);
  /// REQUIRES: it has ended, or ends now. `wrapper` is no more.
  void Reap(Wrapper* wrapper);
  /// Ends those that have waited for so long; true when others wait.
  bool EndIdle(std::chrono::milliseconds since);

 private:
  Wrapper* Spawn();

  std::string program_;
  process::Fd null_;
  std::unordered_map<int, std::unique_ptr<Wrapper>> all_;  // by the number of their socket
  std::vector<Wrapper*> waiting_;                          // who has waited longest comes first
};

}  // namespace cigri::localcluster
