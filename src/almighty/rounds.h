// When which module gets its turn: a state machine without clock or processes.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cigri::almighty {

using Time = std::chrono::steady_clock::time_point;
using std::chrono::milliseconds;

struct Pace {
  milliseconds min_gap{20};   ///< between the beginnings of two rounds
  milliseconds budget{1000};  ///< of one turn; then the round continues without that module
  milliseconds stuck{60000};  ///< a module that has not answered for so long must be killed
};

/// A module in the order of a round. The round waits for the answer of an awaited one.
struct Seat {
  std::string name;
  bool awaited = true;
};

/// Rounds: updator -> predictor -> metascheduler -> runner -> nikita, each once, in order. A module
/// has at most one unanswered turn; it gets a turn that it missed after its answer.
class Rounds {
 public:
  Rounds(std::vector<Seat> seats, Pace pace);

  struct Send {
    std::size_t seat;
    std::int64_t number;
  };
  /// Asks for a round now, or at `at` (the earliest counts).
  void Wake(Time at);
  /// Module `seat` takes turns from now on / takes none any more (its unanswered one is forgotten).
  void Up(std::size_t seat);
  void Down(std::size_t seat);
  /// It answered its turn.
  void Done(std::size_t seat, Time now);
  /// Turns to be sent now. Call after each of the above and at NextLook().
  std::vector<Send> Step(Time now);
  /// When Step() has something to do although nothing happens; nullopt: never.
  std::optional<Time> NextLook() const;
  /// Modules that have not answered for Pace::stuck.
  std::vector<std::size_t> Stuck(Time now) const;

  std::int64_t number() const { return number_; }
  bool running() const { return at_ < seats_.size(); }
  Time last_began() const { return began_; }

 private:
  struct State {
    bool up = false;
    bool missed = false;  ///< it was busy when its turn came
    std::optional<Time> busy_since;
    std::int64_t sent = 0;  ///< number of its last turn
  };
  void Begin(Time now);
  bool Advance(Time now, std::vector<Send>& out);
  void Give(std::size_t seat, Time now, std::vector<Send>& out);

  std::vector<Seat> seats_;
  std::vector<State> states_;
  Pace pace_;
  std::optional<Time> wanted_;
  std::size_t at_;  ///< whose turn it is; seats_.size(): no round is on
  std::int64_t number_ = 0;
  Time began_{};
};

}  // namespace cigri::almighty
