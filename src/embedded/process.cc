#include "embedded/process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/process.hpp>
#include <boost/process/extend.hpp>
#include <boost/process/posix.hpp>
extern "C" {
#include <sys/pidfd.h>  // glibc 2.36 forgot the extern "C"
}
#include <thread>

namespace cigri::embedded {
namespace bp = boost::process;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

Fd& Fd::operator=(Fd&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}
void Fd::Close() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

namespace {

// Between fork and exec: only calls that are async-signal-safe.
struct Hygiene : bp::extend::handler {
  Hygiene(bool die, pid_t parent) : die_with_parent(die), parent_(parent) {}
  template <class Executor>
  void on_exec_setup(Executor&) const {
    close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    for (int n : {SIGPIPE, SIGCHLD, SIGINT, SIGTERM, SIGHUP}) signal(n, SIG_DFL);
    if (!die_with_parent) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent_) _exit(127);
  }
  bool die_with_parent;
  pid_t parent_;
};

std::string Program(const std::string& name) {
  if (name.find('/') != name.npos) return name;
  const std::string path = bp::search_path(name).string();
  if (path.empty()) throw std::runtime_error("cannot start " + name + ": not found in PATH");
  return path;
}

int StatusCode(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

pid_t Spawn(const std::vector<std::string>& argv, const SpawnOptions& o) {
  const std::string program = Program(argv.at(0));
  const std::vector<std::string> args(argv.begin() + 1, argv.end());
  const auto ours = [](int fd, int standard) { return fd < 0 ? standard : fd; };
  try {
    bp::child child(bp::exe = program, bp::args = args,
                    bp::posix::fd.bind(STDIN_FILENO, ours(o.in, STDIN_FILENO)),
                    bp::posix::fd.bind(STDOUT_FILENO, ours(o.out, STDOUT_FILENO)),
                    bp::posix::fd.bind(STDERR_FILENO, ours(o.err, STDERR_FILENO)),
                    Hygiene(o.die_with_parent, getpid()));
    const pid_t pid = child.id();
    child.detach();
    return pid;
  } catch (const bp::process_error& e) {
    throw std::runtime_error("cannot start " + program + ": " + e.code().message());
  }
}

Fd PidFd(pid_t pid) { return Fd(pidfd_open(pid, 0)); }

void SpawnDaemon(const std::vector<std::string>& argv, const std::string& log) {
  Fd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  Fd out;
  if (!log.empty()) {
    out = Fd(open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640));
    if (!out) throw std::runtime_error("cannot write " + log + ": " + strerror(errno));
  }
  std::vector<std::string> words{"setsid", "--fork"};
  words.push_back(Program(argv.at(0)));
  words.insert(words.end(), argv.begin() + 1, argv.end());
  const pid_t pid = Spawn(words, {null.get(), out ? out.get() : STDERR_FILENO, out.get()});
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (StatusCode(status) != 0) throw std::runtime_error("cannot start " + argv[0] + " as a daemon");
}

CommandResult RunCommand(const std::vector<std::string>& argv, milliseconds limit) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("cannot make a pipe");
  Fd out(ends[0]), in(ends[1]);
  Fd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  std::vector<std::string> words{"env", "-C", "/", "--"};
  words.insert(words.end(), argv.begin(), argv.end());
  const pid_t pid = Spawn(words, {null.get(), in.get(), in.get()});
  in.Close();
  Fd ended = PidFd(pid);
  fcntl(out.get(), F_SETFL, O_NONBLOCK);
  CommandResult result;
  const auto deadline = Clock::now() + limit;
  // A daemon that the command leaves behind may keep the pipe: the command's own end counts.
  for (bool alive = true; alive;) {
    pollfd fds[2] = {{ended.get(), POLLIN, 0}, {out.get(), POLLIN, 0}};
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) kill(pid, SIGKILL);
    poll(fds, fds[1].revents & POLLHUP ? 1 : 2, static_cast<int>(std::max<long>(left, 1)));
    if (fds[0].revents != 0) alive = false;
    char bytes[8192];
    ssize_t n = 0;
    while ((n = read(out.get(), bytes, sizeof bytes)) > 0)
      if (result.output.size() < 65536) result.output.append(bytes, static_cast<std::size_t>(n));
    if (n == 0 && alive) poll(fds, 1, static_cast<int>(std::max<long>(left, 1)));
    if (fds[0].revents != 0) alive = false;
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  result.code = Clock::now() >= deadline && WIFSIGNALED(status) ? -1 : StatusCode(status);
  return result;
}

std::string OwnFolder() {
  char path[4096];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
  const std::string self(path, n > 0 ? static_cast<std::size_t>(n) : 0);
  return self.substr(0, self.rfind('/'));
}

Fd LockFile(const std::string& path, milliseconds wait) {
  Fd fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd) throw std::runtime_error("cannot open " + path + ": " + strerror(errno));
  const auto deadline = Clock::now() + wait;
  while (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (Clock::now() >= deadline) return Fd();
    std::this_thread::sleep_for(milliseconds(20));
  }
  return fd;
}

}  // namespace cigri::embedded
