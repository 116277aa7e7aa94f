// Who is near to which cluster, who they are there, who operates the grid, and API tokens.
#include <sql/users.h>

#include "api/admin/admin.h"
#include "core/log.h"
#include "core/text.h"
#include "policy/members.h"
#include "secrets/secrets.h"

namespace cigri::api {
namespace {

using nlohmann::json;

template <const auto& statement>
Reply ListOf(Context& context, const Request&) {
  return context.Transact([](db::Tx& tx) { return Items(tx.Exec(statement)); });
}

Reply SetAffinity(Context& context, const Request& request) {
  const json body = ObjectBody(request, {"user", "cluster", "priority"});
  const std::string user = TextOf(body, "user"), cluster = TextOf(body, "cluster");
  const auto priority = OptionalInt(body, "priority");
  if (!priority) throw BadRequest("\"priority\" is missing");
  context.Transact([&](db::Tx& tx) {
    MustHave(tx.Exec(sql::kSetAffinity, user, cluster, *priority), "cluster \"" + cluster + "\"");
  });
  return Reply::Json(body);
}

Reply SetMapping(Context& context, const Request& request) {
  const json body = ObjectBody(request, {"user", "cluster", "login"});
  const std::string user = TextOf(body, "user"), cluster = TextOf(body, "cluster"),
                    login = TextOf(body, "login");
  context.Transact([&](db::Tx& tx) {
    MustHave(tx.Exec(sql::kSetMapping, user, cluster, login), "cluster \"" + cluster + "\"");
  });
  log::info("{}: {} is {} on {}", request.caller.user, user, login, cluster);
  return Reply::Json(body);
}

template <const auto& statement>
Reply RemovePair(Context& context, const Request& request) {
  const std::string user = request.Word("user"), cluster = request.Word("cluster");
  context.Transact([&](db::Tx& tx) {
    MustHave(tx.Exec(statement, user, cluster), "an entry of " + user + " on " + cluster);
  });
  return Reply::Json({{"removed", {{"user", user}, {"cluster", cluster}}}});
}

Reply AddOperator(Context& context, const Request& request) {
  const std::string name = TextOf(ObjectBody(request, {"name"}), "name");
  context.Transact([&](db::Tx& tx) { tx.Exec(sql::kAddOperator, name, request.caller.user); });
  log::info("{} made {} an operator", request.caller.user, name);
  return Reply::Json({{"name", name}}, 201);
}

Reply RemoveOperator(Context& context, const Request& request) {
  const std::string name = request.Word("name");
  context.Transact([&](db::Tx& tx) {
    MustHave(tx.Exec(sql::kRemoveOperator, name), "operator \"" + name + "\"");
  });
  return Reply::Json({{"removed", name}});
}

policy::NameKind KindIn(const std::string& word) {
  if (const auto kind = policy::NameKindOf(word)) return *kind;
  throw BadRequest("\"" + word + "\" is no kind of name",
                   "write project, class, sla_group or licence");
}

Reply AddMember(Context& context, const Request& request) {
  const json body = ObjectBody(request, {"user", "kind", "name"});
  const std::string user = TextOf(body, "user"), kind = TextOf(body, "kind"),
                    name = TextOf(body, "name");
  for (const auto& text : {user, name})
    if (const auto problem = NameProblem(text, 64); !problem.empty())
      throw BadRequest("\"" + ValidUtf8(text).substr(0, 64) + "\" " + problem);
  if (KindIn(kind) == policy::NameKind::kProject && user == policy::kEverybody)
    throw BadRequest("nobody is a member of a project as one of all users",
                     "users of no project share one branch of the tree");
  context.Transact(
      [&](db::Tx& tx) { tx.Exec(sql::kAddMember, kind, name, user, request.caller.user); });
  log::info("{}: {} is a member of {} {}", request.caller.user, user, kind, name);
  return Reply::Json(body);
}

Reply RemoveMember(Context& context, const Request& request) {
  const std::string user = request.Word("user"), kind = request.Word("kind"),
                    name = request.Word("name");
  context.Transact([&](db::Tx& tx) {
    MustHave(tx.Exec(sql::kRemoveMember, kind, name, user), user + " in " + kind + " " + name);
  });
  log::info("{}: {} is no member of {} {} any more", request.caller.user, user, kind, name);
  return Reply::Json({{"removed", {{"user", user}, {"kind", kind}, {"name", name}}}});
}

std::optional<int> DaysOf(const json& body) {
  const auto days = OptionalInt(body, "days");
  if (days && (*days < 1 || *days > 36500)) throw BadRequest("\"days\" must be from 1 to 36500");
  return days;
}

// A new token; it is in this one answer and nowhere else.
json NewToken(db::Tx& tx, const Request& request, const std::string& user,
              std::optional<int> days) {
  const std::string token = RandomToken();
  json row = TheRow(tx.Exec(sql::kAddApiToken, user, HashToken(token), ShownPart(token),
                            request.caller.user, days),
                    "token");
  row["token"] = token;
  return row;
}

Reply AddToken(Context& context, const Request& request) {
  const json body = ObjectBody(request, {"user", "days"});
  const std::string user = TextOf(body, "user");
  const auto days = DaysOf(body);
  return Reply::Json(
      context.Transact([&](db::Tx& tx) { return NewToken(tx, request, user, days); }), 201);
}

// The old one stays good for some hours, so that its user can change it where he has it.
Reply RotateToken(Context& context, const Request& request) {
  const json body = ObjectBody(request, {"days", "keep_hours"});
  const auto days = DaysOf(body), keep = OptionalInt(body, "keep_hours");
  if (keep && (*keep < 0 || *keep > 8760)) throw BadRequest("\"keep_hours\" must be from 0 to 8760");
  return Reply::Json(
      context.Transact([&](db::Tx& tx) {
        const auto old = tx.Exec(sql::kRunOutApiToken, request.Id(), keep.value_or(24));
        MustHave(old, "token " + std::to_string(request.Id()));
        return NewToken(tx, request, old[0].grid_user, days ? days : old[0].days);
      }),
      201);
}

Reply RevokeToken(Context& context, const Request& request) {
  context.Transact([&](db::Tx& tx) {
    MustHave(tx.Exec(sql::kRevokeApiToken, request.Id()), "token " + std::to_string(request.Id()));
  });
  return Reply::Json({{"revoked", request.Id()}});
}

}  // namespace

void AddUserAdminRoutes(Router& router) {
  constexpr auto kWho = Access::kOperator;
  router.Get("/admin/affinity", ListOf<sql::kListAffinities>, kWho);
  router.Put("/admin/affinity", SetAffinity, kWho);
  router.Delete("/admin/affinity/{user:text}/{cluster:text}", RemovePair<sql::kRemoveAffinity>,
                kWho);
  router.Get("/admin/members", ListOf<sql::kListMembers>, kWho);
  router.Put("/admin/members", AddMember, kWho);
  router.Delete("/admin/members/{kind:text}/{name:text}/{user:text}", RemoveMember, kWho);
  router.Get("/admin/mapping", ListOf<sql::kListMappings>, kWho);
  router.Put("/admin/mapping", SetMapping, kWho);
  router.Delete("/admin/mapping/{user:text}/{cluster:text}", RemovePair<sql::kRemoveMapping>, kWho);
  router.Get("/admin/operators", ListOf<sql::kListOperators>, kWho);
  router.Post("/admin/operators", AddOperator, kWho);
  router.Delete("/admin/operators/{name:text}", RemoveOperator, kWho);
  router.Get("/admin/tokens", ListOf<sql::kListApiTokens>, kWho);
  router.Post("/admin/tokens", AddToken, kWho);
  router.Post("/admin/tokens/{id}/rotate", RotateToken, kWho);
  router.Delete("/admin/tokens/{id}", RevokeToken, kWho);
}

}  // namespace cigri::api
