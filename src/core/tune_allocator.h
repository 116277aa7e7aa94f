// For processes that do the same large thing again and again.
#pragma once
#include <cstdlib>
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace cigri {

/// Undoes what RunMain sets for daemons: memory that is freed stays until the next heartbeat trims
/// it (64 MB at most without one). Else the state of a large decision go back to the kernel after
/// each, and taking their pages again costs as much as the decision.
inline void TuneAllocator() {
#ifdef __GLIBC__
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
#endif
}

}  // namespace cigri
