#include "policy/campaign_scheduler.h"

#include <algorithm>
#include <stdexcept>

namespace cigri::policy {
namespace {

// CIG-29.
class Workqueue : public CampaignScheduler {
 public:
  std::int64_t Jobs(const Placement&, const Offer& offer) const override {
    return std::min(offer.free_jobs + offer.queue_places, offer.tasks);
  }
};

// For tasks that should not wait in a queue while another cluster may become idle.
class Immediate : public CampaignScheduler {
 public:
  std::int64_t Jobs(const Placement&, const Offer& offer) const override {
    return std::min(offer.free_jobs, offer.tasks);
  }
};

// CIG-28.
class Test : public CampaignScheduler {
 public:
  std::int64_t Jobs(const Placement& placement, const Offer& offer) const override {
    if (placement.tested || placement.in_flight > 0) return 0;
    return std::min<std::int64_t>({1, offer.free_jobs + offer.queue_places, offer.tasks});
  }
  BatchKind Kind() const override { return BatchKind::kTest; }
};

// CIG-30. A copy that waits in a queue helps nobody.
class Finalize : public Immediate {
 public:
  BatchKind Kind() const override { return BatchKind::kReplica; }
};

template <typename Scheduler>
const CampaignScheduler* Instance() {
  static const Scheduler scheduler;
  return &scheduler;
}

using Use = SchedulerType::Use;
std::vector<SchedulerType>& Types() {
  static std::vector<SchedulerType> types = {
      {std::string(kDefaultScheduler),
       "as many jobs as fill the free slots, and those that may wait in the queue (default)",
       Use::kJdl, Instance<Workqueue>},
      {"immediate", "only jobs that can start at once: none waits in the queue of a cluster",
       Use::kJdl, Instance<Immediate>},
      {"test", "one job on each cluster, for campaigns of type test", Use::kTest, Instance<Test>},
      {"finalize", "copies of running tasks on free slots, for campaigns with finalize",
       Use::kCopies, Instance<Finalize>},
  };
  return types;
}

const CampaignScheduler* Find(Use use, std::string_view name) {
  for (const auto& type : Types())
    if (type.use == use && (name.empty() || type.name == name)) return type.instance();
  return nullptr;
}

}  // namespace

const std::vector<SchedulerType>& SchedulerTypes() { return Types(); }

std::vector<std::string> SelectableSchedulers() {
  std::vector<std::string> names;
  for (const auto& type : Types())
    if (type.use == Use::kJdl) names.push_back(type.name);
  return names;
}

void AddSchedulerType(SchedulerType type) {
  for (const auto& other : Types())
    if (other.name == type.name)
      throw std::invalid_argument("there is a campaign scheduler \"" + type.name + "\" already");
  Types().push_back(std::move(type));
}

const CampaignScheduler& SchedulerFor(const Campaign& campaign) {
  if (campaign.test) return *Find(Use::kTest, "");
  // Most campaigns select none; a thousand of them are opened in each decision.
  static const CampaignScheduler& usual = *Find(Use::kJdl, kDefaultScheduler);
  if (campaign.scheduler.empty()) return usual;
  const auto* selected = Find(Use::kJdl, campaign.scheduler);
  return selected == nullptr ? usual : *selected;
}

const CampaignScheduler& CopySchedulerFor(const Campaign&) { return *Find(Use::kCopies, ""); }

}  // namespace cigri::policy
