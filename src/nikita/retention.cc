#include "nikita/retention.h"

#include <algorithm>

#include "nikita/store.h"

namespace cigri::nikita {
namespace {

using std::chrono::minutes;
constexpr minutes kRetentionEvery{1}, kThinEvery{10}, kSlack{120};
// A minute: 10 million jobs take a day and a half, as do 300,000 campaigns of a few jobs each.
constexpr std::int64_t kPurgeRows = 100'000, kRowsOfAStatement = 5000, kLeastOfACampaign = 500;

// KEEP_CAMPAIGNS_DAYS = 0 keeps them indefinitely, but for those that their users purge.
void PurgeCampaigns(module::Step& step) {
  const auto keep = static_cast<double>(step.config.GetInt("KEEP_CAMPAIGNS_DAYS", 365));
  const auto days = keep > 0 ? std::optional(keep) : std::nullopt;
  for (std::int64_t left = kPurgeRows; left > 0;) {
    const auto rows = PurgeSomeOfOldestCampaign(step.db, days);
    if (!rows) return;
    left -= std::clamp(*rows, kLeastOfACampaign, kRowsOfAStatement);
  }
}

}  // namespace

void Retention::Pass(module::Step& step) {
  const auto now = Clock::now();
  if (last_pass_ != Clock::time_point{} && now - last_pass_ < kRetentionEvery) return;
  last_pass_ = now;
  RemoveStaleUploads(step.db, static_cast<double>(step.config.GetInt("UPLOAD_KEEP", 86400, 60)));
  RemoveSettledRequests(step.db);
  PurgeCampaigns(step);
  const bool first = thinned_ == Clock::time_point{};
  if (!first && now - thinned_ < kThinEvery) return;
  RemoveOldReasonsAndEvents(step.db);
  // What a nikita before us left is of the last hour or two, when the grid was up.
  const std::chrono::duration<double> since = first ? kSlack : now - thinned_ + kSlack;
  ThinHistory(step.db, since.count());
  thinned_ = now;
  RemoveOldAudit(step.db, static_cast<double>(step.config.GetInt("AUDIT_KEEP_DAYS", 730, 30)));
}

}  // namespace cigri::nikita
