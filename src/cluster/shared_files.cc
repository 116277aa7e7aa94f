#include "cluster/shared_files.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "core/text.h"

namespace cigri::cluster {
namespace {

struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

std::optional<uid_t> UidOf(const std::string& user) {
  char buffer[16384];
  passwd pw{}, *found = nullptr;
  if (getpwnam_r(user.c_str(), &pw, buffer, sizeof buffer, &found) != 0 || found == nullptr)
    return std::nullopt;
  return pw.pw_uid;
}

}  // namespace

std::string SharedFiles::Path(const std::string& user, const std::string& relative) const {
  return ReplaceAll(folder_, "%u", user) + "/" + relative;
}

OutputPart SharedFiles::Read(const std::string& user, const std::string& relative,
                             std::int64_t offset, std::size_t bytes) const {
  OutputPart part;
  part.where = Path(user, relative);
  const auto uid = UidOf(user);
  if (!uid || user.find('/') != user.npos)
    throw std::runtime_error("cannot read " + part.where + ": this host knows no user " + user);
  // O_NONBLOCK: a FIFO laid there must not stop us.
  const Descriptor file{::open(part.where.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW)};
  if (file.fd < 0 && errno == ENOENT) return part;
  struct stat st {};
  if (file.fd < 0 || fstat(file.fd, &st) != 0)
    throw std::runtime_error("cannot read " + part.where + ": " + std::strerror(errno));
  if (!S_ISREG(st.st_mode) || st.st_uid != *uid)
    throw std::runtime_error("cannot read " + part.where + ": it is no file of user " + user);
  part.exists = true;
  part.size = st.st_size;
  const auto from = offset < 0 ? std::max<std::int64_t>(0, st.st_size + offset) : offset;
  part.bytes.resize(
      std::min(bytes, static_cast<std::size_t>(std::max<std::int64_t>(0, st.st_size - from))));
  const auto n = ::pread(file.fd, part.bytes.data(), part.bytes.size(), from);
  part.bytes.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
  return part;
}

}  // namespace cigri::cluster
