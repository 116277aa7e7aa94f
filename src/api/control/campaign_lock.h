// A campaign held still while it is changed.
#pragma once
#include <optional>
#include <string>

#include "api/http/context.h"
#include "api/http/message.h"
#include "db/db.h"

namespace cigri::api {

/// A campaign and its cursor, locked until the transaction ends (LockCampaign).
struct LockedCampaign {
  std::int64_t id = 0, nb_params = 0, ntasks = 0;
  std::string user, type, state, wanted, format;
  std::vector<std::string> columns;
  nlohmann::json jdl;
  bool purged = false;  ///< its purge has begun
  bool over() const { return state == "terminated" || state == "cancelled"; }
};
/// Throws 404 when there is none, 403 when it is neither the caller's nor the caller an operator,
/// 409 when it is being purged.
LockedCampaign LockOwn(db::Tx& tx, const Request& request);
/// The same of one that may be being purged.
LockedCampaign LockOwnToPurge(db::Tx& tx, const Request& request);
/// The same without a lock: what takes long is done with it, since the runner and the updator wait
/// for the lock.
LockedCampaign ReadOwn(db::Tx& tx, const Request& request);
/// Throws 400 when it is cancelled, or going to be: `what` = "add tasks to".
void RequireNotCancelled(const LockedCampaign& campaign, const std::string& what);
/// Its user gives it a reason for another try: it gets as many canary jobs as at the beginning on
/// each cluster where nothing of it has succeeded.
void RenewCanaries(db::Tx& tx, const LockedCampaign& campaign);
/// Work has come for it: a campaign that had ended, or was about to, is in treatment again.
void Reopen(db::Tx& tx, const LockedCampaign& campaign);
/// What waits for its user is tried again.
struct Retried {
  std::int64_t n = 0, last = -1;  ///< tasks, and the last of them
};
/// Failed tasks of the locked campaign after task `after`, all or those that wait for `event`: not
/// more than a lock for which the runner waits allows.
Retried RetrySome(db::Tx& tx, const LockedCampaign& campaign, std::optional<std::int64_t> event,
                  std::int64_t after = -1);
/// All that are left of them; how many. The events are closed before, in the same transaction: a
/// failure that the updator adds to one of them right now is committed then, and its task is seen.
std::int64_t RetryRest(db::Tx& tx, const LockedCampaign& campaign,
                       std::optional<std::int64_t> event);
/// So many of them that RetryRest has little to do; how many. Throws 400 when the campaign is
/// cancelled.
std::int64_t RetryMost(Context& context, const Request& request, std::optional<std::int64_t> event);
/// A closed event of class log for its history.
void LogEvent(db::Tx& tx, const Request& request, std::int64_t campaign, const std::string& code,
              const std::string& message);
/// The caller has answered what held the campaign.
void CloseHoldEvents(db::Tx& tx, const Request& request, std::int64_t campaign);

}  // namespace cigri::api
