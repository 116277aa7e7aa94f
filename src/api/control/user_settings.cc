// What users keep with the grid: notifications, and their tokens for clusters.
#include <sql/clusters.h>
#include <sql/grid.h>
#include <sql/notifications.h>
#include <sql/users.h>

#include "api/http/router.h"
#include "core/hours.h"
#include "core/limits.h"
#include "core/text.h"
#include "secrets/secrets.h"

namespace cigri::api {
namespace {

using nlohmann::json;

// CiGri's name for the grid's administrators, whom root subscribes.
std::string Subscriber(const Request& request) {
  return request.caller.user == "root" ? "%%admin%%" : request.caller.user;
}

// Root has its own campaigns too.
std::vector<std::string> Subscribers(const Request& request) {
  if (request.caller.user != "root") return {request.caller.user};
  return {"root", "%%admin%%"};
}

Reply ListNotifications(Context& context, const Request& request) {
  return context.Transact([&](db::Tx& tx) {
    json items = json::array();
    for (const auto& row : tx.Exec(sql::kListNotifications, Subscribers(request)))
      items.push_back({{"id", row.id},
                       {"grid_user", row.grid_user},
                       {"type", row.type},
                       {"identity", row.identity},
                       {"severity", row.severity},
                       {"campaign", row.campaign_id ? json(*row.campaign_id) : json()},
                       {"quiet_hours", row.quiet_hours},
                       {"digest_minutes",
                        row.digest_minutes ? json(*row.digest_minutes) : json()}});
    return Reply::Json(
        {{"items", items}, {"links", {LinkJson(request, "self", "/notifications")}}});
  });
}

// CiGri's path says jabber where its table says xmpp; ours says jabber in both.
std::string TypeOf(const Request& request) {
  const std::string type = request.Word("type");
  if (type != "mail" && type != "jabber" && type != "log")
    throw NotFound("the notification type \"" + type + "\"");
  return type;
}

// A number of the body within limits; nothing when there is none.
template <typename T>
std::optional<T> NumberOf(const json& body, const char* key, T most) {
  if (!body.is_object() || !body.contains(key) || body[key].is_null()) return std::nullopt;
  if (!body[key].is_number_integer() || body[key] < 0 || body[key] > most)
    throw BadRequest("\"" + std::string(key) + "\" must be a number from 0 to " +
                     std::to_string(most));
  return body[key].get<T>();
}

// Nobody hears of other users' campaigns, operators included: their subscriptions would be silent.
void RequireOwn(db::Tx& tx, const Request& request, std::int64_t campaign) {
  const auto row = tx.First(sql::kCampaignForSubscription, campaign);
  if (!row) throw NotFound("campaign " + std::to_string(campaign));
  if (row->grid_user != request.caller.user)
    throw Forbidden("campaign " + std::to_string(campaign) + " belongs to " + row->grid_user);
}

Reply Subscribe(Context& context, const Request& request) {
  const std::string type = TypeOf(request);
  const auto body = request.Json();
  const auto text = [&](const char* key) {
    return body.is_object() && body.contains(key) && body[key].is_string()
               ? body[key].get<std::string>()
               : "";
  };
  const std::string identity = text("identity"), severity = text("severity");
  const std::string quiet_hours = text("quiet_hours");
  const auto digest_minutes = NumberOf<int>(body, "digest_minutes", 7 * 24 * 60);
  const auto campaign = NumberOf<std::int64_t>(body, "campaign", 1LL << 53);
  if (identity.empty() || identity.size() > 255 || identity.find_first_of("\r\n") != identity.npos)
    throw BadRequest("\"identity\" must be an address",
                     "like {\"identity\": \"a@b.org\", \"severity\": \"high\"}");
  if (type == "mail" && !IsMailAddress(identity))
    throw BadRequest("\"" + identity + "\" is no mail address",
                     "like someone@example.org, without a name");
  if (severity != "low" && severity != "medium" && severity != "high")
    throw BadRequest("\"" + severity + "\" is no severity", "write low, medium or high");
  std::string fault;
  WithinHours(quiet_hours, 0, &fault);
  if (!quiet_hours.empty() && !fault.empty()) throw BadRequest("\"quiet_hours\": " + fault);
  context.Transact([&](db::Tx& tx) {
    if (campaign) RequireOwn(tx, request, *campaign);
    const auto most = limits::kSubscriptions.value;
    if (tx.Exec(sql::kSubscribe, campaign ? request.caller.user : Subscriber(request), type,
                identity, severity, campaign, quiet_hours, digest_minutes, most) == 0)
      throw ApiError(429, "Too many",
                     "you have " + std::to_string(most) + " subscriptions, the limit subscriptions",
                     "one to all campaigns replaces those to single ones, which go a day after "
                     "the end of theirs; gridnotify -u ends some");
  });
  json answer{{"status", 201},
              {"title", "Created"},
              {"message", "subscribed to " + type + " for " + identity},
              {"type", type},
              {"identity", identity},
              {"severity", severity}};
  const auto& config = context.config;
  if (type == "mail" && config.Get("NOTIFICATIONS_SMTP_SERVER").empty() &&
      config.Get("NOTIFICATIONS_SENDMAIL").empty())
    answer["note"] =
        "this grid sends no mail: cigri.conf sets neither NOTIFICATIONS_SMTP_SERVER nor a sendmail "
        "(NOTIFICATIONS_SENDMAIL)";
  return Reply::Json(std::move(answer), 201);
}

Reply Unsubscribe(Context& context, const Request& request) {
  const std::string type = TypeOf(request), identity = request.Query("identity");
  const auto campaign = request.HasQuery("campaign")
                            ? std::optional(request.QueryInt("campaign", 0, 0, 1LL << 53))
                            : std::nullopt;
  const auto gone = context.Transact([&](db::Tx& tx) {
    return tx.Exec(sql::kUnsubscribe, Subscribers(request), type, identity, campaign);
  });
  return Reply::Json({{"status", 202}, {"title", "Accepted"}, {"removed", gone}}, 202);
}

// Operators may name the user (`oar`, whose token serves bulk polling): ?user=.
std::string TokenUser(const Request& request) {
  if (!request.HasQuery("user")) return request.caller.user;
  RequireOperator(request);
  return request.Query("user");
}

Reply ListTokens(Context& context, const Request& request) {
  const SecretBox box(SecretKeyFile(context.config));
  return context.Transact([&](db::Tx& tx) {
    json items = json::array();
    for (const auto& row : tx.Exec(sql::kListClusterTokens, TokenUser(request)))
      items.push_back({{"cluster_id", row.cluster_id},
                       {"cluster_name", row.name},
                       {"cluster_login", ShownPart(box.Decrypt(row.token))},
                       {"expires", row.expires ? json(*row.expires) : json()}});
    return Reply::Json({{"items", items}, {"links", {LinkJson(request, "self", "/tokens")}}});
  });
}

void RequireJwt(db::Tx& tx, std::int64_t cluster) {
  const auto rows = tx.Exec(sql::kClusterAuth, cluster);
  if (rows.empty()) throw NotFound("cluster " + std::to_string(cluster));
  if (rows[0].api_auth_type != "jwt")
    throw Forbidden("cluster " + rows[0].name + " takes no tokens of users");
}

Reply PutToken(Context& context, const Request& request) {
  const auto body = request.Json();
  if (!body.is_object() || !body.contains("cluster_id") || !body.contains("token") ||
      !body["token"].is_string())
    throw BadRequest("the body must be {\"cluster_id\": 1, \"token\": \"eyJ...\"}");
  const auto& id = body["cluster_id"];
  const std::int64_t cluster = id.is_number_integer() ? id.get<std::int64_t>()
                               : id.is_string()
                                   ? std::strtoll(id.get<std::string>().c_str(), nullptr, 10)
                                   : 0;
  std::string token(Trim(body["token"].get<std::string>()));
  if (StartsWith(token, "Bearer ")) token.erase(0, 7);
  if (token.empty() || token.size() > 8192 || token.find_first_of(" \r\n\t") != token.npos)
    throw BadRequest("this is no token");
  SecretBox box(SecretKeyFile(context.config));
  context.Transact([&](db::Tx& tx) {
    RequireJwt(tx, cluster);
    tx.Exec(sql::kPutClusterToken, TokenUser(request), cluster, box.Encrypt(token),
            TokenExpiry(token));
    tx.Exec(sql::kNotifyWake);
  });
  return Reply::Json(
      {{"status", 201},
       {"title", "Created"},
       {"message", "the token for cluster " + std::to_string(cluster) + " is stored"},
       {"cluster_id", cluster}},
      201);
}

Reply DropToken(Context& context, const Request& request) {
  return context.Transact([&](db::Tx& tx) {
    RequireJwt(tx, request.Id());
    const auto gone = tx.Exec(sql::kDropClusterToken, TokenUser(request), request.Id());
    if (gone == 0) throw NotFound("a token for cluster " + std::to_string(request.Id()));
    return Reply::Json({{"status", 202}, {"title", "Accepted"}}, 202);
  });
}

}  // namespace

void AddUserRoutes(Router& router) {
  router.Get("/notifications", ListNotifications);
  router.Post("/notifications/{type:text}", Subscribe);
  router.Delete("/notifications/{type:text}", Unsubscribe);
  router.Get("/tokens", ListTokens);
  router.Post("/tokens", PutToken);
  router.Delete("/tokens/{id}", DropToken);
}

}  // namespace cigri::api
