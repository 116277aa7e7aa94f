// A program that a test runs: its output in files, its end awaited with a deadline.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace cigri::test {

/// How a program ended: its exit code, 128 + signal, or kLate when it was killed at the deadline.
struct Result {
  int code = 0;
  std::string out, err;
};
constexpr int kLate = -1;

/// One running program. Killed (its process only) and reaped when it goes.
class Child {
 public:
  /// Starts `argv` (argv[0] is a path) in `directory` with exactly `environment`; `input` is its
  /// stdin. `scratch`: prefix of the names of its output files.
  Child(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
        const std::string& directory, const std::string& input, const std::string& scratch);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  void Signal(int signal) const;
  /// What it has written until now.
  std::string Out() const;
  std::string Err() const;
  Result Wait(std::chrono::milliseconds limit);

 private:
  std::string scratch_;
  pid_t pid_ = 0;
};

/// The whole file; "" when there is none.
std::string Slurp(const std::string& path);

}  // namespace cigri::test
