// Cancelling, pausing, resuming, renaming and purging campaigns.
#include "api/read/campaigns.h"

#include <sql/campaigns.h>

#include "api/control/campaign_lock.h"
#include "api/http/audit.h"
#include "api/http/router.h"
#include "api/submit/submission.h"
#include "core/text.h"

namespace cigri::api {
namespace {

constexpr auto kPurgeTime = std::chrono::seconds(10);
constexpr int kPurgeRows = 20'000;  // of one statement

std::string NameInMessages(const LockedCampaign& c) { return "campaign " + std::to_string(c.id); }

// What users ask for is `wanted`; the updator moves `state` after it.
void Want(db::Tx& tx, const Request& request, const LockedCampaign& c, const std::string& wanted,
          const std::string& code, const std::string& message) {
  tx.Exec(sql::kSetWantedState, c.id, wanted);
  LogEvent(tx, request, c.id, code, message + " by " + request.caller.user);
  Wake(tx, c.id);
}

void Cancel(db::Tx& tx, const Request& request, const LockedCampaign& c) {
  if (c.wanted == "cancelled")
    throw BadRequest("cannot cancel " + NameInMessages(c) + ": it is already");
  if (c.over()) throw BadRequest("cannot cancel " + NameInMessages(c) + ": it has terminated");
  Want(tx, request, c, "cancelled", "CANCELLED", "cancelled");
}

void PauseCampaign(db::Tx& tx, const Request& request, const LockedCampaign& c) {
  if (c.wanted != "in_treatment" || c.over())
    throw BadRequest("cannot pause " + NameInMessages(c) + ": it is " +
                     (c.over() ? c.state : c.wanted));
  Want(tx, request, c, "paused", "PAUSED", "paused");
}

void ResumeCampaign(db::Tx& tx, const Request& request, const LockedCampaign& c) {
  if (c.wanted != "paused" || c.over())
    throw BadRequest("cannot resume " + NameInMessages(c) + ": it is not paused");
  Want(tx, request, c, "in_treatment", "RESUMED", "resumed");
}

Reply Accepted(const std::string& what) {
  return Reply::Json({{"status", 202}, {"title", "Accepted"}, {"message", what}}, 202);
}

// True when the campaign and all its rows are gone; usage stays, for accounts.
bool PurgeSome(Context& context, std::int64_t id) {
  const auto left = context.Transact(
      [&](db::Tx& tx) { return tx.One(sql::kPurgeCampaignRows, id, kPurgeRows).n; });
  if (left > 0) return false;
  context.Transact([&](db::Tx& tx) { tx.Exec(sql::kPurgeCampaign, id); });
  return true;
}

Reply Purge(Context& context, const Request& request) {
  context.Transact([&](db::Tx& tx) {
    const auto c = LockOwnToPurge(tx, request);
    if (c.purged) return;  // it goes on where it stopped
    if (!c.over())
      throw BadRequest("cannot purge " + NameInMessages(c) + ": it is " + c.state,
                       "cancel it first");
    if (tx.Exec(sql::kMarkPurged, c.id).empty())
      throw BadRequest("cannot purge " + NameInMessages(c) +
                           ": some of its jobs or epilogues have not ended yet",
                       "try again in a minute");
    AddAudit(tx, "purged", NameInMessages(c), {{"user", c.user}, {"tasks", c.ntasks}});
  });
  // Ten million rows take a while: pieces, and an answer before the client gives up.
  const auto end = std::chrono::steady_clock::now() + kPurgeTime;
  while (std::chrono::steady_clock::now() < end)
    if (PurgeSome(context, request.Id()))
      return Accepted("campaign " + std::to_string(request.Id()) + " is purged");
  throw ApiError(503, "Unavailable",
                 "campaign " + std::to_string(request.Id()) + " is purged only in part",
                 "nikita removes the rest; or ask again: it goes on where it stopped");
}

Reply RemoveCampaign(Context& context, const Request& request) {
  if (request.Flag("purge")) return Purge(context, request);
  return context.Transact([&](db::Tx& tx) {
    const auto c = LockOwn(tx, request);
    if (request.Flag("hold")) {
      PauseCampaign(tx, request, c);
      return Accepted(NameInMessages(c) + " is being paused");
    }
    if (request.Flag("resume")) {
      ResumeCampaign(tx, request, c);
      return Accepted(NameInMessages(c) + " is resumed");
    }
    Cancel(tx, request, c);
    return Accepted(NameInMessages(c) + " is being cancelled");
  });
}

// CiGri's form fields; a JSON object with the same names is taken as well.
std::map<std::string, std::string> Fields(const Request& request) {
  std::map<std::string, std::string> fields(request.form.begin(), request.form.end());
  if (request.content_type.find("json") != std::string::npos) {
    const auto body = request.Json();
    if (!body.is_object()) throw BadRequest("the body must be a JSON object");
    fields.clear();
    for (const auto& [key, value] : body.items())
      fields[key] = value.is_string() ? value.get<std::string>() : value.dump();
  }
  return fields;
}

void Rename(db::Tx& tx, const LockedCampaign& c, const std::string& name) {
  if (name.empty()) throw BadRequest("a name has 1 to 255 bytes");
  if (const auto problem = NameProblem(name, 255); !problem.empty())
    throw BadRequest("the name " + problem);
  tx.Exec(sql::kRenameCampaign, c.id, name);
}

Reply Put(Context& context, const Request& request) {
  const auto fields = Fields(request);
  return context.Transact([&](db::Tx& tx) {
    const auto c = LockOwn(tx, request);
    if (const auto name = fields.find("name"); name != fields.end()) Rename(tx, c, name->second);
    if (const auto state = fields.find("state"); state != fields.end()) {
      if (state->second != "paused" && state->second != "in_treatment")
        throw BadRequest("\"" + state->second + "\" is no state to ask for",
                         "paused and in_treatment are; DELETE cancels");
      if (state->second == "paused")
        PauseCampaign(tx, request, c);
      else
        ResumeCampaign(tx, request, c);
    }
    return Reply::Json(CampaignJson(tx, request, c.id), 202);
  });
}

}  // namespace

void AddControlRoutes(Router& router) {
  router.Delete("/campaigns/{id}", RemoveCampaign);
  router.Put("/campaigns/{id}", Put);
}

}  // namespace cigri::api
