// How one campaign uses what is offered to it on a cluster: strategy + factory (CIG-22, CIG-51).
#pragma once
#include <cstdint>
#include <string_view>

#include "policy/model.h"

namespace cigri::policy {

/// What a cluster has for a campaign now, in jobs of that campaign there.
struct Offer {
  std::int64_t free_jobs = 0;     ///< floor(free slots x job ratio)
  std::int64_t queue_places = 0;  ///< that may wait there beyond those
  std::int64_t tasks = 0;         ///< that could be sent: waiting ones, or copies for finalize
};

class CampaignScheduler {
 public:
  virtual ~CampaignScheduler() = default;
  /// How many jobs to claim, >= 0 and never more than free_jobs + queue_places.
  virtual std::int64_t Jobs(const Placement& placement, const Offer& offer) const = 0;
  virtual BatchKind Kind() const = 0;
};

/// "test" (CIG-28: one job per cluster), "workqueue" (CIG-29: as many as fill the free resources),
/// "finalize" (CIG-30: copies, only on free slots). REQUIRES: one of these names.
const CampaignScheduler& SchedulerNamed(std::string_view name);
/// The one that serves a campaign's waiting tasks.
const CampaignScheduler& SchedulerFor(const Campaign& campaign);

}  // namespace cigri::policy
