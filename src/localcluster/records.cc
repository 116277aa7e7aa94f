#include "localcluster/records.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "core/error.h"
#include "core/log.h"
#include "localcluster/protocol.h"

namespace cigri::localcluster {
namespace {

constexpr std::int64_t kReserve = 1 << 18;

// Takes the next word of `rest` as a number.
template <typename Int>
bool Next(std::string_view& rest, Int* out) {
  const auto end = rest.find(' ');
  const std::string_view word = rest.substr(0, end);
  rest = end == rest.npos ? std::string_view() : rest.substr(end + 1);
  const auto r = std::from_chars(word.data(), word.data() + word.size(), *out);
  return r.ec == std::errc() && r.ptr == word.data() + word.size();
}

bool NextId(std::string_view& rest, Record* r) {
  const auto end = rest.find(' ');
  if (end == rest.npos) return false;
  const bool ok = ParseId(std::string(rest.substr(0, end)), &r->seq, &r->index);
  rest = rest.substr(end + 1);
  return ok;
}

// A record that an older cigri-job wrote has none.
void TakeMeasured(std::string_view& rest, Measured* out) {
  const std::string text(rest.substr(0, rest.find(' ') + 1));
  long long cpu_ms = 0, kb = 0, in = 0, written = 0, moved_ms = 0;
  int used = 0;
  if (std::sscanf(text.c_str(), "u%lld,%lld,%lld,%lld,%lld%n", &cpu_ms, &kb, &in, &written,
                  &moved_ms, &used) != 5 ||
      used + 1 != static_cast<int>(text.size()))
    return;
  constexpr double kBlocksOfMb = 2048;
  *out = {static_cast<double>(cpu_ms) / 1e3, static_cast<double>(kb) / 1024,
          static_cast<double>(in) / kBlocksOfMb, static_cast<double>(written) / kBlocksOfMb,
          moved_ms < 0 ? -1 : static_cast<double>(moved_ms) / 1e3};
  rest.remove_prefix(text.size());
}

std::string Unescape(std::string_view s) {
  std::string out;
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s[i] == '\\' && i + 1 < s.size()) {
      out += s[i + 1] == 'n' ? '\n' : s[i + 1];
      ++i;
    } else {
      out += s[i];
    }
  }
  return out;
}

}  // namespace

bool ParseRecord(std::string_view line, Record* r) {
  if (line.size() < 4 || line[1] != ' ') return false;
  std::string_view rest = line.substr(2);
  std::int64_t started = 0, ended = 0;
  if (!NextId(rest, r)) return false;
  if (line[0] == 'S') {
    r->kind = Record::Kind::kStart;
    if (!Next(rest, &r->pid) || !Next(rest, &started)) return false;
    for (int place = 0; !rest.empty();) {
      if (!Next(rest, &place) || place < 0) return false;
      r->places.push_back(place);
    }
  } else {
    r->kind = Record::Kind::kEnd;
    if (line[0] != 'E' || !Next(rest, &r->status) || rest.size() < 2 || rest[1] != ' ')
      return false;
    if (std::string_view("xpwdncolu").find(rest[0]) == std::string_view::npos) return false;
    r->cause = static_cast<Cause>(rest[0]);
    rest.remove_prefix(2);
    if (!Next(rest, &started) || !Next(rest, &ended)) return false;
    r->ended_at = static_cast<double>(ended) / 1e6;
    TakeMeasured(rest, &r->measured);
    r->message = Unescape(rest);
  }
  r->started_at = static_cast<double>(started) / 1e6;
  return true;
}

Records::Records(const std::string& dir) : dir_(dir) {
  const std::string lock = dir_ + "/birth.lock";
  // Ours is closed on exec: only copies that a job was given hold it for that job.
  const int fd = open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) throw Fatal(kExitConfig, "cannot open " + lock + ": " + std::strerror(errno));
  while (flock(fd, LOCK_EX) != 0)
    if (errno != EINTR)
      throw Fatal(kExitConfig, "cannot lock " + lock + ": " + std::strerror(errno));
  flock(fd, LOCK_SH);
  birth_fd_ = fd;
}

Records::~Records() {
  for (const auto& [segment, fd] : fds_) close(fd);
  if (write_fd_ >= 0) close(write_fd_);
  if (birth_fd_ >= 0) close(birth_fd_);
}

std::string Records::Path(std::int64_t segment) const {
  return dir_ + "/records." + std::to_string(segment);
}

void Records::Resume(const std::map<std::int64_t, std::int64_t>& positions) {
  for (const auto& [segment, position] : positions) {
    const int fd = open(Path(segment).c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) continue;
    positions_[segment] = position;
    fds_[segment] = fd;
  }
}

void Records::Begin() {
  const std::int64_t segment = positions_.empty() ? 1 : current() + 1;
  const std::string path = Path(segment);
  // A leftover of that number can only stem from a beginning that was never made known.
  unlink(path.c_str());
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) throw std::runtime_error("cannot make " + path + ": " + std::strerror(errno));
  if (write_fd_ >= 0) close(write_fd_);
  write_fd_ = fd;
  fds_[segment] = fcntl(write_fd_, F_DUPFD_CLOEXEC, 0);
  positions_[segment] = 0;
  reserved_ = 0;
  Reserve();
}

void Records::Reserve() {
  // Room for the ends of jobs that run, taken before the disk is full.
  if (bytes() + kReserve / 2 < reserved_) return;
  if (fallocate(write_fd_, FALLOC_FL_KEEP_SIZE, 0, bytes() + kReserve) == 0)
    reserved_ = bytes() + kReserve;
  else
    reserved_ = bytes() + kReserve / 2 + (1 << 14);  // not here, or no room: try again later
}

void Records::Read(const std::function<void(std::int64_t, const Record&)>& take) {
  for (auto& [segment, position] : positions_) ReadSegment(segment, &position, take);
  if (write_fd_ >= 0) Reserve();
}

void Records::ReadSegment(std::int64_t segment, std::int64_t* position,
                          const std::function<void(std::int64_t, const Record&)>& take) {
  for (;;) {
    const ssize_t n = pread(fds_[segment], buffer_.data(), buffer_.size(), *position);
    if (n <= 0) return;
    std::string_view text(buffer_.data(), static_cast<std::size_t>(n));
    const auto last = text.rfind('\n');
    if (last == text.npos) return;  // a line is shorter than the buffer: the rest is being written
    for (text = text.substr(0, last + 1); !text.empty();) {
      const auto end = text.find('\n');
      Record r;
      if (ParseRecord(text.substr(0, end), &r))
        take(segment, r);
      else if (text.substr(0, end + 1) != kRecordBegin)
        log::warn("not a record in {}: {} bytes skipped", Path(segment), end);
      *position += static_cast<std::int64_t>(end) + 1;
      text.remove_prefix(end + 1);
    }
    if (static_cast<std::size_t>(n) < buffer_.size()) return;
  }
}

void Records::Drop(const std::function<bool(std::int64_t)>& in_use) {
  for (auto it = positions_.begin(); it != std::prev(positions_.end());) {
    if (in_use(it->first)) {
      ++it;
      continue;
    }
    unlink(Path(it->first).c_str());
    close(fds_[it->first]);
    fds_.erase(it->first);
    it = positions_.erase(it);
  }
}

}  // namespace cigri::localcluster
