#include "tests/system/guard.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cigri::test {

Guard::Guard(const std::vector<std::string>& argv, const std::string& folder) {
  // Reads until the only writer, this process, has gone.
  std::vector<std::string> words{"/bin/sh", "-c",
                                 "read x; f=$1; shift; \"$@\" >/dev/null 2>&1; rm -rf \"$f\"",
                                 "guard", folder};
  words.insert(words.end(), argv.begin(), argv.end());
  std::vector<char*> pointers;
  for (auto& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  pid_ = fork();
  if (pid_ == 0) {
    setsid();  // what ends the test's group must not end this
    dup2(ends[0], 0);
    execv(pointers[0], pointers.data());
    _exit(127);
  }
  close(ends[0]);
  pipe_ = ends[1];
}

Guard::~Guard() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(pipe_);
}

}  // namespace cigri::test
