#include "localcluster/outputs.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace cigri::localcluster {
namespace {

constexpr std::size_t kMostFree = 100;

bool Same(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

// Whether nobody has changed it: neither its bytes nor anything else that is said of it, nor what
// the job shared with us (flags, position).
bool Untouched(const OutputFile& file) {
  const int fd = file.fd.get();
  struct stat s {};
  return fstat(fd, &s) == 0 && s.st_nlink == 0 && s.st_size == 0 &&
         Same(s.st_ctim, file.changed_at) && fcntl(fd, F_GETFL) == file.flags &&
         lseek(fd, 0, SEEK_CUR) == 0;
}

// The kernel gives such a lease to the only one who has the file open.
bool OpenHereAlone(int fd) {
  return fcntl(fd, F_SETLEASE, F_WRLCK) == 0 && fcntl(fd, F_SETLEASE, F_UNLCK) == 0;
}

[[noreturn]] void Fail(const std::string& path, int why) {
  if (why == EMFILE || why == ENFILE || why == ENOMEM) throw TryLater(std::strerror(why));
  throw LaunchError(Cause::kBadOutput, "cannot write " + path + ": " + std::strerror(why));
}

}  // namespace

OutputFile Outputs::Open(const std::string& path, const Account& owner) {
  struct stat s {};
  if (lstat(path.c_str(), &s) == 0) Fail(path, EEXIST);
  const std::string folder = path.substr(0, path.rfind('/'));
  if (stat(folder.c_str(), &s) != 0) Fail(path, errno);
  OutputFile file;
  file.device = s.st_dev;
  const auto it = std::find_if(free_.rbegin(), free_.rend(), [&](const OutputFile& f) {
    return f.owner == owner.uid && f.device == file.device;
  });
  if (it != free_.rend()) {
    file = std::move(*it);
    free_.erase(std::next(it).base());
    return file;
  }
  file.owner = owner.uid;
  int fd = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | O_APPEND, 0600);
  if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR))
    fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_APPEND, 0600);
  if (fd < 0) Fail(path, errno);
  file.fd = process::Fd(fd);
  if ((geteuid() == 0 && fchown(file.fd.get(), owner.uid, owner.gid) != 0) ||
      fstat(file.fd.get(), &s) != 0)
    Fail(path, errno);
  file.changed_at = s.st_ctim;
  file.flags = fcntl(file.fd.get(), F_GETFL);
  return file;
}

void Outputs::Discard(OutputFile file, const std::string& path) {
  struct stat s {};
  if (file.fd && fstat(file.fd.get(), &s) == 0 && s.st_nlink > 0) unlink(path.c_str());
  TakeBack(std::move(file));
}

void Outputs::TakeBack(OutputFile file) {
  if (!file.fd || free_.size() == kMostFree || !Untouched(file)) return;
  if (OpenHereAlone(file.fd.get())) free_.push_back(std::move(file));
}

}  // namespace cigri::localcluster
