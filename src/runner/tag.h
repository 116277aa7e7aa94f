// The tag of a batch says which tasks its jobs are: cigri.<campaign>.<grid id>.<random>-<tasks>, and
// G<n> when n of them share a job. A database that was restored to an older state learns from it
// what runs or has run.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/states.h"

namespace cigri::runner {

/// What a tag says of its batch.
struct TagContent {
  std::int64_t campaign_id = 0;
  bool script = false;  ///< a prologue or epilogue: no tasks
  /// Element by element; empty for a script, and when there were too many for a tag.
  std::vector<std::int64_t> idxs;
  int tasks_per_job = 1;
};

/// A new tag. `idxs`: the tasks, element by element; {-1} for a prologue or epilogue. Tasks that
/// follow each other cost little; a tag that would be longer than 80 characters names none.
std::string NewTag(std::int64_t campaign_id, const std::string& grid_id,
                   const std::vector<std::int64_t>& idxs, int tasks_per_job = 1);
/// Nothing when it is no tag of grid `grid_id`.
std::optional<TagContent> ReadTag(const std::string& tag, const std::string& grid_id);

}  // namespace cigri::runner
