// Tasks that need not run: their result exists (--creates), or a job log has them (--resume).
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/common/result_sinks.h"

namespace cigri::gridsub {

struct SkipRules {
  std::string creates;  ///< a path with placeholders
  bool resume = false, resume_failed = false;
  bool files = false;  ///< results are written into files: names of what is left out stay taken
  bool any() const { return !creates.empty() || resume || resume_failed; }
};

/// Decides task after task, in their order.
class Skipper {
 public:
  Skipper(const Skipper&) = delete;
  Skipper& operator=(const Skipper&) = delete;
  /// `joblog` is read with --resume: in GNU parallel's columns, and it need not exist yet.
  /// `directory`: where a relative path of `creates` begins. Throws Fatal for what cannot be read.
  Skipper(SkipRules rules, const std::string& joblog, std::string directory);
  /// Whether the next task, with these values, is left out.
  bool Skips(const std::vector<std::string>& columns, const std::vector<std::string>& values);
  std::int64_t skipped() const { return skipped_; }
  /// Of these: tasks that the log has as failed.
  std::int64_t failed() const { return failed_; }
  /// The number, from 1 and before any was left out, of the `n`th task (from 1) that was not.
  std::int64_t SeqOf(std::int64_t n) const;
  /// For the results of the others. It lives as long as this.
  const tools::EarlierRun* earlier() const { return &earlier_; }

 private:
  const SkipRules rules_;
  const std::string directory_;
  std::map<std::int64_t, bool> logged_;  ///< whether the task is done
  std::int64_t seq_ = 0, skipped_ = 0, failed_ = 0;
  tools::EarlierRun earlier_;
  /// Kept tasks, runs of them: the n of the first, and its number.
  std::vector<std::pair<std::int64_t, std::int64_t>> runs_;
};

/// `text` of a job log with the numbers that tasks had before any was left out; without its title
/// when `untitled`.
std::string Renumbered(const std::string& text, const Skipper& skipper, bool untitled);

}  // namespace cigri::gridsub
