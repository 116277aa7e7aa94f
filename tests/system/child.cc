#include "tests/system/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace cigri::test {
namespace {

std::vector<char*> Pointers(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const auto& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Between fork and exec: only calls that are safe there.
[[noreturn]] void Become(char** argv, char** environment, const char* directory, const int fds[3]) {
  for (int i = 0; i < 3; ++i) dup2(fds[i], i);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if (chdir(directory) == 0) execve(argv[0], argv, environment);
  _exit(127);
}

int StatusOf(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

std::string Slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();  // no exception when a process goes while its /proc file is read
  return text.str();
}

Child::Child(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
             const std::string& directory, const std::string& input, const std::string& scratch)
    : scratch_(scratch) {
  std::ofstream(scratch + ".in", std::ios::binary) << input;
  const int made = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
  const int fds[3] = {open((scratch + ".in").c_str(), O_RDONLY | O_CLOEXEC),
                      open((scratch + ".out").c_str(), made, 0600),
                      open((scratch + ".err").c_str(), made, 0600)};
  const auto words = Pointers(argv), variables = Pointers(environment);
  pid_ = fork();
  if (pid_ == 0)
    Become(const_cast<char**>(words.data()), const_cast<char**>(variables.data()),
           directory.c_str(), fds);
  for (const int fd : fds) close(fd);
  if (pid_ < 0) throw std::runtime_error("cannot fork");
}

Child::~Child() {
  if (pid_ == 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void Child::Signal(int signal) const { kill(pid_, signal); }
std::string Child::Out() const { return Slurp(scratch_ + ".out"); }
std::string Child::Err() const { return Slurp(scratch_ + ".err"); }

Result Child::Wait(std::chrono::milliseconds limit) {
  pollfd ended{static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)), POLLIN, 0};
  const bool in_time = poll(&ended, 1, static_cast<int>(limit.count())) == 1;
  close(ended.fd);
  if (!in_time) kill(pid_, SIGKILL);
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = 0;
  return {in_time ? StatusOf(status) : kLate, Out(), Err()};
}

}  // namespace cigri::test
