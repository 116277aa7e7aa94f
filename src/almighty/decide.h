// When which module gets its step: a state machine without clock or processes.
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
  milliseconds min_gap{20};   ///< between the beginnings of two cycles, in the mean
  int burst = 4;              ///< cycles that may begin at once after a while without any
  milliseconds budget{1000};  ///< of one step; then the cycle continues without that module
  milliseconds stuck{60000};  ///< a module that has not answered for so long must be killed
};

/// A module in the order of a cycle. The cycle waits for the answer of an awaited one.
struct Stage {
  std::string name;
  bool awaited = true;
};

/// Cycles: updator -> predictor -> metascheduler -> runner -> nikita, each once, in order. A module
/// has at most one unanswered step; it gets a step that it missed after its answer. One that nobody
/// awaits gets its first step at once: a runner takes its clusters with it.
class Cycles {
 public:
  Cycles(std::vector<Stage> stages, Pace pace);

  struct Send {
    std::size_t stage;
    std::int64_t number;
  };
  /// Asks for a cycle now, or at `at` (the earliest counts).
  void Wake(Time at);
  /// Module `stage` takes steps from now on / takes none any more (its unanswered one is
  /// forgotten).
  void Up(std::size_t stage);
  void Down(std::size_t stage);
  /// It answered its step.
  void Done(std::size_t stage, Time now);
  /// Steps to be sent now. Call after each of the above and at NextDeadline().
  std::vector<Send> Step(Time now);
  /// When Step() has something to do although nothing happens; nullopt: never.
  std::optional<Time> NextDeadline() const;
  /// Modules that have not answered for Pace::stuck.
  std::vector<std::size_t> Stuck(Time now) const;

  std::int64_t number() const { return number_; }
  bool running() const { return at_ < stages_.size(); }
  Time last_began() const { return began_; }

 private:
  struct State {
    bool up = false;
    bool missed = false;  ///< it was busy when its step came, or it has just come up
    std::optional<Time> busy_since;
    std::int64_t sent = 0;  ///< number of its last step
  };
  Time MayBegin() const { return paced_ - (pace_.burst - 1) * pace_.min_gap; }
  void Begin(Time now);
  bool Advance(Time now, std::vector<Send>& out);
  void Give(std::size_t stage, Time now, std::vector<Send>& out);

  std::vector<Stage> stages_;
  std::vector<State> states_;
  Pace pace_;
  std::optional<Time> wanted_;
  std::size_t at_;  ///< whose step it is; stages_.size(): no cycle is on
  std::int64_t number_ = 0;
  Time began_{};
  Time paced_{};  ///< when the cycles so far would have ended at one each min_gap
};

}  // namespace cigri::almighty
