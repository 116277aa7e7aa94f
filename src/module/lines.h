// Whole lines out of a pipe that may give them in pieces.
#pragma once
#include <string>
#include <vector>

namespace cigri::module {

/// Reads what a descriptor has, without waiting for more. A line longer than 64 kB is cut.
class LineReader {
 public:
  explicit LineReader(int fd = -1) : fd_(fd) {}
  int fd() const { return fd_; }
  /// The lines complete by now; call when poll() says readable.
  std::vector<std::string> Read();
  /// The other end has closed.
  bool closed() const { return closed_; }

 private:
  int fd_;
  bool closed_ = false;
  std::string rest_;
};

/// Writes `text` as a line. Ignores errors: a reader that has gone notices it itself.
void WriteLine(int fd, const std::string& text);

}  // namespace cigri::module
