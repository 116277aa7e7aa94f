#include "tests/simulation/simulated_grid.h"

#include <sql/grid.h>

#include "almighty/store.h"
#include "core/error.h"
#include "metascheduler/metascheduler.h"
#include "nikita/nikita.h"
#include "predictor/predictor.h"
#include "runner/runner.h"
#include "tests/simulation/scheduler.h"
#include "tests/simulation/sessions.h"
#include "updator/updator.h"

namespace cigri::test {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
constexpr milliseconds kAskEvery{1000}, kAfterFailure{200}, kTick{5000}, kRunnerPasses{30000};

std::vector<almighty::Stage> Stages() {
  return {{"updator", true}, {"predictor", true}, {"metascheduler", true}, {"nikita", false}};
}

template <typename T, typename... Args>
SimulatedModule::Pass PassOf(Args&&... args) {
  auto object = std::make_shared<T>(std::forward<Args>(args)...);
  return [object](module::Step& step) { object->Pass(step); };
}

SimulatedModule::Pass MakePass(const std::string& name, SimulatedSite& site) {
  const auto driver = [&site](const clusterdb::ClusterRow& row) { return site.MakeDriver(row); };
  if (name == "updator") return PassOf<updator::Updator>(driver);
  if (name == "predictor") return PassOf<predictor::Predictor>();
  if (name == "metascheduler") return PassOf<metascheduler::Metascheduler>();
  if (name == "runner") return PassOf<runner::Runner>(driver);
  return PassOf<nikita::Nikita>(driver);
}

std::int64_t Nanoseconds(almighty::Time time) { return time.time_since_epoch().count(); }

}  // namespace

SimulatedModule::SimulatedModule(Settings settings)
    : settings_(std::move(settings)), process_(world::NewProcess(settings_.name)) {
  if (settings_.epoch) sessions::SetEpoch(process_, epoch_ = *settings_.epoch);
  const world::Enter enter(process_);
  thread_ = std::thread([this] { Main(); });
}

SimulatedModule::~SimulatedModule() {
  sessions::Kill(process_);
  thread_.join();
}

void SimulatedModule::Main() {
  {
    Pass pass = settings_.make();
    while (!stale_) {
      world::WaitUntil([this] { return asked_ || world::IsDead(process_); }, -1);
      if (world::IsDead(process_)) break;
      const auto number = *std::exchange(asked_, std::nullopt);
      PassOnce(pass, number);
      done_ = true;
    }
    // As a process ends: nothing that its other threads still do reaches anybody.
    sessions::Kill(process_);
  }
  db_.reset();
  ended_ = true;
}

// As module::Run makes it: a lost session is replaced, and the next pass is fresh.
void SimulatedModule::PassOnce(const Pass& pass, std::int64_t number) {
  try {
    if (!db_ || !db_->alive()) {
      db_.reset();
      db_ = std::make_unique<db::Connection>(settings_.conninfo, "cigri " + settings_.name);
      fresh_ = true;
      if (!settings_.epoch) epoch_ = db::Tx(*db_).One(sql::kCurrentEpoch).epoch;
    }
    module::Step step{
        *db_, *settings_.config, epoch_, number, fresh_, *settings_.waker, settings_.conninfo};
    pass(step);
    fresh_ = false;
  } catch (const module::StaleEpoch&) {
    stale_ = true;
  } catch (const std::exception& e) {
    world::Trace(std::string("pass failed: ") + e.what());
    settings_.waker->WakeIn(kAfterFailure);
  }
}

SimulatedAlmighty::SimulatedAlmighty(const std::string& name, std::string conninfo,
                                     SimulatedSite& site, const Config& config)
    : conninfo_(std::move(conninfo)),
      site_(site),
      config_(config),
      term_(module::TermOf(config)),
      process_(world::NewProcess(name)) {
  const world::Enter enter(process_);
  thread_ = std::thread([this] { Main(); });
  runner_thread_ = std::thread([this] { KeepRunner(); });
}

SimulatedAlmighty::~SimulatedAlmighty() {
  sessions::Kill(process_);
  thread_.join();
  runner_thread_.join();
}

void SimulatedAlmighty::RunnerWaker::WakeIn(milliseconds delay) {
  const auto at = Clock::now() + delay;
  if (!due || at < *due) due = at;
}

// As Services in services.cc, and as the runner's own loop in module.cc.
void SimulatedAlmighty::KeepRunner() {
  Restart restart;
  almighty::Time next{};
  std::int64_t number = 0;
  int seen = plans_;
  while (!world::IsDead(process_)) {
    const auto now = Clock::now();
    if (runner_ && runner_->ended()) {
      runner_.reset();
      restart.Postpone(now);
    }
    if (!runner_ && now >= restart.at) {
      restart.started = next = now;
      runner_ = std::make_unique<SimulatedModule>(
          SimulatedModule::Settings{.name = "runner",
                                    .conninfo = conninfo_,
                                    .make = [this] { return MakePass("runner", site_); },
                                    .config = &config_,
                                    .waker = &runner_waker_});
    }
    next = std::min(next, runner_waker_.due.value_or(next));
    if (runner_ && (now >= next || plans_ != seen)) {
      seen = plans_;
      next = now + kRunnerPasses;
      runner_waker_.due.reset();
      runner_->Step(++number);
    }
    const auto until = runner_ ? next : restart.at;
    world::WaitUntil(
        [&] {
          return world::IsDead(process_) ||
                 (runner_ && (runner_->ended() || plans_ != seen ||
                              (runner_waker_.due && *runner_waker_.due < until)));
        },
        Nanoseconds(until));
  }
  runner_.reset();
}

