#include "policy/campaign_scheduler.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace cigri::policy {
namespace {

class Test : public CampaignScheduler {
 public:
  std::int64_t Jobs(const Placement& placement, const Offer& offer) const override {
    if (placement.tested || placement.in_flight > 0) return 0;
    return std::min<std::int64_t>({1, offer.free_jobs + offer.queue_places, offer.tasks});
  }
  BatchKind Kind() const override { return BatchKind::kTest; }
};

class Workqueue : public CampaignScheduler {
 public:
  std::int64_t Jobs(const Placement&, const Offer& offer) const override {
    return std::min(offer.free_jobs + offer.queue_places, offer.tasks);
  }
  BatchKind Kind() const override { return BatchKind::kTask; }
};

class Finalize : public CampaignScheduler {
 public:
  // A copy that waits in a queue helps nobody: only what can start at once.
  std::int64_t Jobs(const Placement&, const Offer& offer) const override {
    return std::min(offer.free_jobs, offer.tasks);
  }
  BatchKind Kind() const override { return BatchKind::kReplica; }
};

}  // namespace

const CampaignScheduler& SchedulerNamed(std::string_view name) {
  static const Test test;
  static const Workqueue workqueue;
  static const Finalize finalize;
  if (name == "test") return test;
  if (name == "workqueue") return workqueue;
  if (name == "finalize") return finalize;
  throw std::invalid_argument("no campaign scheduler \"" + std::string(name) + "\"");
}

const CampaignScheduler& SchedulerFor(const Campaign& campaign) {
  static const CampaignScheduler& test = SchedulerNamed("test");
  static const CampaignScheduler& workqueue = SchedulerNamed("workqueue");
  return campaign.test ? test : workqueue;
}

}  // namespace cigri::policy
