// For processes that do the same large thing again and again.
#pragma once
#include <cstdlib>
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace cigri {

/// Memory that is freed stays with the process, 64 MB at most: glibc would hand the books of a
/// large decision back to the kernel after each, and taking their pages anew costs as much as the
/// decision.
inline void KeepFreedMemory() {
#ifdef __GLIBC__
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
#endif
}

}  // namespace cigri
