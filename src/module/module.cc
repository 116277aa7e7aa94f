#include "module/module.h"

#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <sql/grid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string_view>

#include "core/command_line.h"
#include "core/error.h"
#include "core/log.h"
#include "core/text.h"
#include "module/lines.h"
#include "module/term.h"

namespace cigri::module {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
constexpr milliseconds kHeartbeatEvery{10000};
constexpr milliseconds kRetry{250};  // with three servers a try may be three sessions
constexpr std::string_view kQueryCanceled = "57014";  // by an operator

int g_stop_pipe = -1;
void OnStop(int) {
  const int saved = errno;
  [[maybe_unused]] const auto ignored = write(g_stop_pipe, "s", 1);
  errno = saved;
}

// "s": a signal asks to end; "w": somebody asks for a pass (alone only).
int MakeSelfPipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) throw std::runtime_error("cannot make a pipe");
  g_stop_pipe = ends[1];
  struct sigaction action {};
  action.sa_handler = OnStop;
  for (int signal : {SIGTERM, SIGINT}) sigaction(signal, &action, nullptr);
  return ends[0];
}

// A module must not outlive its almighty: the next one starts its own. The parent may have died
// before the call, so the module checks it after the call.
void DieWithParent() {
  const pid_t parent = getppid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
}

class PipeWaker : public Waker {
 public:
  void Wake() override { WriteLine(STDOUT_FILENO, "wake"); }
  void WakeIn(milliseconds delay) override {
    WriteLine(STDOUT_FILENO, "wake " + std::to_string(std::max<std::int64_t>(0, delay.count())));
  }
};

class OwnWaker : public Waker {
 public:
  void Wake() override { WakeIn(milliseconds(0)); }
  void WakeIn(milliseconds delay) override {
    const auto at = (Clock::now() + delay).time_since_epoch().count();
    auto due = due_.load();
    while (at < due && !due_.compare_exchange_weak(due, at)) {
    }
    [[maybe_unused]] const auto ignored = write(g_stop_pipe, "w", 1);
  }
  Clock::time_point due() const { return Clock::time_point(Clock::duration(due_.load())); }
  void Clear() { due_ = Clock::time_point::max().time_since_epoch().count(); }

 private:
  std::atomic<Clock::rep> due_{Clock::time_point::max().time_since_epoch().count()};
};

class NoWaker : public Waker {
 public:
  void Wake() override {}
  void WakeIn(milliseconds) override {}
};

// Threads of a pass may use them until the process ends.
PipeWaker g_pipe_waker;
OwnWaker g_own_waker;
NoWaker g_no_waker;

class Loop {
 public:
  Loop(const Options& options, const std::function<void(Step&)>& pass)
      : options_(options), pass_(pass), config_(Config::Load()) {
    for (const auto& warning : config_.Warnings()) log::warn("{}", warning);
    self_ = MakeSelfPipe();
  }

  int Once() {
    try {
      Connect();
      Pass(1);
    } catch (const StaleEpoch& e) {
      throw Fatal(kExitTryLater, e.what());
    }
    return kExitOk;
  }

  int Steps() {
    DieWithParent();
    waker_ = &g_pipe_waker;
    TryConnect();  // all modules at once, not each in its turn of the first cycle
    LineReader in(STDIN_FILENO);
    while (!stop_) {
      pollfd fds[2] = {{STDIN_FILENO, POLLIN, 0}, {self_, POLLIN, 0}};
      poll(fds, 2, MsUntil(retry_at_));
      if (fds[1].revents != 0) ReadSelf();
      std::int64_t number = -1;
      if (fds[0].revents != 0)
        for (const auto& line : in.Read())
          if (line.rfind("step ", 0) == 0) number = std::atoll(line.c_str() + 5);
      if (number >= 0 && !stop_) {
        RenewIfIdle();
        Answer(number);
      }
      if (number < 0 && Clock::now() >= retry_at_ && TryConnect()) g_pipe_waker.Wake();
      if (in.closed()) stop_ = true;
    }
    return code_;
  }

