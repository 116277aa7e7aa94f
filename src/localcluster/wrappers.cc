#include "localcluster/wrappers.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/error.h"

namespace cigri::localcluster {
namespace {

namespace fs = std::filesystem;

// Room for the id of a job in a command line: two numbers.
constexpr std::size_t kIdRoom = 40;

// Descriptors, signals and session of a cigri-job.
process::SpawnOptions OptionsOf(const std::string& program, int null_fd, int socket) {
  process::SpawnOptions options;
  options.program = program;
  options.in = options.out = options.err = null_fd;
  options.descriptors = {{kSocketFd, socket}};
  // A program of root's starts with nothing of what users say: LD_PRELOAD is a variable too.
  options.environment.emplace();
  options.own_session = true;
  options.blocked = {SIGCHLD, SIGTERM};  // a kill that comes before cigri-job is ready waits for it
  return options;
}

// Returns 0 or an errno.
int Send(int socket, const std::array<int, 6>& descriptors) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof descriptors)] = {};
  char byte = 'j';
  iovec data{&byte, 1};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* given = CMSG_FIRSTHDR(&message);
  given->cmsg_level = SOL_SOCKET;
  given->cmsg_type = SCM_RIGHTS;
  given->cmsg_len = CMSG_LEN(sizeof descriptors);
  std::memcpy(CMSG_DATA(given), descriptors.data(), sizeof descriptors);
  return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1 ? 0 : errno;
}

}  // namespace

Wrappers::Wrappers() : null_(open("/dev/null", O_RDWR | O_CLOEXEC)) {
  program_ = fs::read_symlink("/proc/self/exe").parent_path() / "cigri-job";
  if (access(program_.c_str(), X_OK) != 0)
    throw Fatal(kExitConfig, "cannot start jobs: no program " + program_,
                "cigri-job is installed next to localcluster");
}

Wrapper* Wrappers::Start(const std::array<int, 6>& descriptors) {
  while (!waiting_.empty()) {
    Wrapper* newest = waiting_.back();
    const int why = Send(newest->socket.get(), descriptors);
    if (why != 0 && why != EPIPE && why != ECONNRESET) throw TryLater(std::strerror(why));
    waiting_.pop_back();
    if (why == 0) return newest;
    // It was killed while it waited; its socket will tell.
  }
  Wrapper* made = Spawn();
  const int why = Send(made->socket.get(), descriptors);
  if (why == 0) return made;
  shutdown(made->socket.get(), SHUT_WR);
  Reap(made);
  throw TryLater(std::strerror(why));
}

Wrapper* Wrappers::Spawn() {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    throw TryLater(std::strerror(errno));
  auto wrapper = std::make_unique<Wrapper>();
  wrapper->socket = process::Fd(pair[0]);
  const process::Fd theirs(pair[1]);
  try {
    wrapper->pid = process::Spawn({"cigri-job", std::string(kIdRoom, ' ')},
                                  OptionsOf(program_, null_.get(), theirs.get()));
  } catch (const process::StartError& e) {
    const int why = e.code().value();
    if (why == EAGAIN || why == ENOMEM || why == EMFILE || why == ENFILE)
      throw TryLater(e.code().message());
    throw LaunchError(Cause::kLaunchFailed, e.what());
  }
  Wrapper* made = wrapper.get();
  all_[made->socket.get()] = std::move(wrapper);
  return made;
}

Wrapper* Wrappers::Find(int socket) {
  const auto it = all_.find(socket);
  return it == all_.end() ? nullptr : it->second.get();
}

Wrappers::News Wrappers::Hear(const Wrapper& wrapper) {
  char byte = 0;
  const ssize_t n = recv(wrapper.socket.get(), &byte, 1, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return News::kNone;
  return n == 1 ? News::kReady : News::kGone;
}

void Wrappers::Wait(Wrapper* wrapper) {
  if (wrapper->signalled) {
    shutdown(wrapper->socket.get(), SHUT_WR);
    return;
  }
  wrapper->waits_since = std::chrono::steady_clock::now();
  waiting_.push_back(wrapper);
}

void Wrappers::Reap(Wrapper* wrapper) {
  process::Reap(wrapper->pid);
  waiting_.erase(std::remove(waiting_.begin(), waiting_.end(), wrapper), waiting_.end());
  all_.erase(wrapper->socket.get());
}

bool Wrappers::EndIdle(std::chrono::milliseconds since) {
  const auto before = std::chrono::steady_clock::now() - since;
  const auto newer = std::find_if(waiting_.begin(), waiting_.end(),
                                  [&](const Wrapper* w) { return w->waits_since > before; });
  for (auto it = waiting_.begin(); it != newer; ++it) shutdown((*it)->socket.get(), SHUT_WR);
  waiting_.erase(waiting_.begin(), newer);
  return !waiting_.empty();
}

}  // namespace cigri::localcluster
