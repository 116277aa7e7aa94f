// Reads the body of POST /batches.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "localcluster/job.h"

namespace cigri::localcluster {

struct Intake {
  std::shared_ptr<Batch> batch;  ///< without seq and account
  std::vector<std::unique_ptr<Job>> jobs;
};

struct IntakeLimits {
  int slots = 1;          ///< a job cannot take more
  int elements = 10'000;  ///< of one batch
  int walltime_s = 10 * 366 * 86400;
  /// Campaign, task, job and attempt count: the grid's own numbers, which name the output files.
  /// Those that somebody else says are forgotten, or they would name another user's files.
  bool grid_numbers = false;
};

/// Throw Refused when the body of a caller who is not trusted is longer than 1 MB, or nested deeper
/// than 32 levels: what a parser makes of it is a hundred times as large.
void CheckLength(std::size_t bytes);
void CheckDepth(std::string_view body);

/// Throws Refused with the key that is wrong and what would be right. The account is not looked up.
Intake ReadBatch(const std::string& body, const IntakeLimits& limits);

}  // namespace cigri::localcluster
