#include "api/control/campaign_lock.h"

#include <sql/campaigns.h>
#include <sql/placements.h>
#include <sql/tasks.h>

#include "api/http/router.h"
#include "api/submit/submission.h"
#include "db/events.h"

namespace cigri::api {

namespace {

constexpr std::int64_t kRetriedAtOnce = 10'000;  // takes some tenths of a second

template <typename Rows>
LockedCampaign OwnOf(const Rows& rows, const Request& request) {
  if (rows.empty()) throw NotFound("campaign " + std::to_string(request.Id()));
  const auto& r = rows[0];
  LockedCampaign c;
  c.id = r.id;
  c.user = r.grid_user;
  RequireOwner(request, c.user, "campaign " + std::to_string(c.id));
  c.nb_params = r.nb_params;
  c.ntasks = r.ntasks;
  c.type = r.type;
  c.state = r.state;
  c.wanted = r.wanted;
  c.purged = r.purged;
  c.format = r.format;
  c.columns = r.columns;
  c.jdl = nlohmann::json::parse(r.jdl);
  return c;
}

LockedCampaign Kept(LockedCampaign c) {
  if (c.purged)
    throw ApiError(409, "Conflict", "campaign " + std::to_string(c.id) + " is being purged",
                   "submit it again as a new one");
  return c;
}

}  // namespace

LockedCampaign LockOwnToPurge(db::Tx& tx, const Request& request) {
  return OwnOf(tx.Exec(sql::kLockCampaign, request.Id()), request);
}

LockedCampaign LockOwn(db::Tx& tx, const Request& request) {
  return Kept(LockOwnToPurge(tx, request));
}

LockedCampaign ReadOwn(db::Tx& tx, const Request& request) {
  return Kept(OwnOf(tx.Exec(sql::kReadCampaign, request.Id()), request));
}

void RequireNotCancelled(const LockedCampaign& campaign, const std::string& what) {
  if (campaign.wanted != "cancelled" && campaign.state != "cancelled") return;
  throw BadRequest(
      "cannot " + what + " campaign " + std::to_string(campaign.id) + ": it is cancelled",
      "submit it again as a new one");
}

void RenewCanaries(db::Tx& tx, const LockedCampaign& campaign) {
  tx.Exec(sql::kAskForCanaries, campaign.id);
}

void Reopen(db::Tx& tx, const LockedCampaign& campaign) {
  tx.Exec(sql::kReopenCampaign, campaign.id);
  RenewCanaries(tx, campaign);
}

Retried RetrySome(db::Tx& tx, const LockedCampaign& campaign, std::optional<std::int64_t> event,
                  std::int64_t after) {
  const auto row = tx.One(sql::kRetryFailedTasks, campaign.id, event, after, kRetriedAtOnce);
  if (row.n > 0) {
    Reopen(tx, campaign);
    Wake(tx, campaign.id);
  }
  return {row.n, row.last};
}

std::int64_t RetryRest(db::Tx& tx, const LockedCampaign& campaign,
                       std::optional<std::int64_t> event) {
  std::int64_t all = 0;
  for (Retried some{kRetriedAtOnce}; some.n == kRetriedAtOnce; all += some.n)
    some = RetrySome(tx, campaign, event, some.last);
  return all;
}

std::int64_t RetryMost(Context& context, const Request& request,
                       std::optional<std::int64_t> event) {
  std::int64_t all = 0;
  for (Retried some{kRetriedAtOnce}; some.n == kRetriedAtOnce; all += some.n)
    some = context.Transact([&](db::Tx& tx) {
      const auto campaign = LockOwn(tx, request);
      RequireNotCancelled(campaign, "retry tasks of");
      return RetrySome(tx, campaign, event, some.last);
    });
  return all;
}

void LogEvent(db::Tx& tx, const Request& request, std::int64_t campaign, const std::string& code,
              const std::string& message) {
  db::RaiseEvent(tx, {.cls = "log",
                      .code = code,
                      .message = message,
                      .campaign_id = campaign,
                      .closed_by = request.caller.user});
}

void CloseHoldEvents(db::Tx& tx, const Request& request, std::int64_t campaign) {
  db::CloseEvents(tx, request.caller.user,
                  {.campaign_id = campaign, .codes = {"CANARY_FAILED", "HELD_EVERYWHERE"}});
}

}  // namespace cigri::api
