// The Standard Workload Format of the Parallel Workloads Archive: a header of comments (";"), then
// a job a line with 18 numbers, -1 where nothing is known.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario.h"

namespace cigri::sim {

struct SwfJob {
  std::int64_t id = 0;
  double submit = 0, wait = -1, run = 0;
  int procs = 1;  ///< allocated, else requested
  double requested_s = -1;
  int status = 1, user = -1, group = -1, executable = -1, queue = -1;
};

struct Swf {
  std::vector<SwfJob> jobs{};
  int max_procs = 0;                  ///< of the header, 0 = not said
  std::vector<std::string> faults{};  ///< "LINE: what is wrong; what would be right", 20 at most
  std::int64_t skipped = 0;           ///< jobs without a run time or processors (cancelled ones)
};

/// Jobs come sorted by submission, which begins at 0.
Swf ReadSwf(std::string_view text);

std::vector<LocalJob> LocalJobs(const Swf& swf, int most_slots);
/// Jobs of one user, executable and width that follow each other within `gap_s` become one
/// campaign; 0: every job is one. Other values are those of `like`.
std::vector<CampaignSpec> Campaigns(const Swf& swf, const CampaignSpec& like, double gap_s);

}  // namespace cigri::sim
