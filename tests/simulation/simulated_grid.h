// A grid in this process: almighties that stand for election, a runner each, the modules of whoever
// leads, each a process of the world (scheduler.h) with threads and sessions of its own. They run
// what the programs run; only the pipes between almighty and modules, and what wakes the runners,
// are calls.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "almighty/decide.h"
#include "almighty/election.h"
#include "core/config.h"
#include "module/module.h"
#include "tests/simulation/simulated_site.h"

namespace cigri::test {

/// A module as its process has it.
class SimulatedModule {
 public:
  using Pass = std::function<void(module::Step&)>;
  struct Settings {
    std::string name, conninfo;
    std::optional<std::int64_t> epoch;  ///< none: the present one, whoever leads later
    std::function<Pass()> make;
    const Config* config = nullptr;
    module::Waker* waker = nullptr;
  };
  /// In a process of its own, a child of the calling one.
  explicit SimulatedModule(Settings settings);
  /// Its process is killed.
  ~SimulatedModule();
  void Step(std::int64_t number) { asked_ = number; }
  bool ended() const { return ended_; }
  /// Whether it has answered its step since the last time.
  bool TakeDone() { return std::exchange(done_, false); }
  bool HasNews() const { return done_ || ended_; }

 private:
  void Main();
  void PassOnce(const Pass& pass, std::int64_t number);

  const Settings settings_;
  std::unique_ptr<db::Connection> db_;
  std::int64_t epoch_ = 0;
  bool fresh_ = true, done_ = false, ended_ = false, stale_ = false;
  std::optional<std::int64_t> asked_;
  const int process_;
  std::thread thread_;
};

/// An almighty of a host, from its start to its death.
class SimulatedAlmighty : public module::Waker {
 public:
  SimulatedAlmighty(const std::string& name, std::string conninfo, SimulatedSite& site,
                    const Config& config);
  /// Its process is killed, and its modules and its runner with it.
  ~SimulatedAlmighty() override;
  bool ended() const { return ended_; }
  int process() const { return process_; }
  /// Of all leaders so far: each cycle makes one.
  static int plans() { return plans_; }
  void Wake() override { WakeIn(std::chrono::milliseconds(0)); }
  void WakeIn(std::chrono::milliseconds delay) override;

 private:
  struct Restart {
    almighty::Time at{}, started{};
    int deaths = 0;
    void Postpone(almighty::Time now);
  };
  /// Of the runner: a pass of its own, no cycle.
  struct RunnerWaker : module::Waker {
    std::optional<almighty::Time> due;
    void Wake() override { WakeIn(std::chrono::milliseconds(0)); }
    void WakeIn(std::chrono::milliseconds delay) override;
  };
  void Main();
  void KeepRunner();
  void Lead(almighty::Leadership leadership);
  void LeadOn(almighty::Leadership& leadership);
  void StartModules(almighty::Cycles& cycles, std::int64_t epoch);
  bool HasNews() const;
  void Receive(almighty::Cycles& cycles, db::Connection& session);

  const std::string conninfo_;
  SimulatedSite& site_;
  const Config& config_;
  const module::Term term_;
  bool ended_ = false;
  std::optional<almighty::Time> wanted_;
  std::vector<std::unique_ptr<SimulatedModule>> modules_;
  std::vector<Restart> restarts_;
  RunnerWaker runner_waker_;
  std::unique_ptr<SimulatedModule> runner_;
  static inline int plans_ = 0;  // of all leaders: each wakes all runners
  const int process_;
  std::thread thread_, runner_thread_;
};

}  // namespace cigri::test
