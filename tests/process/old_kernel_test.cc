// On kernels of the last ten years: what came later answers ENOSYS, as there.
#include "tests/support/old_kernel.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

#include "process/run.h"

namespace cigri::process {
namespace {

// Runs `body` in a child that is such a kernel's; its exit code.
int OnAnOldKernel(const std::function<bool()>& body) {
  const pid_t pid = fork();
  if (pid == 0) {
    test::BecomeOld();
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return status;
}

TEST(OldKernelTest, TheCallsAreReallyMissing) {
  EXPECT_EQ(OnAnOldKernel([] { return syscall(434, getpid(), 0) < 0 && errno == ENOSYS; }), 0);
}

TEST(OldKernelTest, AProgramGetsItsInputAndItsEndIsSeen) {
  EXPECT_EQ(OnAnOldKernel([] {
              const auto result =
                  process::Run({.argv = {"/bin/sh", "-c", "cat; echo bad >&2; exit 3"},
                                .input = "what it reads"});
              return result.outcome == Outcome::kExited && result.code == 3 &&
                     result.out == "what it reads" && result.err == "bad\n";
            }),
            0);
}

TEST(OldKernelTest, AProgramIsKilledAtItsTimeLimit) {
  EXPECT_EQ(OnAnOldKernel([] {
              return process::Run({.argv = {"/bin/sleep", "600"},
                                   .time_limit = std::chrono::milliseconds(100)})
                         .outcome == Outcome::kTimedOut;
            }),
            0);
}

TEST(OldKernelTest, AProgramInheritsNoDescriptor) {
  EXPECT_EQ(OnAnOldKernel([] {
              const int open_on_exec = open("/dev/null", O_RDONLY);
              const auto result = process::Run({.argv = {"/bin/ls", "/proc/self/fd"}});
              return open_on_exec >= 3 && result.out == "0\n1\n2\n3\n";  // 3: of ls itself
            }),
            0);
}

TEST(OldKernelTest, TheEndOfAProcessThatIsNotOursIsSeen) {
  EXPECT_EQ(OnAnOldKernel([] {
              const auto started =
                  process::Run({.argv = {"/bin/sh", "-c", "sleep 0.3 >/dev/null & echo $!"}});
              const Fd fd = PidFd(std::stoi(started.out));
              pollfd end{fd.get(), POLLIN, 0};
              const bool lived = poll(&end, 1, 0) == 0;
              return lived && poll(&end, 1, 20000) == 1 && !PidFd(std::stoi(started.out));
            }),
            0);
}

}  // namespace
}  // namespace cigri::process
