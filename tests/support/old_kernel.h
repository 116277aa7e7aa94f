// A kernel of ten years ago: what came later answers ENOSYS, as there.
#pragma once
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <vector>

namespace cigri::test {

/// pidfd_send_signal, pidfd_open, close_range, memfd_create, statx, clone3, openat2, renameat2,
/// copy_file_range: of Linux 3.15 to 5.9.
inline constexpr unsigned kLaterCalls[] = {424, 434, 436, 319, 332, 435, 437, 316, 326};

/// From now on, for this process and what it starts.
inline void BecomeOld() {
  std::vector<sock_filter> filter = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const unsigned call : kLaterCalls) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    _exit(99);
}

}  // namespace cigri::test
