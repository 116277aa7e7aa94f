// The registry of clusters: /admin/clusters. A new one is tested before it is saved.
#include <sql/clusters.h>

#include "api/admin/admin.h"
#include "api/admin/cluster_settings.h"
#include "api/http/audit.h"
#include "clusterdb/clusterdb.h"
#include "clusterdb/options.h"
#include "core/error.h"
#include "core/log.h"
#include "core/text.h"
#include "secrets/secrets.h"

namespace cigri::api {
namespace {

using nlohmann::json;

std::string NameOfCluster(const std::string& name) { return "cluster \"" + name + "\""; }

// A password comes in plain over a socket or TLS and is never stored or shown so.
void Seal(const Config& config, json* body) {
  const auto password = OptionalText(*body, "api_password");
  if (password) (*body)["api_password"] = SecretBox(SecretKeyFile(config)).Encrypt(*password);
}

json RowAsJson(db::Tx& tx, const std::string& name) {
  return TheRow(tx.Exec(sql::kListClusters, name), NameOfCluster(name));
}

Reply ListAll(Context& context, const Request&) {
  return context.Transact(
      [](db::Tx& tx) { return Items(tx.Exec(sql::kListClusters, std::optional<std::string>())); });
}

Reply ShowCluster(Context& context, const Request& request) {
  return Reply::Json(
      context.Transact([&](db::Tx& tx) { return RowAsJson(tx, request.Word("name")); }));
}

// The driver's configuration of a stored cluster, and who `user` is there.
clusterdb::ClusterRow ClusterToTry(db::Tx& tx, const Config& config, const std::string& name,
                                   const std::string& user, std::string* login) {
  const auto rows = tx.Exec(sql::kClusterForCheck, name, user);
  MustHave(rows, NameOfCluster(name));
  const auto& row = rows[0];
  clusterdb::ClusterRow found;
  cluster::ClusterConfig& c = found.config;
  c.id = row.id;
  c.name = row.name;
  c.kind = row.kind;
  c.api_url = row.api_url;
  c.auth_type = row.api_auth_type;
  c.auth_user = row.api_username.value_or("");
  if (row.api_password)
    c.auth_password = SecretBox(SecretKeyFile(config)).Decrypt(*row.api_password);
  c.auth_header = row.api_auth_header.value_or("");
  c.resource_unit = row.resource_unit;
  c.properties = row.properties;
  c.options = json::parse(row.options);
  *login = row.cluster_login;
  found.token_command = row.token_command.value_or("");
  found.api = row.api;
  return found;
}

json CheckJson(const std::vector<cluster::CheckItem>& items, bool* ok) {
  const char* words[] = {"ok", "warn", "fail", "skipped"};
  json list = json::array();
  for (const auto& item : items) {
    *ok = *ok && item.verdict != cluster::CheckItem::Verdict::kFail;
    list.push_back({{"what", item.what},
                    {"verdict", words[static_cast<int>(item.verdict)]},
                    {"detail", item.detail}});
  }
  return list;
}

// Calls the cluster; a failure there is an item of the answer, not an error of the request.
json RunCheck(Context& context, const clusterdb::ClusterRow& row, const std::string& login,
              bool submit, bool* ok) {
  try {
    return CheckJson(context.make_cluster(row)->Check(login, submit), ok);
  } catch (const std::exception& e) {
    *ok = false;
    return json::array({{{"what", "driver"}, {"verdict", "fail"}, {"detail", e.what()}}});
  }
}

Reply CheckNow(Context& context, const Request& request) {
  const std::string name = request.Word("name");
  const std::string user = request.Query("user", request.caller.user);
  std::string login;
  const auto row = context.Transact([&](db::Tx& tx) {
    if (request.Flag("submit")) AddAudit(tx, "tested", "cluster " + name, {{"user", user}});
    return ClusterToTry(tx, context.config, name, user, &login);
  });
  bool ok = true;
  const json checks = RunCheck(context, row, login, request.Flag("submit"), &ok);
  return Reply::Json({{"cluster", name}, {"ok", ok}, {"checks", checks}});
}

// Writes the row in a transaction that is rolled back, to see it as it would be saved: the cluster
// is called with exactly that row before it is saved.
struct NotSaved {};

json Insert(db::Tx& tx, const std::string& name, const std::string& kind, const json& body) {
  if (!clusterdb::AddCluster(tx, *cluster::FindDriver(kind), name, TextOf(body, "api_url")))
    throw ApiError(409, "Conflict", "there is a " + NameOfCluster(name) + " already",
                   "`gridadmin cluster set` changes it");
  tx.Exec(sql::kChangeCluster, name, body.dump());
  return RowAsJson(tx, name);
}

clusterdb::ClusterRow AsItWouldBe(Context& context, const std::string& name,
                                  const std::string& kind, const json& body,
                                  const std::string& user, std::string* login) {
  clusterdb::ClusterRow row;
  try {
    TransactChecked(context, [&](db::Tx& tx) -> json {
      Insert(tx, name, kind, body);
      row = ClusterToTry(tx, context.config, name, user, login);
      throw NotSaved();
    });
  } catch (const NotSaved&) {
  }
  row.api.clear();  // there is nothing yet to count its calls on
  return row;
}

void CheckKind(const std::string& kind) {
  if (cluster::FindDriver(kind) == nullptr)
    throw BadRequest("unknown kind \"" + kind + "\"",
                     "possible: " + Join(cluster::ClusterKinds(), ", "));
}

struct Tested {
  json checks = json::array();
  bool ok = true;
};

Tested TestAs(Context& context, const Request& request, const std::string& name,
              const std::string& kind, const json& body, bool submit) {
  Tested tested;
  std::string login;
  const auto row = AsItWouldBe(context, name, kind, body, request.caller.user, &login);
  tested.checks = RunCheck(context, row, login, submit, &tested.ok);
  return tested;
}

// Whether it could not even be spoken to: then it does not matter who we say we are.
bool Unresponsive(const Tested& tested) {
  return !tested.checks.empty() && tested.checks[0]["what"] == "reachable" &&
         tested.checks[0]["verdict"] == "fail";
}

// The kinds of authentication to try at the cluster's API: the one that the operator has named, or
// those that are usual for what was given.
std::vector<std::string> AuthsToTry(const json& body) {
  if (body.contains("api_auth_type")) return {TextOf(body, "api_auth_type")};
  if (body.contains("token_command")) return {"jwt"};
  if (body.contains("api_password")) return {"basic", "jwt"};
  return {"none", "header"};
}

// Completes `body` with how we are known there when `kind` answers as it should; an API of another
// kind fails the first checks.
bool Answers(Context& context, const Request& request, const std::string& name,
             const std::string& kind, json* body) {
  for (const auto& auth : AuthsToTry(*body)) {
    json tried = *body;
    tried["api_auth_type"] = auth;
    const auto tested = TestAs(context, request, name, kind, tried, false);
    if (tested.ok) return *body = tried, true;
    if (Unresponsive(tested)) return false;
  }
  return false;
}

std::string FindKind(Context& context, const Request& request, const std::string& name,
                     json* body) {
  for (const auto& kind : cluster::ClusterKinds())
    if (Answers(context, request, name, kind, body)) return kind;
  throw BadRequest("cannot find out what kind of cluster is at " + TextOf(*body, "api_url"),
                   "say --kind and see what fails: " + Join(cluster::ClusterKinds(), ", "));
}

json TestBeforeSaving(Context& context, const Request& request, const std::string& name,
                      const std::string& kind, const json& body) {
  const Tested tested = TestAs(context, request, name, kind, body, request.Flag("submit"));
  if (tested.ok) return tested.checks;
  ApiError error(400, "Cluster check failed",
                 NameOfCluster(name) + " was not saved: a check failed",
                 "fix what is said, or save it unchecked with --no-check");
  error.extra["checks"] = tested.checks;
  throw error;
}

// `options`: an object, or a text of it.
void RequireGoodOptions(const json& options) {
  json read = options;
  try {
    if (options.is_string()) read = json::parse(options.get<std::string>());
  } catch (const json::exception& e) {
    throw BadRequest(std::string("options: the text is no JSON: ") + e.what());
  }
  const auto problem = clusterdb::OptionsProblem(read);
  if (!problem.empty()) throw BadRequest("options: " + problem, "docs/clusters.md lists them");
}

void RequireGoodTransfers(const json& options) {
  const auto problem = clusterdb::TransferOptionsProblem(options);
  if (!problem.empty()) throw BadRequest("options: " + problem, "docs/transfers.md lists them");
}

Reply RegisterCluster(Context& context, const Request& request) {
  auto keys = ClusterSettings();
  keys.insert(keys.end(), {"name", "kind"});
  json body = ObjectBody(request, keys);
  const std::string name = TextOf(body, "name");
  CheckClusterName(name);
  CheckClusterSettings(body);
  RequireGoodOptions(body.value("options", json::object()));
  RequireGoodTransfers(body.value("options", json::object()));
  Seal(context.config, &body);
  auto kind = OptionalText(body, "kind").value_or("");
  if (kind.empty()) kind = FindKind(context, request, name, &body);
  CheckKind(kind);
  if (request.Flag("check") && !body.contains("api_auth_type"))
    Answers(context, request, name, kind, &body);  // else the test below says what fails
  json checks = json::array();
  if (request.Flag("check")) checks = TestBeforeSaving(context, request, name, kind, body);
  json row = TransactChecked(context, [&](db::Tx& tx) { return Insert(tx, name, kind, body); });
  log::info("{} added cluster {} ({})", request.caller.user, name, kind);
  row["checks"] = checks;
  return Reply::Json(row, 201);
}

Reply ChangeCluster(Context& context, const Request& request) {
  json body = ObjectBody(request, ClusterSettings());
  CheckClusterSettings(body);
  // First what is said now: of what is there already, an older version may have taken it.
  RequireGoodOptions(body.value("options", json::object()));
  Seal(context.config, &body);
  const std::string name = request.Word("name");
  std::int64_t id = 0;
  const json row = TransactChecked(context, [&](db::Tx& tx) {
    const auto rows = tx.Exec(sql::kChangeCluster, name, body.dump());
    MustHave(rows, NameOfCluster(name));
    id = rows[0].id;
    json changed = RowAsJson(tx, name);
    RequireGoodTransfers(changed.at("options"));
    return changed;
  });
  std::vector<std::string> keys;
  for (const auto& [key, value] : body.items()) keys.push_back(key);
  log::info("{} changed {} of cluster {}", request.caller.user, Join(keys, ", "), name);
  // As after a drain: once it is answered nothing is sent there.
  if (row.at("enabled") == false || row.at("mode") == "observe")
    AwaitSilence(context, {id}, NameOfCluster(name) + " is closed");
  return Reply::Json(row);
}

Reply RemoveCluster(Context& context, const Request& request) {
  const std::string name = request.Word("name");
  context.Transact([&](db::Tx& tx) {
    RowAsJson(tx, name);
    if (tx.Exec(sql::kRemoveCluster, name).empty())
      throw ApiError(409, "Conflict",
                     NameOfCluster(name) + " has had campaigns: its history is kept",
                     "`gridadmin cluster disable " + name + "` ends its use");
  });
  log::info("{} removed cluster {}", request.caller.user, name);
  return Reply::Json({{"removed", name}});
}

Reply Lose(Context& context, const Request& request) {
  const std::string name = request.Word("name");
  const json lost = context.Transact([&](db::Tx& tx) {
    const auto rows = tx.Exec(sql::kMarkClusterLost, name, request.caller.user);
    MustHave(rows, NameOfCluster(name));
    return json{{"cluster", name}, {"batches", rows[0].in_doubt}, {"jobs", rows[0].live}};
  });
  log::info("{} gave up what was sent to {}: {}", request.caller.user, name, lost.dump());
  return Reply::Json(lost);
}

}  // namespace

void AddClusterAdminRoutes(Router& router) {
  router.Get("/admin/clusters", ListAll, Access::kOperator);
  router.Post("/admin/clusters", RegisterCluster, Access::kOperator);
  router.Get("/admin/clusters/{name:text}", ShowCluster, Access::kOperator);
  router.Patch("/admin/clusters/{name:text}", ChangeCluster, Access::kOperator);
  router.Delete("/admin/clusters/{name:text}", RemoveCluster, Access::kOperator);
  router.Post("/admin/clusters/{name:text}/check", CheckNow, Access::kOperator);
  router.Post("/admin/clusters/{name:text}/lost", Lose, Access::kOperator);
}

}  // namespace cigri::api
