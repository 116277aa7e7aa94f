#include "rules/child.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

extern "C" {
#include <sys/pidfd.h>  // glibc 2.36 forgot the extern "C"
}

namespace cigri::rules {
namespace {

using Clock = std::chrono::steady_clock;

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() { Close(); }
  Fd(const Fd&) = delete;
  int get() const { return fd_; }
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

// Spawns with `fd` as stdin and stdout, default signals, and nothing above stderr.
int Spawn(const std::string& program, int fd, pid_t* pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, fd, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fd, STDOUT_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  char* const argv[] = {const_cast<char*>(program.c_str()), nullptr};
  char* const environment[] = {nullptr};
  const int rc = posix_spawn(pid, program.c_str(), &actions, &attributes, argv, environment);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return rc;
}

int MsUntil(Clock::time_point end) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
  return static_cast<int>(std::max<std::int64_t>(0, left.count()));
}

// Sends `in` and reads the answer until its end; false at the deadline or over `most`.
bool Converse(int fd, std::string_view in, Clock::time_point end, std::size_t most,
              std::string* out) {
  char buffer[65536];
  if (in.empty()) shutdown(fd, SHUT_WR);
  for (;;) {
    pollfd p{fd, static_cast<short>(in.empty() ? POLLIN : POLLIN | POLLOUT), 0};
    const int n = poll(&p, 1, MsUntil(end));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    if (!in.empty() && (p.revents & POLLOUT) != 0) {
      const ssize_t sent = send(fd, in.data(), in.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent > 0) in.remove_prefix(static_cast<std::size_t>(sent));
      // A child that ended early is told by its wait status, not here.
      if (sent < 0 && errno != EAGAIN && errno != EINTR) in = {};
      if (in.empty()) shutdown(fd, SHUT_WR);
    }
    if ((p.revents & (POLLIN | POLLHUP | POLLERR)) == 0) continue;
    const ssize_t got = recv(fd, buffer, sizeof buffer, MSG_DONTWAIT);
    if (got > 0) out->append(buffer, static_cast<std::size_t>(got));
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return true;
    if (out->size() > most) return false;
  }
}

}  // namespace

ChildResult RunChild(const std::string& program, const std::string& in,
                     std::chrono::milliseconds deadline, std::size_t most) {
  const auto end = Clock::now() + deadline;
  ChildResult result;
  int pair[2];
  // A socket, not a pipe: writing to a child that died is an error here, never a SIGPIPE.
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
    result.error = std::strerror(errno);
    return result;
  }
  Fd ours(pair[0]), theirs(pair[1]);
  pid_t pid = 0;
  if (const int rc = Spawn(program, theirs.get(), &pid); rc != 0) {
    result.error = std::strerror(rc);
    return result;
  }
  theirs.Close();
  result.started = true;
  const Fd process(pidfd_open(pid, 0));
  result.timed_out = !Converse(ours.get(), in, end, most, &result.out);
  pollfd ended{process.get(), POLLIN, 0};
  // It has closed its answer: it is ending, but must not be trusted to.
  while (!result.timed_out && poll(&ended, 1, MsUntil(end)) <= 0)
    result.timed_out = errno != EINTR || MsUntil(end) == 0;
  if (result.timed_out) kill(pid, SIGKILL);
  while (waitpid(pid, &result.wait_status, 0) < 0 && errno == EINTR) {
  }
  return result;
}

}  // namespace cigri::rules
