// Work that takes a processor for long: a few at a time, the users in turn.
#pragma once
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <string>

namespace cigri::api {

/// Lets at most `most` threads through at once. Who waits is served by user, each user's next one
/// after one of every other user: whoever sends much waits for himself.
class Turns {
 public:
  explicit Turns(int most) : free_(most) {}
  /// A turn of `user`, waited for, as long as it lives.
  class Turn {
   public:
    Turn(Turns& turns, const std::string& user) : turns_(turns) { turns_.Enter(user); }
    ~Turn() { turns_.Leave(); }
    Turn(const Turn&) = delete;

   private:
    Turns& turns_;
  };
  /// How many wait.
  int waiting();

 private:
  void Enter(const std::string& user);
  void Leave();
  std::mutex mutex_;
  std::condition_variable changed_;
  int free_;
  std::deque<std::string> next_;        // users of whom somebody waits
  std::map<std::string, int> waiting_;  // how many, by user
};

}  // namespace cigri::api
