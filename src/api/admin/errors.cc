// Error classes: what ends of jobs mean, edited live (docs/errors.md).
#include <sql/error_classes.h>

#include <algorithm>
#include <map>

#include "api/admin/admin.h"
#include "core/log.h"
#include "core/text.h"

namespace cigri::api {
namespace {

using nlohmann::json;

const std::vector<std::string> kKeys = {"title", "priority", "mode",         "source",
                                        "code",  "pattern",  "exit_class",   "action",
                                        "n",     "factor",   "cluster_fault"};
constexpr int kReplayDays = 30;

// The words of the columns, which the table checks without saying them.
void CheckWords(const json& body) {
  static const std::map<std::string, std::vector<std::string>> kWords = {
      {"mode", {"active", "passive", "off"}},
      {"source", {"any", "program", "cluster"}},
      {"action", {"retry", "retry_elsewhere", "more_walltime", "more_memory", "limit", "stop"}}};
  for (const auto& [key, words] : kWords) {
    if (!body.contains(key)) continue;
    const auto text = body[key].is_string() ? body[key].get<std::string>() : body[key].dump();
    if (std::find(words.begin(), words.end(), text) == words.end())
      throw BadRequest(key + " cannot be \"" + text + "\"", "possible: " + Join(words, ", "));
  }
}

std::string Named(const std::string& name) { return "error class \"" + name + "\""; }

Reply ListErrorClasses(Context& context, const Request&) {
  return context.Transact([](db::Tx& tx) { return Items(tx.Exec(sql::kListErrorClasses)); });
}

Reply ShowErrorClass(Context& context, const Request& request) {
  const std::string name = request.Word("name");
  return Reply::Json(context.Transact(
      [&](db::Tx& tx) { return TheRow(tx.Exec(sql::kShowErrorClass, name), Named(name)); }));
}

Reply AddErrorClass(Context& context, const Request& request) {
  auto keys = kKeys;
  keys.emplace_back("name");
  json body = ObjectBody(request, keys);
  const std::string name = TextOf(body, "name");
  TextOf(body, "action");
  CheckWords(body);
  body.erase("name");
  const json row = TransactChecked(context, [&](db::Tx& tx) {
    return TheRow(tx.Exec(sql::kAddErrorClass, name, body.dump(), request.caller.user), name);
  });
  log::info("{} added {}", request.caller.user, Named(name));
  return Reply::Json(row, 201);
}

Reply ChangeErrorClass(Context& context, const Request& request) {
  const std::string name = request.Word("name");
  const json body = ObjectBody(request, kKeys);
  CheckWords(body);
  const json row = TransactChecked(context, [&](db::Tx& tx) {
    return TheRow(tx.Exec(sql::kChangeErrorClass, name, body.dump(), request.caller.user),
                  Named(name));
  });
  log::info("{} changed {}: {}", request.caller.user, Named(name), body.dump());
  return Reply::Json(row);
}

Reply RemoveErrorClass(Context& context, const Request& request) {
  const std::string name = request.Word("name");
  context.Transact(
      [&](db::Tx& tx) { MustHave(tx.Exec(sql::kRemoveErrorClass, name), Named(name)); });
  log::info("{} removed {}", request.caller.user, Named(name));
  return Reply::Json({{"removed", name}});
}

// What it would have matched in the last days: nothing is changed.
Reply Replay(Context& context, const Request& request) {
  const std::string name = request.Word("name");
  const auto days = request.QueryInt("days", kReplayDays, 1, 3650);
  return context.Transact([&](db::Tx& tx) {
    MustHave(tx.Exec(sql::kShowErrorClass, name), Named(name));
    return Items(tx.Exec(sql::kReplayErrorClass, name, static_cast<double>(days)));
  });
}

}  // namespace

void AddErrorRoutes(Router& router) {
  constexpr auto kWho = Access::kOperator;
  router.Get("/admin/errors", ListErrorClasses, kWho);
  router.Post("/admin/errors", AddErrorClass, kWho);
  router.Get("/admin/errors/{name:text}", ShowErrorClass, kWho);
  router.Patch("/admin/errors/{name:text}", ChangeErrorClass, kWho);
  router.Delete("/admin/errors/{name:text}", RemoveErrorClass, kWho);
  router.Get("/admin/errors/{name:text}/replay", Replay, kWho);
}

}  // namespace cigri::api
