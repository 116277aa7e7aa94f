#include "rules/confine.h"

#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include "core/error.h"

namespace cigri::rules {
namespace {

#if defined(__aarch64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_AARCH64;
#else
constexpr unsigned kArchitecture = AUDIT_ARCH_X86_64;
#endif

constexpr unsigned kAllowed[] = {
    SYS_read, SYS_readv, SYS_write, SYS_writev, SYS_close, SYS_fstat, SYS_newfstatat, SYS_lseek,
    // memory
    SYS_brk, SYS_mmap, SYS_munmap, SYS_mremap, SYS_mprotect, SYS_madvise, SYS_futex, SYS_getrandom,
    // the limits of time and memory, and what happens at them
    SYS_prlimit64, SYS_setitimer, SYS_clock_gettime, SYS_gettimeofday, SYS_rt_sigaction,
    SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_restart_syscall, SYS_getpid, SYS_gettid, SYS_tgkill,
    SYS_exit, SYS_exit_group};

[[noreturn]] void Fail(const char* what) {
  throw Fatal(kExitSoftware, std::string("cannot ") + what + ": " + std::strerror(errno),
              "no admission rule runs without these walls");
}

void BecomeNobody() {
  constexpr uid_t kNobody = 65534;
  if (geteuid() != 0) return;
  if (setgroups(0, nullptr) != 0 || setresgid(kNobody, kNobody, kNobody) != 0 ||
      setresuid(kNobody, kNobody, kNobody) != 0)
    Fail("become nobody");
}

// Any other call fails with EPERM.
void FilterCalls() {
  constexpr auto kRefuse = SECCOMP_RET_ERRNO | EPERM;
  std::vector<sock_filter> code = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, kRefuse),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
  };
  for (const unsigned number : kAllowed) {
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
    code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  }
  code.push_back(BPF_STMT(BPF_RET | BPF_K, kRefuse));
  const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0)
    Fail("filter system calls");
}

}  // namespace

void GiveUpRights() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr bool kOwnCalls = true;  // a sanitizer makes calls of its own
#else
  constexpr bool kOwnCalls = false;
#endif
  BecomeNobody();
  if (!kOwnCalls) FilterCalls();
}

}  // namespace cigri::rules
