// Stopping the flow to clusters, at once and without any module's help: /admin/drain,
// /admin/resume.
#include <sql/batches.h>
#include <sql/clusters.h>

#include <algorithm>
#include <thread>

#include "api/admin/admin.h"
#include "core/log.h"
#include "db/events.h"

namespace cigri::api {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

// Much longer than any SEND_WINDOW in use: then the answer says that it is not over.
constexpr auto kPatience = std::chrono::seconds(50);

// Which cluster: nothing for all.
std::optional<std::string> ClusterAsked(const json& body) {
  const std::string name = TextOf(body, "cluster");
  return name == "all" ? std::nullopt : std::optional(name);
}

std::int64_t AboutToSend(Context& context, const std::vector<std::int64_t>& ids, double* seconds) {
  return context.Transact([&](db::Tx& tx) {
    const auto row = tx.Exec(sql::kCountUnsentBatches, ids)[0];
    *seconds = row.wait_s;
    return row.n;
  });
}

Reply Drain(Context& context, const Request& request) {
  const json body = ObjectBody(request, {"cluster", "reason", "kill", "until"});
  const auto which = ClusterAsked(body), until = OptionalText(body, "until");
  const std::string reason = TextOf(body, "reason");
  const bool kill = body.value("kill", false);
  std::vector<std::int64_t> ids;
  json names = json::array();
  TransactChecked(context, [&](db::Tx& tx) {
    ids.clear();
    names.clear();
    const auto rows = tx.Exec(sql::kDrainCluster, which, kill, reason, request.caller.user, until);
    if (which) MustHave(rows, "cluster \"" + *which + "\"");
    for (const auto& row : rows) {
      ids.push_back(row.id);
      names.push_back(row.name);
      db::RaiseEvent(
          tx, {.cls = "cluster",
               .code = "DRAINED",
               .message = row.name + (kill ? " is emptied by " : " is drained by ") +
                          request.caller.user + (until ? " until " + *until : "") + ": " + reason,
               .cluster_id = row.id});
    }
    std::sort(names.begin(), names.end());
    return json();
  });
  log::info("{} drained {}{}: {}", request.caller.user, names.dump(), kill ? " and kills" : "",
            reason);
  AwaitSilence(context, ids, "the clusters are drained");
  return Reply::Json({{"drained", names}, {"kill", kill}, {"reason", reason}});
}

Reply Resume(Context& context, const Request& request) {
  const auto which = ClusterAsked(ObjectBody(request, {"cluster"}));
  json names = json::array();
  context.Transact([&](db::Tx& tx) {
    names.clear();
    if (which) MustHave(tx.Exec(sql::kListClusters, which), "cluster \"" + *which + "\"");
    for (const auto& row : tx.Exec(sql::kResumeCluster, which)) {
      names.push_back(row.name);
      db::CloseEvents(
          tx, request.caller.user,
          {.campaign_id = db::EventFilter::kNone, .cluster_id = row.id, .codes = {"DRAINED"}});
    }
    std::sort(names.begin(), names.end());
  });
  log::info("{} resumed {}", request.caller.user, names.dump());
  return Reply::Json({{"resumed", names}});
}

}  // namespace

// A runner looks at send_by right before it sends, so this ends even when the runner is stopped, or
// has died.
void AwaitSilence(Context& context, const std::vector<std::int64_t>& clusters,
                  const std::string& done) {
  const auto end = Clock::now() + kPatience;
  for (;;) {
    double seconds = 0;
    const std::int64_t left = AboutToSend(context, clusters, &seconds);
    if (left == 0) return;
    if (Clock::now() >= end)
      throw ApiError(
          503, "Unavailable",
          done + ", but " + std::to_string(left) + " batches claimed before may still be sent",
          "repeat the command until it succeeds");
    std::this_thread::sleep_for(std::chrono::duration<double>(std::clamp(seconds, 0.005, 0.05)));
  }
}

void AddDrainRoutes(Router& router) {
  router.Post("/admin/drain", Drain, Access::kOperator);
  router.Post("/admin/resume", Resume, Access::kOperator);
}

}  // namespace cigri::api
