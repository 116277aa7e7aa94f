#include "core/session_nice.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace cigri {

bool SetSessionNice(pid_t pid, int nice) {
  const std::string path = "/proc/" + std::to_string(pid) + "/autogroup";
  const std::string text = std::to_string(nice);
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return true;
  const bool again = write(fd, text.data(), text.size()) < 0 && errno == EAGAIN;
  close(fd);
  return !again;
}

}  // namespace cigri
