#include "almighty/lead.h"

#include <fmt/format.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "almighty/log_file.h"
#include "almighty/store.h"
#include "core/log.h"
#include "db/conninfo.h"
#include "db/events.h"

namespace cigri::almighty {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::seconds;
constexpr seconds kIdleTick{30};

// The corrected order of the 2009 note (CIG-37): predictions are made while statuses are fresh. The
// runners, one on each host, are next to the metascheduler: its answer wakes them.
std::vector<Stage> Stages() {
  return {{"updator", true},
          {"predictor", true},
          {"metascheduler", true},
          {"nikita", false},
          {"notifier", false}};
}

}  // namespace

Lead::Lead(const Options& options, const Config& config, Leadership leadership, Term term,
           Services& services, Outage& outage, int signals)
    : options_(options),
      services_(services),
      outage_(outage),
      leadership_(std::move(leadership)),
      term_(term),
      signals_(signals),
      busy_tick_(
          static_cast<std::int64_t>(1000 * std::max(0.1, config.GetDouble("SAFETY_TICK", 5)))),
      cycles_(Stages(), Pace{}) {
  AddChildren(DatabaseConninfo(config));
}

void Lead::AddChildren(const std::string& conninfo) {
  process::Environment environment{"CIGRI_EPOCH=" + std::to_string(leadership_.epoch)};
  // A module would ask a standby first.
  const std::string ordered = db::LastServerFirst(conninfo);
  if (ordered != conninfo) environment.push_back("CIGRI_DB=" + ordered);
  for (const auto& stage : Stages())
    children_.emplace_back(stage.name,
                           std::vector<std::string>{options_.bin_dir + "/" + stage.name}, true,
                           environment);
}

Lead::~Lead() {
  for (auto& child : children_) child.Kill();
  for (auto& child : children_)
    if (child.alive()) child.Reap(Clock::now());
}

Lead::End Lead::Run() {
  try {
    leadership_.session->Listen("cigri_wake");
    Note("ALMIGHTY_STARTING", "almighty", "leads, epoch " + std::to_string(leadership_.epoch));
    NoteOutage();
    while (!asked_ && !lost_) {
      asking_since_ = Clock::now();
      RenewLease();
      NoteRestarts();
      ReceiveNotices();  // notices that came during a statement do not wake poll()
      StartDue();
      KillStuck();
      SendSteps();
      Tick();
      Wait();
    }
  } catch (const std::exception& e) {
    // Whatever it was (also a commit in doubt): the children exit, and this process asks again to
    // lead. It must not exit itself: what hit it may hit the other almighty at the same moment.
    log::warn("lost the lead: {}", e.what());
    lost_ = true;
  }
  if (lost_ && !leadership_.session->alive()) outage_.SessionLost(asking_since_);
  if (asked_) StopAll(children_);
  return asked_ ? End::kAsked : End::kSessionLost;
}

void Lead::RenewLease() {
  const auto now = Clock::now();
  if (now < renew_at_ && now < leadership_.lease_ends) return;
  renew_at_ = now + term_.renew_every();
  almighty::RenewLease(leadership_, term_);
}

void Lead::NoteRestarts() {
  for (const auto& [name, how] : services_.TakeRestarts())
    Note("MODULE_RESTARTED", name, "ended: " + how);
}

// One event for each time, whoever leads after it: the other almighties have seen the same.
void Lead::NoteOutage() {
  const auto away = outage_.Take(leadership_.last_lease_ended, Clock::now());
  if (!away) return;
  db::Tx tx(*leadership_.session);
  db::Event event{.cls = "log", .code = "DATABASE_FAILOVER", .message = ""};
  event.message = "the database was unavailable for " +
                  fmt::format("{:.1f}", static_cast<double>(away->count()) / 1000) +
                  " s; the grid uses " + ServerAddress(tx);
  event.sample = {{"unavailable_ms", away->count()}};
  event.closed_by = "almighty";
  db::RaiseEvent(tx, event);
  tx.Commit();
  log::info("{}", event.message);
}

void Lead::StartDue() {
  const auto now = Clock::now();
  for (std::size_t i = 0; i < children_.size(); ++i) {
    auto& child = children_[i];
    if (child.alive() || child.start_at() > now) continue;
    std::string why;
    if (!child.Start(now, &why)) {
      NoteEnd(child, "cannot be started: " + why);
      continue;
    }
    if (!child.steps()) continue;
    cycles_.Up(i);
    cycles_.Wake(now);
  }
}

void Lead::SendSteps() {
  for (const auto& send : cycles_.Step(Clock::now())) children_[send.stage].Step(send.number);
}

