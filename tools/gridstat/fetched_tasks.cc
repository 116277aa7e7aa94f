#include "tools/gridstat/fetched_tasks.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/text.h"
#include "tools/common/terminal.h"

namespace cigri::gridstat {
namespace {

[[noreturn]] void CannotWrite(const std::string& path) {
  throw Fatal(kExitBadInput, "cannot write " + path + ": " + std::strerror(errno));
}

std::string ReadAll(int fd) {
  std::string text;
  char bytes[65536];
  for (ssize_t n = 0; (n = ::read(fd, bytes, sizeof bytes)) > 0;)
    text.append(bytes, static_cast<std::size_t>(n));
  return text;
}

}  // namespace

TaskMark MarkOf(const tools::TaskOutcome& outcome) {
  return outcome.done ? kDone : static_cast<TaskMark>(std::clamp(outcome.attempts, 1, kDone - 1));
}

FetchedTasks::FetchedTasks(const std::string& folder, std::string campaign)
    : path_(folder + "/" + kFile), campaign_(std::move(campaign)) {
  fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd_ < 0) CannotWrite(path_);
  try {
    if (::flock(fd_, LOCK_EX | LOCK_NB) != 0)
      throw Fatal(kExitTryLater, "another gridstat fetches into " + folder);
    const auto text = ReadAll(fd_);
    // A line that was cut by a kill has no newline, and nothing behind it.
    if (text.find('\n') != text.npos) {
      marks_ = Parse(text, campaign_, folder);
    } else if (::pwrite(fd_, (campaign_ + "\n").data(), campaign_.size() + 1, 0) < 0 ||
               ::ftruncate(fd_, static_cast<off_t>(campaign_.size() + 1)) != 0) {
      CannotWrite(path_);
    }
  } catch (...) {
    ::close(fd_);
    throw;
  }
}

FetchedTasks::~FetchedTasks() { ::close(fd_); }

std::string FetchedTasks::Parse(const std::string& text, const std::string& campaign,
                                const std::string& where) {
  const auto line = text.substr(0, text.find('\n'));
  if (line != campaign)
    throw Fatal(kExitBadInput,
                where + " has outputs of another campaign (" + tools::Printable(line) +
                    "), not of " + campaign,
                "take another name");
  return text.substr(std::min(text.size(), line.size() + 1));
}

TaskMark FetchedTasks::Of(std::int64_t task) const {
  const auto at = static_cast<std::size_t>(task);
  return at < marks_.size() ? static_cast<TaskMark>(marks_[at]) : kNotHere;
}

void FetchedTasks::Mark(std::int64_t task, TaskMark mark) {
  const auto at = static_cast<std::size_t>(task);
  if (at >= marks_.size()) marks_.resize(at + 1, '\0');
  marks_[at] = static_cast<char>(mark);
  if (::pwrite(fd_, &mark, 1, static_cast<off_t>(campaign_.size() + 1 + at)) != 1)
    CannotWrite(path_);
}

}  // namespace cigri::gridstat
