#include "almighty/place.h"

#include <unistd.h>

#include <fstream>
#include <stdexcept>

#include "embedded/process.h"

namespace cigri::almighty {

using process::Fd;
using std::chrono::milliseconds;

Fd TakePlace(const std::string& path, int wait_ms) {
  Fd place = embedded::LockFile(path, milliseconds(wait_ms));
  if (!place) return place;
  const std::string pid = std::to_string(getpid()) + "\n";
  if (ftruncate(place.get(), 0) != 0 || pwrite(place.get(), pid.data(), pid.size(), 0) < 0)
    throw std::runtime_error("cannot write " + path);
  return place;
}

pid_t HolderOf(const std::string& path) {
  if (embedded::LockFile(path, milliseconds(0))) return 0;
  pid_t pid = 0;
  std::ifstream(path) >> pid;
  return pid > 1 ? pid : 0;
}

Fd HolderEnds(const std::string& path) {
  const pid_t pid = HolderOf(path);
  return pid != 0 ? process::PidFd(pid) : Fd();
}

}  // namespace cigri::almighty
