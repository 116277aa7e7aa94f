// The simulation of a scenario: the grid's own decisions on a virtual clock, against clusters that
// behave as the scenario says. The same scenario and seed give the same jobs, to the bit.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "policy/decide.h"
#include "sim/scenario.h"

namespace cigri::sim {

/// How an attempt ended.
enum class End : std::uint8_t {
  kDone,
  kFailed,     ///< on its own: counts as a try
  kWalltime,   ///< killed for its length: counts as a try
  kPreempted,  ///< a local user took the slot back, or its life there was over
  kLost,       ///< with its node or its cluster
  kCancelled,  ///< by the policy, for another campaign
  kCopy,       ///< another copy of its task was first
  kRunning,    ///< still there when the simulation stopped
  kNever,      ///< the same, and had not started
};
std::string_view ToString(End end);

/// One attempt of a task. Times in seconds of the scenario; `campaign` and `cluster` are places in
/// the scenario.
struct Attempt {
  std::int64_t job = 0, task = 0;
  int campaign = 0, cluster = 0, slots = 1;
  BatchKind kind = BatchKind::kTask;
  double sent = 0, started = -1, ended = 0;
  End end = End::kDone;
  double slowed_s = 0;  ///< of its run: what a cluster with slow jobs has added
};

/// A moment in which the grid decided.
struct Moment {
  double now = 0;
  const policy::Snapshot& snapshot;  ///< times of it are `now` + kEpoch
  const policy::PlanResult& result;
};
/// Begin of the scenario on the clock of its decisions: a midnight.
inline constexpr double kEpoch = 1000 * 86400.0;

/// Hears what happens, in the order of time.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void Submitted(int /*campaign*/, double /*now*/) {}
  virtual void Started(int /*campaign*/, int /*slots*/, double /*now*/) {}
  virtual void Ended(const Attempt&) {}
  /// Every task of a campaign is done or given up.
  virtual void Over(int /*campaign*/, double /*now*/) {}
  virtual void LocalEnded(int /*cluster*/, double /*started*/, double /*ended*/, int /*slots*/) {}
  virtual void Decided(const Moment&) {}
  /// Decided() looks at the reasons: else none are made.
  virtual bool ReadsReasons() const { return false; }
};

/// What became of the whole.
struct Totals {
  double until = 0;  ///< when it stopped
  std::int64_t events = 0, decisions = 0, jobs = 0;
  std::int64_t done = 0, failed = 0, not_done = 0;  ///< tasks
  std::int64_t active = 0;                          ///< campaigns that were not over
  double capacity_slot_s = 0;                       ///< of all clusters, while they were up
  double local_slot_s = 0;                          ///< used by local users
};

class Engine {
 public:
  /// REQUIRES: `scenario` is valid (ReadScenario) and outlives it, as do the observers.
  Engine(const Scenario& scenario, std::vector<Observer*> observers = {});
  ~Engine();
  /// Runs to the end, or to `until` (scenario clock) when that is earlier.
  Totals Run(double until = 1e300);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cigri::sim
