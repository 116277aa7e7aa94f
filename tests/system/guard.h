// Ends a grid whose test died before it could.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

namespace cigri::test {

/// A shell in a session of its own that runs `argv` and then removes `folder` as soon as this
/// process is gone (a time limit, an abort), and does nothing when the Guard goes before.
class Guard {
 public:
  Guard(const std::vector<std::string>& argv, const std::string& folder);
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  int pipe_ = -1;
  pid_t pid_ = 0;
};

}  // namespace cigri::test