void Lead::KillStuck() {
  const auto now = Clock::now();
  if (now >= look_at_) {
    look_at_ = now + Child::kLookEvery;
    for (auto& child : children_)
      if (child.KillStopped(now))
        Note("MODULE_STUCK", child.name(),
             "was stopped (SIGSTOP): the almighty kills and restarts it");
  }
  for (std::size_t i : cycles_.Stuck(now)) {
    if (!children_[i].alive()) continue;
    Note("MODULE_STUCK", children_[i].name(),
         "has not answered its step for a minute: the almighty kills and restarts it");
    children_[i].Kill();
    cycles_.Down(i);
  }
}

// Nothing depends on a notice: cycles come without one, less often in a grid without work.
void Lead::Tick() {
  const auto now = Clock::now();
  if (now >= rotate_at_) {
    RotateLogs(options_);
    rotate_at_ = now + kRotateEvery;
  }
  if (now < tick_at_) return;
  if (now < cycles_.last_began() + busy_tick_) {
    tick_at_ = cycles_.last_began() + busy_tick_;
    return;
  }
  db::Tx tx(*leadership_.session);
  const auto view = LoadLeaderView(tx);
  if (view.epoch != leadership_.epoch) {
    log::warn("another almighty leads (epoch {})", view.epoch);
    lost_ = true;
    return;
  }
  idle_ = !view.work;
  const auto next = cycles_.last_began() + (idle_ ? milliseconds(kIdleTick) : busy_tick_);
  if (next <= now) cycles_.Wake(now);
  tick_at_ = std::max(next, now + busy_tick_);
}

Time Lead::NextDeadline() const {
  auto next = std::min({tick_at_, rotate_at_, renew_at_, look_at_});
  if (const auto cycle = cycles_.NextDeadline()) next = std::min(next, *cycle);
  for (const auto& child : children_)
    if (!child.alive()) next = std::min(next, child.start_at());
  return next;
}

void Lead::Wait() {
  std::vector<pollfd> fds{{signals_, POLLIN, 0}, {leadership_.session->socket(), POLLIN, 0}};
  for (auto& child : children_) {
    fds.push_back({child.alive() ? child.pid_fd() : -1, POLLIN, 0});
    fds.push_back({child.alive() && child.steps() && !child.out().closed() ? child.out().fd() : -1,
                   POLLIN, 0});
  }
  const auto ms = std::chrono::ceil<milliseconds>(NextDeadline() - Clock::now()).count();
  poll(fds.data(), fds.size(), static_cast<int>(std::clamp<std::int64_t>(ms, 0, 60000)));
  asking_since_ = Clock::now();
  if (fds[0].revents != 0) asked_ = true;
  for (std::size_t i = 0; i < children_.size(); ++i) {
    if (fds[3 + 2 * i].revents != 0) Receive(i);
    if (fds[2 + 2 * i].revents != 0) Reap(i);
  }
}

void Lead::ReceiveNotices() {
  if (!leadership_.session->Wait(0).empty()) cycles_.Wake(Clock::now());
  if (!leadership_.session->alive()) {
    log::warn("lost the database session");
    lost_ = true;
  }
}

void Lead::Receive(std::size_t i) {
  const auto now = Clock::now();
  for (const auto& line : children_[i].out().Read()) {
    if (line == "wake") {
      cycles_.Wake(now);
    } else if (line.rfind("wake ", 0) == 0) {
      cycles_.Wake(now + milliseconds(std::max(0ll, std::atoll(line.c_str() + 5))));
    } else if (line.rfind("done ", 0) == 0) {
      cycles_.Done(i, now);
      if (children_[i].name() == "metascheduler") WakeRunners();
    } else if (line.rfind("fatal ", 0) == 0) {
      children_[i].Said(line.substr(6, 1000));
    } else {
      log::warn("{} wrote to its protocol: {}", children_[i].name(), line.substr(0, 200));
    }
  }
}

// There may be new grants.
void Lead::WakeRunners() {
  db::Tx tx(*leadership_.session, db::Tx::Sync::kOff);
  NotifyGrants(tx);
  tx.Commit();
}

void Lead::Reap(std::size_t i) {
  if (children_[i].steps()) Receive(i);  // its last words
  const std::string how = children_[i].Reap(Clock::now());
  if (children_[i].steps()) cycles_.Down(i);
  NoteEnd(children_[i], "ended: " + how);
}

// It does not run until it has made a pass (view ended_modules).
void Lead::NoteEnd(const Child& child, const std::string& what) {
  Note("MODULE_RESTARTED", child.name(), what, {{"makes_passes", child.steps()}});
}

void Lead::Note(const std::string& code, const std::string& module, const std::string& message,
                const nlohmann::json& sample) {
  log::info("{} {}", module, message);
  db::Tx tx(*leadership_.session, db::Tx::Sync::kOff);
  db::Event event;
  event.cls = "log";
  event.code = code;
  event.fingerprint = module;
  event.message = module + " " + message;
  event.sample = sample;
  db::RaiseEvent(tx, event);
  tx.Commit();
}

}  // namespace cigri::almighty
