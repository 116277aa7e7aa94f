#include "core/error.h"

#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

namespace cigri {
namespace {

// Daemons of a grid must be as small after a million jobs as before: few arenas, and large buffers
// go back to the kernel (left alone, glibc raises both thresholds with what it has seen freed).
void LimitMemoryArenas() {
  mallopt(M_ARENA_MAX, 2);
  mallopt(M_MMAP_THRESHOLD, 256 << 10);
  mallopt(M_TRIM_THRESHOLD, 256 << 10);
}

// A number that is free would be given to the next socket or file: texts would go into requests,
// and values be read from answers. Standard output stays one that cannot be written.
void OpenClosedDescriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_RDWR) != fd)
      _exit(kExitSoftware);
}

// A reader that has gone (| head) wanted no more; a disk that is full has lost something.
bool OutputIsLost() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return false;
  pollfd out{STDOUT_FILENO, POLLOUT, 0};
  return poll(&out, 1, 0) < 1 || (out.revents & POLLERR) == 0;
}

}  // namespace

int RunMain(const char* name, int (*body)(int, char**), int argc, char** argv) {
  OpenClosedDescriptors();
  // A peer that hangs up must be an error of one call, never the end of the process.
  std::signal(SIGPIPE, SIG_IGN);
  LimitMemoryArenas();
  try {
    const int code = body(argc, argv);
    if (code != kExitOk || !OutputIsLost()) return code;
    std::fprintf(stderr, "%s: cannot write to standard output\n", name);
    return kExitNo;
  } catch (const Fatal& e) {
    std::fprintf(stderr, "%s: %s\n", name, e.what());
    if (!e.hint().empty()) std::fprintf(stderr, "HINT: %s\n", e.hint().c_str());
    return e.code();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: unexpected error, please report it: %s\n", name, e.what());
    return kExitSoftware;
  }
}

}  // namespace cigri
