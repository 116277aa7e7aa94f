// Two almighties of an embedded grid keep each other alive.
#pragma once
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "embedded/home.h"
#include "embedded/process.h"

namespace cigri::almighty {

/// One of the two places, for as long as the object lives: a lock that the kernel lets go whatever
/// its holder dies of. A thread of its own watches the other place and starts an almighty there at
/// once when it is empty, also while this one is busy with a database that is not there.
class Pair {
 public:
  /// Takes a place; nothing when both are taken. `start`: the words that start another almighty.
  /// `signals`: readable when this process is asked to end; nothing is started after that.
  static std::unique_ptr<Pair> Join(const embedded::Home& home, std::vector<std::string> start,
                                    int signals);
  ~Pair();
  /// Readable when the other one has died, until Heard().
  int died_fd() const { return died_.get(); }
  void Heard();

 private:
  Pair(std::string other, embedded::Fd place, std::vector<std::string> start, int signals);
  void Watch();
  bool Wait(int fd, int ms);  // false: to end
  embedded::Fd OtherProcess();

  std::string other_;  // lock file of the other place
  embedded::Fd place_, died_, stop_;
  std::vector<std::string> start_;
  int signals_;
  std::thread thread_;
};

}  // namespace cigri::almighty
