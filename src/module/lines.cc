#include "module/lines.h"

#include <unistd.h>

#include <cerrno>

namespace cigri::module {

std::vector<std::string> LineReader::Read() {
  char bytes[4096];
  const ssize_t n = read(fd_, bytes, sizeof bytes);
  if (n == 0) closed_ = true;
  if (n < 0 && errno != EAGAIN && errno != EINTR) closed_ = true;
  if (n > 0) rest_.append(bytes, static_cast<std::size_t>(n));
  std::vector<std::string> lines;
  std::size_t from = 0;
  for (auto at = rest_.find('\n'); at != rest_.npos; at = rest_.find('\n', from)) {
    lines.push_back(rest_.substr(from, at - from));
    from = at + 1;
  }
  rest_.erase(0, from);
  if (rest_.size() > 65536) rest_.clear();
  return lines;
}

void WriteLine(int fd, const std::string& text) {
  const std::string line = text + "\n";
  while (write(fd, line.data(), line.size()) < 0 && errno == EINTR) {
  }
}

}  // namespace cigri::module
