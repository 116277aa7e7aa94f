// The files that take the output of jobs.
#pragma once
#include <sys/stat.h>

#include <string>
#include <vector>

#include "localcluster/job.h"

namespace cigri::localcluster {

/// Files without names, until they hold something: silent jobs leave none. One that a job has left
/// as it was serves another job on the same file system: ext4 looks through the files that were
/// deleted in the last minutes whenever it makes one, which took longer than a short job.
class Outputs {
 public:
  /// A file for the output at `path`, which belongs to `owner` when we are root. Where files need a
  /// name (NFS), it has this one at once. A name that is taken is a fault before the job begins:
  /// nobody would ever find what it writes. Throws LaunchError or TryLater.
  OutputFile Open(const std::string& path, const Account& owner);
  /// The job of `file` has not begun.
  void Discard(OutputFile file, const std::string& path);
  /// The job of `file` has ended, and all that it had started.
  void TakeBack(OutputFile file);
  /// Closes the files that serve nobody.
  void Clear() { free_.clear(); }

 private:
  std::vector<OutputFile> free_;  // the newest at the end
};

}  // namespace cigri::localcluster
