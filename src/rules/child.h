// A child process that is given one text and answers one text, or ends.
#pragma once
#include <chrono>
#include <string>

namespace cigri::rules {

struct ChildResult {
  std::string out;  ///< all it wrote on stdout
  bool started = false;
  bool timed_out = false;  ///< killed at the deadline
  int wait_status = 0;     ///< of waitpid, when started
  std::string error;       ///< why it was not started
};

/// Runs `program` without arguments, environment or any descriptor of ours but stderr; `in` is its
/// stdin. Answers of more than `most` bytes are cut and the child killed. Thread-safe.
ChildResult RunChild(const std::string& program, const std::string& in,
                     std::chrono::milliseconds deadline, std::size_t most);

}  // namespace cigri::rules
