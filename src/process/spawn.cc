#include "process/spawn.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

// Boost 1.74 offers vfork only to programs that ask for an old POSIX. With fork, a start from a
// process of 256 MB takes 30 ms instead of 0.4.
#define BOOST_POSIX_HAS_VFORK 1
#include <boost/process.hpp>
#include <boost/process/extend.hpp>
#include <boost/process/posix.hpp>
extern "C" {
#include <sys/pidfd.h>  // glibc 2.36 forgot the extern "C"
}

namespace cigri::process {
namespace bp = boost::process;

Fd& Fd::operator=(Fd&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

void Fd::Close() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

namespace {

// Before Linux 5.11. By system calls alone, as Setup requires.
void CloseEachOnExec() {
  const int folder = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  alignas(8) char entries[4096];
  for (long n; (n = syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0;)
    for (long at = 0; at < n;) {
      unsigned short length = 0;
      std::memcpy(&length, entries + at + 16, sizeof length);  // struct linux_dirent64
      int fd = 0;
      const char* name = entries + at + 19;
      for (; *name >= '0' && *name <= '9'; ++name) fd = 10 * fd + (*name - '0');
      if (fd > STDERR_FILENO) fcntl(fd, F_SETFD, FD_CLOEXEC);
      at += length;
    }
  close(folder);
}

// Whether the process has ended; one of our own children is not reaped.
bool HasEnded(pid_t pid) {
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0)
    return info.si_pid != 0;
  return kill(pid, 0) != 0 && errno == ESRCH;
}

// Before Linux 5.3. Its thread ends with the process, or when nobody reads any more.
Fd WatchByThread(pid_t pid) {
  if (kill(pid, 0) != 0 && errno == ESRCH) return Fd();
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return Fd();
  Fd read(ends[0]);
  std::thread([pid, end = Fd(ends[1])] {
    pollfd reader{end.get(), 0, 0};
    while (!HasEnded(pid))
      if (poll(&reader, 1, 10) > 0) return;
    send(end.get(), "", 1, MSG_NOSIGNAL);
  }).detach();
  return read;
}

// Until exec the new process shares our memory: only system calls here, and no handler of ours may
// run. So all signals are blocked around the start, and unblocked after their handlers are gone.
struct Setup : bp::extend::handler {
  Setup(const SpawnOptions& given, char** words, char** lines, pid_t* started)
      : options(given), argv(words), environment(lines), pid(started), parent(getpid()) {
    sigemptyset(&mask);
    for (const int number : given.blocked) sigaddset(&mask, number);
  }

  template <class Executor>
  void on_setup(Executor& executor) const {
    executor.cmd_line = argv;
    if (options.environment) executor.env = environment;
  }
  template <class Executor>
  void on_exec_setup(Executor& executor) const {
    *pid = getpid();
    if (options.own_session)
      setsid();
    else if (options.own_group)
      setpgid(0, 0);
    if (options.death_signal != 0) {
      prctl(PR_SET_PDEATHSIG, options.death_signal);
      if (getppid() != parent) _exit(127);
    }
    if (!options.directory.empty() && chdir(options.directory.c_str()) != 0) {
      executor.set_error({errno, std::system_category()}, "chdir");
      _exit(127);
    }
    for (int number = 1; number < NSIG; ++number) signal(number, SIG_DFL);
    sigprocmask(SIG_SETMASK, &mask, nullptr);
    // Not closed at once: `descriptors` are among them.
    if (close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) != 0) CloseEachOnExec();
    for (const auto& [theirs, ours] : options.descriptors)
      if (theirs == ours ? fcntl(ours, F_SETFD, 0) < 0 : dup2(ours, theirs) < 0) {
        executor.set_error({errno, std::system_category()}, "dup2");
        _exit(127);
      }
  }
  const SpawnOptions& options;
  char** argv;
  char** environment;
  pid_t* pid;
  pid_t parent;
  sigset_t mask;
};

class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_;
};

std::string Program(const std::string& name) {
  if (name.find('/') != name.npos) return name;
  const std::string path = name.empty() ? "" : bp::search_path(name).string();
  if (path.empty())
    throw StartError(name, std::make_error_code(std::errc::no_such_file_or_directory));
  return path;
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const auto& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

#ifdef __SANITIZE_THREAD__
// It makes a fork of vfork, and what kept the program from starting would not be known.
const bp::extend::handler kHow;
#else
const auto& kHow = bp::posix::use_vfork;
#endif

pid_t Spawn(const std::vector<std::string>& argv, const SpawnOptions& options) {
  const std::string program = options.program.empty() ? Program(argv.at(0)) : options.program;
  static const Environment kNone;
  auto words = Pointers(argv), lines = Pointers(options.environment ? *options.environment : kNone);
  const auto ours = [](int fd, int standard) { return fd < 0 ? standard : fd; };
  pid_t pid = 0;
  try {
    const BlockedSignals blocked;
    bp::child child(bp::exe = program,
                    bp::posix::fd.bind(STDIN_FILENO, ours(options.in, STDIN_FILENO)),
                    bp::posix::fd.bind(STDOUT_FILENO, ours(options.out, STDOUT_FILENO)),
                    bp::posix::fd.bind(STDERR_FILENO, ours(options.err, STDERR_FILENO)),
                    Setup(options, words.data(), lines.data(), &pid), kHow);
    child.detach();
    return child.id();
  } catch (const bp::process_error& e) {
    if (pid > 0) waitpid(pid, nullptr, 0);  // Boost may have left it as a zombie
    throw StartError(program, e.code());
  }
}

Fd PidFd(pid_t pid) {
  Fd fd(pidfd_open(pid, 0));
  if (fd || errno != ENOSYS) return fd;
  return WatchByThread(pid);
}

Fd MemoryFile() {
  Fd file(memfd_create("cigri", MFD_CLOEXEC));
  if (file || errno != ENOSYS) return file;
  char path[] = "/tmp/cigri-XXXXXX";  // before Linux 3.17
  file = Fd(mkostemp(path, O_CLOEXEC));
  if (!file) return file;
  unlink(path);
  fchmod(file.get(), 0777);  // as memfd_create has it
  return file;
}

int Reap(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace cigri::process
