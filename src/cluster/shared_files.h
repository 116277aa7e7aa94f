// What jobs left in a folder that this host shares with a cluster (Slurm has no API for files).
#pragma once
#include <string>

#include "cluster/cluster.h"

namespace cigri::cluster {

/// Reads below a folder of each user's, as it is seen from here: "/home/%u/.cigri", %u = user.
/// Reads only regular files that belong to that user: a link of the user to another user's file is
/// not followed, since the reader here may be root.
class SharedFiles {
 public:
  explicit SharedFiles(std::string folder) : folder_(std::move(folder)) {}
  bool configured() const { return !folder_.empty(); }
  std::string Path(const std::string& user, const std::string& relative) const;
  /// `bytes` from `offset` (negative: from the end). Throws std::runtime_error with a readable
  /// message when there is such a file and it must not or cannot be read.
  OutputPart Read(const std::string& user, const std::string& relative, std::int64_t offset,
                  std::size_t bytes) const;

 private:
  std::string folder_;
};

}  // namespace cigri::cluster
