// The records of one array of Slurm, and where each of its tasks stands in them.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cluster/slurm_codec.h"

namespace cigri::cluster {

/// slurmrestd's number for a job that slurmctld does not know, or no longer.
inline constexpr int kSlurmUnknownJob = 2017;
/// And for one that a deletion finds ended.
inline constexpr int kSlurmEndedJob = 2021;
/// And for one of another user.
inline constexpr int kSlurmForeignJob = 2002;

/// The task of an array that runs element `ref` of a batch: its number is that of the first element
/// of its job.
int SlurmTaskOf(const RemoteRef& ref);
/// "12_3" -> "12".
std::string SlurmArrayOf(const std::string& remote_id);
/// Slurm gives ids out again after a crash: only what carries the tag is ours.
bool HasTag(const SlurmRecord& record, const std::string& tag);
/// The tasks of a part of an array, which slurmdbd writes as the bitmap "0xEA"; else none.
std::set<int> TasksOfBitmap(const std::string& text);

/// Looks tasks up in the records of an array. Record A itself is the part that has not started,
/// and at the end it is the last task; each task that starts gets a record of its own.
class ArrayView {
 public:
  ArrayView(std::vector<SlurmRecord> records, const std::string& tag);
  ArrayView(const ArrayView&) = delete;
  /// The record that tells of `task`, null when there is none.
  const SlurmRecord* Of(int task) const;
  /// The tasks that have not ended; not all of them where Slurm cut the list (cut()).
  std::set<int> Alive() const;
  bool cut() const { return cut_; }

 private:
  std::vector<SlurmRecord> records_;
  std::map<int, const SlurmRecord*> split_;  // started, or ended
  const SlurmRecord* rest_ = nullptr;        // not started
  std::set<int> in_rest_;
  bool cut_ = false;
};

}  // namespace cigri::cluster