  int Alone() {
    waker_ = &g_own_waker;
    auto next = Clock::now();
    while (!stop_) {
      if (db_ && HasNotice()) next = Clock::now();
      if (Clock::now() >= std::min(next, g_own_waker.due())) {
        g_own_waker.Clear();
        RenewIfIdle();
        GuardedPass(++number_);
        if (stop_) break;
        next = Clock::now();
        // Notices that came during a statement do not wake poll().
        if (!db_ || !HasNotice()) next += options_.loop_every;
      }
      pollfd fds[2] = {{self_, POLLIN, 0}, {db_ ? db_->socket() : -1, POLLIN, 0}};
      poll(fds, 2, MsUntil(std::min({next, g_own_waker.due(), retry_at_})));
      if (fds[0].revents != 0) ReadSelf();
      if (Clock::now() >= retry_at_ && TryConnect()) next = Clock::now();
    }
    return code_;
  }

 private:
  void Answer(std::int64_t number) {
    const auto began = Clock::now();
    GuardedPass(number);
    const auto ms = std::chrono::duration_cast<milliseconds>(Clock::now() - began).count();
    if (!stop_)
      WriteLine(STDOUT_FILENO, "done " + std::to_string(number) + " " + std::to_string(ms));
  }

  // The only place that catches all exceptions: the next step repeats what failed.
  void GuardedPass(std::int64_t number) {
    if (!db_ && !TryConnect()) return;
    try {
      Pass(number);
    } catch (const StaleEpoch& e) {
      log::warn("{}: exiting", e.what());
      code_ = kExitTryLater;
      stop_ = true;
    } catch (const db::Broken& e) {
      log::warn("lost the database: {}", e.what());
      Disconnect();
    } catch (const std::exception& e) {
      log::error("pass failed: {}", e.what());
      if (db_ && !db_->alive()) Disconnect();
    }
  }

  void Pass(std::int64_t number) {
    const auto began = Clock::now();
    Step step{*db_, config_, epoch_, number, fresh_, *waker_, conninfo_};
    pass_(step);
    fresh_ = false;
    ++passes_;
    const std::chrono::duration<double, std::milli> took = Clock::now() - began;
    if (Clock::now() >= heartbeat_at_) Heartbeat(took.count());
  }

  bool alone() const { return waker_ == &g_own_waker; }

  void Heartbeat(double took_ms) {
    if (!options_.on_each_host) {
      db::Tx tx(*db_, db::Tx::Sync::kOff);
      tx.Exec(sql::kHeartbeat, options_.name, HostName(), static_cast<int>(getpid()), epoch_,
              started_, passes_, took_ms);
      tx.Commit();
    }
    heartbeat_at_ = Clock::now() + kHeartbeatEvery;
    malloc_trim(0);  // gives back what a large campaign took: it is scattered over the heap
  }

  void Connect() {
    conninfo_ = DatabaseConninfo(config_);
    auto connection = std::make_unique<db::Connection>(conninfo_, "cigri " + options_.name);
    db::RequireSchema(*connection);
    const char* given = std::getenv("CIGRI_EPOCH");
    if (given != nullptr && *given != '\0') {
      epoch_ = std::atoll(given);
    } else {
      db::Tx tx(*connection);
      epoch_ = tx.One(sql::kCurrentEpoch).epoch;
    }
    if (alone())
      for (const auto& notice : options_.notices) connection->Listen(notice);
    db_ = std::move(connection);
    fresh_ = true;
    heartbeat_at_ = {};
    retry_at_ = Clock::time_point::max();
  }

