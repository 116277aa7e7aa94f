#include "almighty/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>

namespace cigri::almighty {
namespace {

struct Pipe {
  process::Fd read, write;
};
Pipe MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("cannot make a pipe");
  return {process::Fd(ends[0]), process::Fd(ends[1])};
}

std::string HowItEnded(int status) {
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
  return "exit code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

Child::Child(std::string name, std::vector<std::string> argv, bool steps,
             process::Environment environment)
    : name_(std::move(name)),
      argv_(std::move(argv)),
      steps_(steps),
      environment_(std::move(environment)) {
  if (environment_.empty()) return;
  for (char** line = environ; *line != nullptr; ++line) environment_.push_back(*line);
}

bool Child::Start(Time now, std::string* why) {
  try {
    process::SpawnOptions options;
    options.death_signal = SIGKILL;
    if (!environment_.empty()) options.environment = environment_;
    process::Fd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
    Pipe to, from;
    options.in = null.get();
    options.out = STDERR_FILENO;
    if (steps_) {
      to = MakePipe();
      from = MakePipe();
      options.in = to.read.get();
      options.out = from.write.get();
      // A module that does not read must never block the one who sends steps.
      fcntl(to.write.get(), F_SETFL, O_NONBLOCK);
      fcntl(from.read.get(), F_SETFL, O_NONBLOCK);
    }
    pid_ = process::Spawn(argv_, options);
    ended_ = process::PidFd(pid_);
    in_ = std::move(to.write);
    out_fd_ = std::move(from.read);
    out_ = module::LineReader(out_fd_.get());
    started_ = now;
    stopped_at_.reset();
    return true;
  } catch (const std::runtime_error& e) {
    *why = e.what();
    started_ = now;
    Postpone(now);
    return false;
  }
}

void Child::Postpone(Time now) {
  if (now - started_ >= std::chrono::seconds(1)) deaths_ = 0;
  const auto wait = deaths_ == 0 ? milliseconds(0) : milliseconds(100 << std::min(deaths_ - 1, 6));
  start_at_ = now + std::min(wait, milliseconds(5000));
  ++deaths_;
}

std::string Child::Reap(Time now) {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
  ended_.Close();
  in_.Close();
  out_fd_.Close();
  out_ = module::LineReader();
  Postpone(now);
  std::string said = std::exchange(said_, {});
  return said.empty() ? HowItEnded(status) : said;
}

void Child::Step(std::int64_t number) {
  module::WriteLine(in_.get(), "step " + std::to_string(number));
}

void Child::Stop() {
  if (!alive()) return;
  in_.Close();
  kill(pid_, SIGTERM);
}

void Child::Kill() {
  if (alive()) kill(pid_, SIGKILL);
}

bool Child::KillStopped(Time now) {
  if (!alive()) return false;
  if (!IsStopped(pid_))
    stopped_at_.reset();
  else if (!stopped_at_)
    stopped_at_ = now;
  if (!stopped_at_ || now - *stopped_at_ < kStopped) return false;
  Kill();
  stopped_at_.reset();
  return true;
}

bool IsStopped(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string stat;
  std::getline(in, stat);
  const auto end = stat.rfind(") ");  // "pid (name) T ..."; "t" for a debugger
  return end != stat.npos && stat.compare(end, 3, ") T") == 0;
}

bool HasEnded(int pid_fd) {
  pollfd fd{pid_fd, POLLIN, 0};
  return poll(&fd, 1, 0) > 0;
}

void StopAll(std::vector<Child>& children) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kGrace{5};
  for (auto& child : children) child.Stop();
  const auto deadline = Clock::now() + kGrace;
  for (auto& child : children) {
    if (!child.alive()) continue;
    pollfd fd{child.pid_fd(), POLLIN, 0};
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now()).count();
    if (poll(&fd, 1, static_cast<int>(std::max<std::int64_t>(left, 0))) == 0) child.Kill();
    child.Reap(Clock::now());
  }
}

}  // namespace cigri::almighty
