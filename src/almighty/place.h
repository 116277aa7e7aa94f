// A place that one process of a host holds: a lock file with the pid of its holder.
#pragma once
#include <sys/types.h>

#include <string>

#include "process/spawn.h"

namespace cigri::almighty {

/// Takes the place of lock file `path`; empty when another process holds it after `wait_ms`. The
/// kernel frees it however the holder dies.
process::Fd TakePlace(const std::string& path, int wait_ms);
/// Who holds it; 0 when nobody does. The pid may be older than a holder that came just now.
pid_t HolderOf(const std::string& path);
/// Readable when that process has ended; empty when nobody holds the place.
process::Fd HolderEnds(const std::string& path);

}  // namespace cigri::almighty