  // One line in the log when the database goes, one when it is back.
  bool TryConnect() {
    try {
      Connect();
      if (waiting_) log::info("the database is back");
      waiting_ = false;
      return true;
    } catch (const Fatal& e) {
      if (e.code() != kExitUnavailable) throw;
      if (!waiting_) log::warn("waiting for the database: {}", e.what());
    } catch (const db::Broken& e) {
      if (!waiting_) log::warn("waiting for the database: {}", e.what());
    } catch (const db::SqlError& e) {
      if (e.sqlstate() != kQueryCanceled) throw;
      if (!waiting_) log::warn("waiting for the database: {}", e.what());
    }
    waiting_ = true;
    retry_at_ = Clock::now() + kRetry;
    return false;
  }

  // An idle grid, whose steps come half a minute apart, uses as little memory after 100,000 jobs as
  // before: a new session replaces one that has grown.
  void RenewIfIdle() {
    const auto now = Clock::now(), last = std::exchange(last_step_, now);
    if (db_ && db_->worn() && now - last > std::chrono::seconds(20)) db_.reset();
  }

  void Disconnect() {
    db_.reset();
    retry_at_ = Clock::now() + kRetry;
  }

  bool HasNotice() {
    try {
      return !db_->Wait(0).empty();
    } catch (const std::exception&) {
      Disconnect();
      return false;
    }
  }

  void ReadSelf() {
    char bytes[64];
    const auto n = read(self_, bytes, sizeof bytes);
    for (ssize_t i = 0; i < n; ++i)
      if (bytes[i] == 's') stop_ = true;
  }

  static int MsUntil(Clock::time_point at) {
    if (at == Clock::time_point::max()) return -1;
    const auto ms = std::chrono::ceil<milliseconds>(at - Clock::now()).count();
    return static_cast<int>(std::clamp<std::int64_t>(ms, 0, 3600'000));
  }

  const Options& options_;
  const std::function<void(Step&)>& pass_;
  Config config_;
  std::string conninfo_;
  std::unique_ptr<db::Connection> db_;
  Waker* waker_ = &g_no_waker;
  int self_ = -1, code_ = kExitOk;
  bool stop_ = false, fresh_ = true, waiting_ = false;
  std::int64_t epoch_ = 0, passes_ = 0, number_ = 0;
  double started_ = static_cast<double>(time(nullptr));
  Clock::time_point heartbeat_at_{}, last_step_ = Clock::now(),
                                     retry_at_ = Clock::time_point::max();
};

// Readers of the API go before modules with much to do, and these before jobs; a module's sessions
// are as nice (db/niceness.h).
void BeNice() {
  constexpr int kLessThanTheApi = 5;
  [[maybe_unused]] const int ignored = nice(kLessThanTheApi);
}

bool StdinIsPipe() {
  struct stat st {};
  return fstat(STDIN_FILENO, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
}

}  // namespace

int Run(int argc, char** argv, const Options& options, const std::function<void(Step&)>& pass) {
  CommandLine line(options.name, options.description);
  bool once = false, alone = false;
  line.Add({{"--once", &once, "make one pass and exit"},
            {"--loop", &alone, "run alone, by timer and notices, without an almighty"}});
  if (const auto code = line.Read(argc, argv)) return *code;
  log::Init(options.name);
  BeNice();
  if (once) return Loop(options, pass).Once();
  if (alone || !StdinIsPipe()) return Loop(options, pass).Alone();
  try {
    return Loop(options, pass).Steps();
  } catch (const Fatal& e) {
    // The almighty tells operators why a module does not run: few of them look into its log.
    const std::string hint = e.hint().empty() ? "" : "; " + e.hint();
    WriteLine(STDOUT_FILENO, "fatal " + ReplaceAll(e.what() + hint, "\n", " "));
    throw;
  }
}

void CheckEpoch(db::Tx& tx, std::int64_t epoch) {
  if (tx.Exec(sql::kHoldEpoch, epoch).empty())
    throw StaleEpoch("epoch " + std::to_string(epoch) + " does not lead any more");
}

}  // namespace cigri::module
