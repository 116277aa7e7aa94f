// How one campaign uses what a cluster offers to it: strategies, and the table that a JDL selects
// one from (CIG-22, CIG-51). docs/develop/add-a-campaign-scheduler.md says how to add one.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "policy/model.h"

namespace cigri::policy {

/// What a cluster has for a campaign now, in jobs of that campaign there.
struct Offer {
  std::int64_t free_jobs = 0;     ///< floor(free slots x job ratio)
  std::int64_t queue_places = 0;  ///< that may wait there beyond those
  std::int64_t tasks = 0;         ///< most that may be sent: tasks, or copies of them
  std::int64_t given = 0;         ///< jobs that this decision has given it there already
};

class CampaignScheduler {
 public:
  virtual ~CampaignScheduler() = default;
  /// How many jobs to claim: 0 to min(free_jobs + queue_places, tasks); the caller cuts what is
  /// outside. A pure function; it is asked several times in one decision.
  virtual std::int64_t Jobs(const Placement& placement, const Offer& offer) const = 0;
  virtual BatchKind Kind() const { return BatchKind::kTask; }
};

/// A row of the table of campaign schedulers.
struct SchedulerType {
  enum class Use {
    kJdl,    ///< the JDL key `scheduler` selects it
    kTest,   ///< serves campaigns of type test
    kCopies  ///< serves copies of running tasks (JDL key finalize)
  };
  std::string name, description;
  Use use = Use::kJdl;
  const CampaignScheduler* (*instance)() = nullptr;  ///< lives until the program exits
};

inline constexpr std::string_view kDefaultScheduler = "workqueue";

/// All campaign schedulers, in the order in which they are shown.
const std::vector<SchedulerType>& SchedulerTypes();
/// Names that a JDL may select.
std::vector<std::string> SelectableSchedulers();
/// Adds a row, before the first decision of the process. Throws std::invalid_argument when the name
/// is taken. Schedulers of this source tree stand in the table of campaign_scheduler.cc instead.
void AddSchedulerType(SchedulerType type);

/// The scheduler of a campaign's waiting tasks: that of test campaigns, the one its JDL selects, or
/// the default when it selects none (or one that this program does not have).
const CampaignScheduler& SchedulerFor(const Campaign& campaign);
/// The scheduler of copies of running tasks.
const CampaignScheduler& CopySchedulerFor(const Campaign& campaign);

}  // namespace cigri::policy
