// The files that cigri-job appends start marks and end records to.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "localcluster/job.h"

namespace cigri::localcluster {

/// One line of a record file.
struct Record {
  enum class Kind { kStart, kEnd } kind = Kind::kStart;
  std::int64_t seq = 0;
  int index = 0;
  pid_t pid = 0;            ///< of a start
  std::vector<int> places;  ///< of a start: its slots
  int status = 0;           ///< of an end
  Cause cause = Cause::kUnknown;
  double started_at = 0, ended_at = 0;
  Measured measured;  ///< of an end
  std::string message;
};

/// Reads one line (without its newline); false when it is not a record: a try cut by a full disk.
bool ParseRecord(std::string_view line, Record* record);

/// The record files ("segments") DIR/records.N. Jobs write to the newest; an older one stays until
/// the last job that writes to it has ended. What was read up to where is the store's to keep.
class Records {
 public:
  /// Holds birth.lock before it returns: every cigri-job of a dead daemon has by then written its
  /// start mark or will never start. Throws Fatal when the directory cannot be used.
  explicit Records(const std::string& dir);
  ~Records();
  /// Known segments and how far they have been read; missing files are forgotten.
  void Resume(const std::map<std::int64_t, std::int64_t>& positions);
  /// Begins a new segment; later jobs write to it. Throws std::runtime_error.
  void Begin();
  /// Calls `take` for every record that is new, in the order written.
  void Read(const std::function<void(std::int64_t segment, const Record&)>& take);
  /// Removes the segments, the newest apart, that `in_use` denies.
  void Drop(const std::function<bool(std::int64_t)>& in_use);
  const std::map<std::int64_t, std::int64_t>& positions() const { return positions_; }
  std::int64_t current() const { return positions_.rbegin()->first; }
  std::int64_t bytes() const { return positions_.rbegin()->second; }
  int write_fd() const { return write_fd_; }
  int birth_fd() const { return birth_fd_; }

 private:
  std::string Path(std::int64_t segment) const;
  void ReadSegment(std::int64_t segment, std::int64_t* position,
                   const std::function<void(std::int64_t, const Record&)>& take);
  void Reserve();

  std::string dir_;
  int birth_fd_ = -1, write_fd_ = -1;
  std::int64_t reserved_ = 0;
  std::string buffer_ = std::string(1 << 15, '\0');
  std::map<std::int64_t, std::int64_t> positions_;
  std::map<std::int64_t, int> fds_;
};

}  // namespace cigri::localcluster
