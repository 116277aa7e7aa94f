// Any bytes as a trace in the Standard Workload Format.
#include <cmath>

#include "fuzz/need.h"
#include "sim/swf.h"

namespace {

using namespace cigri::sim;
using cigri::fuzz::Need;

void Try(std::string_view text) {
  const Swf swf = ReadSwf(text);
  Need(swf.faults.size() <= 20);
  double before = 0;
  for (const auto& job : swf.jobs) {
    Need(job.submit >= before && std::isfinite(job.submit) && std::isfinite(job.run));
    Need(job.run >= 0 && job.procs >= 1);
    before = job.submit;
  }
  if (!swf.jobs.empty()) Need(swf.jobs.front().submit == 0);
  for (const auto& job : LocalJobs(swf, 8)) Need(job.slots >= 1 && job.slots <= 8);
  for (const double gap : {0.0, 60.0}) {
    std::int64_t tasks = 0;
    for (const auto& campaign : Campaigns(swf, {}, gap)) {
      Need(campaign.tasks == static_cast<std::int64_t>(campaign.duration.list.size()));
      tasks += campaign.tasks;
    }
    Need(tasks == static_cast<std::int64_t>(swf.jobs.size()));
  }
}

}  // namespace

CIGRI_FUZZ_TARGET(Try)
