// Two almighties of an embedded grid keep each other alive.
#pragma once
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "embedded/home.h"
#include "process/spawn.h"

namespace cigri::almighty {

/// One of the two places, as long as the object lives: a lock that the kernel releases however its
/// holder dies. A thread watches the other place and starts an almighty there at once when it is
/// empty, also while this process waits for a database. It kills one that is stopped (SIGSTOP) for
/// 1 to 2 s.
class Pair {
 public:
  /// Takes a place; nothing when both are taken. `start`: the words that start another almighty.
  /// `signals`: readable when this process is asked to end; nothing is started after that.
  static std::unique_ptr<Pair> Join(const embedded::Home& home, std::vector<std::string> start,
                                    int signals);
  ~Pair();
  /// Readable when the other one has died, until Heard().
  int died_fd() const { return died_.get(); }
  void Received();
  /// Kills the process that holds the other place; `why`: "leads no more and does not answer".
  void KillOther(const char* why) const;

 private:
  Pair(std::string other, process::Fd place, std::vector<std::string> start, int signals);
  void Watch();
  bool Wait(int fd, int ms);  // false: to end

  std::string other_;  // lock file of the other place
  process::Fd place_, died_, stop_;
  std::vector<std::string> start_;
  int signals_;
  std::thread thread_;
};

}  // namespace cigri::almighty
