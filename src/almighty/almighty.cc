#include "almighty/almighty.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>

#include "almighty/election.h"
#include "almighty/lead.h"
#include "core/config.h"
#include "core/error.h"
#include "core/log.h"
#include "embedded/postgres.h"

namespace cigri::almighty {
namespace {

using std::chrono::seconds;
constexpr seconds kAskEvery{1};

// Blocked and read from a descriptor: nothing is interrupted. Children get a clean mask.
embedded::Fd StopSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (int n : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, n);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  return embedded::Fd(signalfd(-1, &set, SFD_CLOEXEC));
}

bool AskedToEnd(int signals, milliseconds wait) {
  pollfd fd{signals, POLLIN, 0};
  return poll(&fd, 1, static_cast<int>(wait.count())) > 0;
}

// Waits for its turn to lead; nothing when asked to end.
class Waiting {
 public:
  Waiting(const Options& options, const Config& config, int signals)
      : options_(options), config_(config), signals_(signals) {}

  std::optional<Leadership> Lead() {
    std::unique_ptr<Candidate> candidate;
    while (!AskedToEnd(signals_, pause_)) {
      try {
        pause_ = kAskEvery;
        if (!candidate) candidate = std::make_unique<Candidate>(DatabaseConninfo(config_));
        if (auto won = candidate->Try()) return won;
        silent_ = false;
      } catch (const Fatal& e) {
        if (e.code() != kExitUnavailable) throw;
        Revive(e.what());
      } catch (const db::Broken& e) {
        Revive(e.what());
      }
    }
    return std::nullopt;
  }

 private:
  // Leader and standby may both do this: one of them does it, under a lock.
  void Revive(const std::string& why) {
    if (!silent_) log::warn("no database: {}", why);
    silent_ = true;
    pause_ = std::chrono::milliseconds(200);
    if (!options_.own_postgres) return;
    try {
      embedded::StartPostgres(options_.home);
      pause_ = std::chrono::milliseconds(0);
    } catch (const Fatal& e) {
      log::error("{}", e.what());
      pause_ = kAskEvery;
    }
  }

  const Options& options_;
  const Config& config_;
  int signals_;
  bool silent_ = false;
  milliseconds pause_{0};
};

}  // namespace

int Run(const Options& options) {
  const Config config = Config::Load();
  const embedded::Fd signals = StopSignals();
  for (;;) {
    embedded::Fd only;
    if (options.embedded) {
      only = embedded::LockFile(options.home.standby_lock(), milliseconds(100));
      if (!only) return log::info("another almighty stands by"), kExitOk;
    }
    auto leadership = Waiting(options, config, signals.get()).Lead();
    if (!leadership) return kExitOk;
    only.Close();
    log::info("leading, epoch {}", leadership->epoch);
    if (Lead(options, config, std::move(*leadership), signals.get()).Run() == Lead::End::kAsked)
      return kExitOk;
  }
}

}  // namespace cigri::almighty
