#include "almighty/almighty.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>

#include "almighty/election.h"
#include "almighty/lead.h"
#include "almighty/log_file.h"
#include "almighty/pair.h"
#include "core/config.h"
#include "core/error.h"
#include "core/log.h"
#include "embedded/machine.h"
#include "embedded/postgres.h"
#include "embedded/process.h"

namespace cigri::almighty {
namespace {

using std::chrono::seconds;
constexpr seconds kAskEvery{1}, kHurryFor{2}, kHomeIsAway{10};
constexpr double kGraceS = 8;
constexpr milliseconds kHurry{30};

// Blocked and read from a descriptor: nothing is interrupted. Children get a clean mask.
process::Fd StopSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (int n : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, n);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  return process::Fd(signalfd(-1, &set, SFD_CLOEXEC));
}

// Waits until it leads; nullopt when asked to exit.
class Waiting {
 public:
  Waiting(const Options& options, const Config& config, int signals, Pair* pair, Outage& outage)
      : options_(options),
        outage_(outage),
        conninfo_(DatabaseConninfo(config)),
        term_(module::TermOf(config)),
        signals_(signals),
        pair_(pair) {}

  std::optional<Leadership> Lead() {
    std::unique_ptr<Candidate> candidate;
    while (!AskedToEnd()) {
      if (HomeIsGone()) return EndGrid(), std::nullopt;
      try {
        if (Clock::now() >= rotate_at_) {  // this home may never lead
          RotateLogs(options_);
          rotate_at_ = Clock::now() + kRotateEvery;
        }
        pause_ = Clock::now() < hurry_until_ ? kHurry : milliseconds(kAskEvery);
        asking_since_ = Clock::now();
        if (!candidate) candidate = std::make_unique<Candidate>(conninfo_, term_);
        if (auto won = candidate->Try()) return won;
        outage_.LedByAnother();
        silent_ = false;
      } catch (const Fatal& e) {
        if (e.code() != kExitUnavailable && pair_ == nullptr) throw;
        Revive(e.what());
      } catch (const std::exception& e) {
        Revive(e.what());
      }
    }
    return std::nullopt;
  }

 private:
  using Clock = std::chrono::steady_clock;
  // Waits. When the other almighty has died, it may have been the leader: its lock is free in a
  // moment.
  bool AskedToEnd() {
    pollfd fds[2] = {{signals_, POLLIN, 0}, {pair_ != nullptr ? pair_->died_fd() : -1, POLLIN, 0}};
    poll(fds, 2, static_cast<int>(pause_.count()));
    if (fds[1].revents != 0) {
      pair_->Received();
      hurry_until_ = Clock::now() + kHurryFor;
    }
    return fds[0].revents != 0;
  }

  // Whoever deletes the folder wants no grid, and `cigri down` would find none to end. But a file
  // system may be away for a moment.
  bool HomeIsGone() {
    if (!options_.embedded || access(options_.home.dir.c_str(), F_OK) == 0 || errno != ENOENT)
      home_seen_ = Clock::now();
    return Clock::now() - home_seen_ > kHomeIsAway;
  }

  void EndGrid() const {
    log::error("the folder {} is gone: the grid ends", options_.home.dir);
    embedded::EndAll(embedded::GridProcesses, options_.home, kGraceS);
    embedded::EndAll(embedded::JobProcesses, options_.home, kGraceS);
  }

  // Leader and standby may both do this: one of them does it, under a lock.
  void Revive(const std::string& why) {
    outage_.NoDatabase(asking_since_);
    if (!silent_) log::warn("no database: {}", why);
    silent_ = true;
    pause_ = std::chrono::milliseconds(200);
    if (!options_.own_postgres) return;
    try {
      embedded::RestartPostgres(options_.home);
      pause_ = std::chrono::milliseconds(0);
    } catch (const std::exception& e) {
      log::error("{}", e.what());
      pause_ = kAskEvery;
    }
  }

  const Options& options_;
  Outage& outage_;
  std::string conninfo_;
  Term term_;
  int signals_;
  Pair* pair_;
  Clock::time_point hurry_until_{}, asking_since_{}, home_seen_ = Clock::now(), rotate_at_{};
  bool silent_ = false;
  milliseconds pause_{0};
};

std::vector<std::string> StandbyArguments(const Options& options) {
  std::vector<std::string> argv{embedded::OwnFolder() + "/almighty", "--standby", "--embedded",
                                "--bin-dir", options.bin_dir};
  if (options.own_postgres) argv.push_back("--own-postgres");
  return argv;
}

}  // namespace

int Run(const Options& options) {
  const Config config = Config::Load();
  const process::Fd signals = StopSignals();
  std::unique_ptr<Pair> pair;
  if (options.embedded) {
    pair = Pair::Join(options.home, StandbyArguments(options), signals.get());
    if (!pair) return log::info("two almighties are running already"), kExitOk;
  }
  Services services(options, signals.get());
  Outage outage;
  for (;;) {
    auto leadership = Waiting(options, config, signals.get(), pair.get(), outage).Lead();
    if (!leadership) return kExitOk;
    // Its modules, which end with it, hold the sockets of this grid.
    if (leadership->taken_over && pair) pair->KillOther("leads no more and does not answer");
    Lead lead(options, config, std::move(*leadership), module::TermOf(config), services, outage,
              signals.get());
    if (lead.Run() == Lead::End::kAsked) return kExitOk;
  }
}

}  // namespace cigri::almighty