void SimulatedAlmighty::WakeIn(milliseconds delay) {
  const auto at = Clock::now() + delay;
  if (!wanted_ || at < *wanted_) wanted_ = at;
}

// As Child::Postpone in child.cc.
void SimulatedAlmighty::Restart::Postpone(almighty::Time now) {
  if (now - started >= std::chrono::seconds(1)) deaths = 0;
  at = now + (deaths == 0 ? milliseconds(0) : milliseconds(100 << std::min(deaths - 1, 5)));
  ++deaths;
}

// As Waiting::Lead in almighty.cc.
void SimulatedAlmighty::Main() {
  almighty::Candidate candidate(conninfo_, term_);
  while (!world::IsDead(process_)) {
    auto pause = kAskEvery;
    try {
      if (auto won = candidate.Try()) Lead(std::move(*won));
    } catch (const std::exception& e) {
      world::Trace(std::string("no election: ") + e.what());
      pause = kAfterFailure;
    }
    world::WaitUntil([this] { return world::IsDead(process_); }, Nanoseconds(Clock::now() + pause));
  }
  ended_ = true;
}

// As Lead::Run in lead.cc.
void SimulatedAlmighty::Lead(almighty::Leadership leadership) {
  world::Trace("leads, epoch " + std::to_string(leadership.epoch));
  try {
    LeadOn(leadership);
  } catch (const std::exception& e) {
    world::Trace(std::string("lost the lead: ") + e.what());
  }
  modules_.clear();
}

void SimulatedAlmighty::LeadOn(almighty::Leadership& leadership) {
  almighty::Cycles cycles(Stages(), {});
  modules_.resize(Stages().size());
  restarts_.assign(Stages().size(), {});
  almighty::Time renew_at{}, tick_at{};
  while (!world::IsDead(process_)) {
    const auto now = Clock::now();
    if (now >= renew_at || now >= leadership.lease_ends) {
      renew_at = now + term_.renew_every();
      almighty::RenewLease(leadership, term_);
    }
    StartModules(cycles, leadership.epoch);
    for (const auto stuck : cycles.Stuck(now)) {
      modules_[stuck].reset();
      cycles.Down(stuck);
    }
    if (now >= tick_at) {
      tick_at = now + kTick;
      db::Tx tx(*leadership.session);
      if (almighty::LoadLeaderView(tx).epoch != leadership.epoch) return;
      cycles.Wake(now);
    }
    for (const auto& send : cycles.Step(Clock::now())) modules_[send.stage]->Step(send.number);
    auto next = std::min(renew_at, tick_at);
    if (const auto cycle = cycles.NextDeadline()) next = std::min(next, *cycle);
    for (std::size_t i = 0; i < modules_.size(); ++i)
      if (!modules_[i]) next = std::min(next, restarts_[i].at);
    world::WaitUntil([this] { return world::IsDead(process_) || HasNews(); }, Nanoseconds(next));
    Receive(cycles, *leadership.session);
  }
}

void SimulatedAlmighty::StartModules(almighty::Cycles& cycles, std::int64_t epoch) {
  const auto now = Clock::now();
  for (std::size_t i = 0; i < modules_.size(); ++i) {
    auto& restart = restarts_[i];
    if (modules_[i] && modules_[i]->ended()) {
      modules_[i].reset();
      cycles.Down(i);
      restart.Postpone(now);
    }
    if (modules_[i] || now < restart.at) continue;
    restart.started = now;
    const auto name = Stages()[i].name;
    modules_[i] = std::make_unique<SimulatedModule>(
        SimulatedModule::Settings{.name = name,
                                  .conninfo = conninfo_,
                                  .epoch = epoch,
                                  .make = [this, name] { return MakePass(name, site_); },
                                  .config = &config_,
                                  .waker = this});
    cycles.Up(i);
    cycles.Wake(now);
  }
}

bool SimulatedAlmighty::HasNews() const {
  bool any = wanted_.has_value();
  for (const auto& module : modules_) any = any || (module && module->HasNews());
  return any;
}

// What the modules have written to their pipes.
void SimulatedAlmighty::Receive(almighty::Cycles& cycles, db::Connection& session) {
  if (wanted_) cycles.Wake(*std::exchange(wanted_, std::nullopt));
  for (std::size_t i = 0; i < modules_.size(); ++i) {
    if (!modules_[i] || !modules_[i]->TakeDone()) continue;
    cycles.Done(i, Clock::now());
    if (Stages()[i].name != "metascheduler") continue;
    db::Tx tx(session, db::Tx::Sync::kOff);
    almighty::NotifyGrants(tx);
    tx.Commit();
    ++plans_;
  }
}

}  // namespace cigri::test
