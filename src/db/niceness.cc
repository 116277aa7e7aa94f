#include "db/niceness.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "core/session_nice.h"

namespace cigri::db {
namespace {

// Who listens on the other end of a unix socket: PostgreSQL's first process; 0: it is no such
// socket.
pid_t ListenerOf(int socket) {
  ucred peer{};
  socklen_t length = sizeof peer;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 ? peer.pid : 0;
}

pid_t ParentOf(int pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  const auto name_ends = text.rfind(')');
  return name_ends + 4 < text.size() ? std::atoi(text.c_str() + name_ends + 4) : 0;
}

}  // namespace

// Numbers of processes mean nothing between containers: the one that is meant descends from whom we
// speak to.
Niceness::Niceness(int socket, int backend, int nicer)
    : nice_(getpriority(PRIO_PROCESS, static_cast<id_t>(getpid())) + nicer) {
  const pid_t listener = nice_ != 0 ? ListenerOf(socket) : 0;
  if (listener == 0 || ParentOf(backend) != listener) return;
  if (setpriority(PRIO_PROCESS, static_cast<id_t>(backend), nice_) != 0) return;
  backend_ = backend;
  Say();
}

void Niceness::Repeat() {
  if (backend_ != 0) Say();
}

// Each server process is a session of its own.
void Niceness::Say() {
  if (SetSessionNice(backend_, nice_)) backend_ = 0;
}

}  // namespace cigri::db
