#include "runner/restored_jobs.h"

#include <algorithm>

#include "core/log.h"
#include "core/pluralize.h"
#include "db/events.h"
#include "runner/tag.h"

namespace cigri::runner {
namespace {

constexpr std::chrono::milliseconds kAgain{300};
// A cluster's clock may be far from the database's; what is too old is known anyway.
constexpr double kClockMargin = 86400;

}  // namespace

bool RestoredJobs::Adopt() {
  if (!expected_) return false;
  std::optional<RestoredCluster> restored;
  session_.Transact([&](db::Tx& tx) { restored = session_.store.Restored(tx); },
                    db::Tx::Sync::kOff);
  expected_ = restored.has_value();
  return expected_ && AdoptUnknown(*restored);
}

bool RestoredJobs::AdoptUnknown(const RestoredCluster& restored) {
  std::vector<std::string> tags;
  if (!restored.lost)
    tags = session_.driver->TagsSince("cigri.", restored.state_of - kClockMargin);
  AdoptedTags result;
  session_.Transact([&](db::Tx& tx) {
    result = session_.store.AdoptTags(tx, tags);
    for (const auto& [campaign, tag] : result.unclear) Unclear(tx, campaign, tag);
  });
  if (!result.rest && result.adopted == 0)
    session_.Transact(
        [&](db::Tx& tx) { session_.store.EndReconciliation(tx, restored.last_campaign); });
  if (result.adopted > 0)
    log::info("[{}] finds {} that the restored database did not know", session_.name,
              Pluralize(static_cast<std::int64_t>(result.adopted), "batch", "batches"));
  session_.shared.waker.WakeIn(kAgain);
  return result.adopted > 0;
}

void RestoredJobs::Unclear(db::Tx& tx, std::int64_t campaign_id, const std::string& tag) {
  db::Event event{.cls = "campaign", .code = "RESTORE_UNCLEAR"};
  event.campaign_id = campaign_id;
  event.cluster_id = session_.id;
  event.fingerprint = tag;
  event.message = session_.name + " ran jobs of this campaign after the backup that was restored, "
                  "and their tag " + tag + " does not name their tasks: nothing more is sent";
  db::RaiseEvent(tx, event);
}

}  // namespace cigri::runner
