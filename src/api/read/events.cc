// Events, and the failures of a campaign grouped by what they say.
#include <sql/events.h>

#include "api/http/router.h"
#include "api/read/tasks.h"

namespace cigri::api {
namespace {

using nlohmann::json;

// A fault of a cluster has the words of somebody's job as its sample: those are for operators.
template <typename Row>
void HideJobs(const Row& row, json& event) {
  const auto& sample = event["sample"];
  if (row.campaign_id || row.code != "CLUSTER_FAULT" || !sample.is_object() ||
      !sample.contains("job"))
    return;
  event["message"] = row.cluster_name.value_or("") + ": " +
                     sample.value("fault", "jobs fail by a fault of the cluster");
  event["sample"] = nullptr;
}

template <typename Row>
nlohmann::json EventJson(const Row& row, const Request& request) {
  json event = {{"id", row.id},
                {"class", row.class_},
                {"code", row.code},
                {"state", row.state},
                {"job_id", OrNull(row.job_id)},
                {"cluster_id", OrNull(row.cluster_id)},
                {"cluster_name", OrNull(row.cluster_name)},
                {"campaign_id", OrNull(row.campaign_id)},
                {"index", OrNull(row.idx)},
                {"parent", OrNull(row.parent)},
                {"count", row.count},
                {"message", row.message},
                {"date_open", OrNull(row.date_open)},
                {"date_update", OrNull(row.date_update)},
                {"date_closed", OrNull(row.date_closed)},
                {"closed_by", OrNull(row.closed_by)},
                {"sample", row.sample ? json::parse(*row.sample) : json()}};
  if (!request.caller.is_operator) HideJobs(row, event);
  return event;
}

std::vector<std::string> StatesAsked(const Request& request) {
  std::vector<std::string> states = {"open"};
  if (request.Flag("all")) states.push_back("closed");
  return states;
}

// One row more than asked tells whether there is a next page, without counting years of events.
template <typename Row>
json EventPage(const Request& request, const std::string& to, const std::vector<Row>& rows,
               std::int64_t offset, std::int64_t limit) {
  json items = json::array();
  for (const auto& row : rows)
    if (static_cast<std::int64_t>(items.size()) < limit) items.push_back(EventJson(row, request));
  const auto seen = offset + static_cast<std::int64_t>(rows.size());
  auto page = PageJson(request, to, std::move(items), seen, offset, limit,
                       request.Flag("all") ? "&all=1" : "");
  page["total"] = offset + static_cast<std::int64_t>(page["items"].size());
  return page;
}

json CampaignEvents(db::Tx& tx, const Request& request) {
  const auto info = OwnInfo(tx, request, request.Id());
  const auto limit = request.QueryInt("limit", 1000, 1, 10'000),
             offset = request.QueryInt("offset", 0);
  // As CiGri: with closed ones asked for, the global ones of its clusters are left out.
  const auto rows = tx.Exec(sql::kListEvents, info.id, StatesAsked(request), !request.Flag("all"),
                            limit + 1, offset);
  return EventPage(request, "/campaigns/" + std::to_string(info.id) + "/events", rows, offset,
                   limit);
}

json GlobalEvents(db::Tx& tx, const Request& request) {
  const auto limit = request.QueryInt("limit", 1000, 1, 10'000),
             offset = request.QueryInt("offset", 0);
  const auto rows =
      tx.Exec(sql::kListGlobalEvents, StatesAsked(request), limit + 1, offset, request.Flag("all"));
  return EventPage(request, "/events", rows, offset, limit);
}

// Of the grid and its clusters, the newest first, by key: as many years of them as there are.
json Incidents(db::Tx& tx, const Request& request) {
  std::optional<std::string> state;
  if (request.HasQuery("state")) state = request.Query("state");
  if (state && *state != "open" && *state != "acknowledged" && *state != "closed")
    throw BadRequest("incidents are open, acknowledged or closed, not \"" + *state + "\"");
  std::optional<std::int64_t> before;
  if (request.HasQuery("before")) before = request.QueryInt("before", 0, 0, std::int64_t{1} << 53);
  json items = json::array();
  for (const auto& row :
       tx.Exec(sql::kIncidents, state, before, request.QueryInt("limit", 100, 1, 1000))) {
    items.push_back(json::object());
    row.Each([&](const char* name, const auto& value) { items.back()[name] = OrNull(value); });
  }
  return {{"items", std::move(items)}};
}

json OneEvent(db::Tx& tx, const Request& request) {
  const auto rows = tx.Exec(sql::kShowEvent, request.Id());
  const std::string what = "event " + std::to_string(request.Id());
  if (rows.empty()) throw NotFound(what);
  if (rows[0].grid_user) RequireOwner(request, *rows[0].grid_user, what);
  json event = EventJson(rows[0], request);
  event["links"] =
      json::array({LinkJson(request, "self", "/events/" + std::to_string(request.Id()))});
  return event;
}

// The task that stands for a group of equal failures: what it ran with, where, and how it ended.
json SampleOf(db::Tx& tx, const CampaignInfo& info, ParamReader& params,
              const sql::ListFailuresRow& row) {
  if (!row.idx) return row.sample ? json::parse(*row.sample) : json();
  const auto idx = *row.idx;
  json sample = {{"task", idx}, {"job", OrNull(row.job_id)}, {"cluster", OrNull(row.cluster)}};
  auto lines = params.Read(tx, info.id, {idx});
  if (lines.count(idx) != 0) sample["params"] = ParamText(info, lines[idx], ' ');
  for (const auto& a : AttemptsOf(tx, info.id, {idx})) {
    if (!row.job_id || a.job_id != row.job_id) continue;
    const auto how = Decode(a.wait_status);
    sample["cluster"] = a.cluster;
    sample["node"] = a.node;
    if (a.message != row.message) sample["stderr"] = a.message;  // said already
    sample["exit"] = a.wait_status && how.signal == 0 ? json(how.exit) : json();
    sample["signal"] = how.signal != 0 ? json(how.signal) : json();
  }
  return sample;
}

json Failures(db::Tx& tx, const Request& request) {
  const auto info = OwnInfo(tx, request, request.Id());
  ParamReader params;
  json items = json::array();
  for (const auto& row :
       tx.Exec(sql::kListFailures, info.id, request.QueryInt("limit", 20, 1, 1000)))
    items.push_back({{"event", row.id},
                     {"events", json::parse(row.events)},
                     {"class", row.class_},
                     {"code", row.code},
                     {"message", row.message},
                     {"count", row.count},
                     {"tasks", row.tasks},
                     {"cluster", OrNull(row.cluster)},
                     {"clusters", json::parse(row.clusters)},
                     {"last", row.date_update},
                     {"sample", SampleOf(tx, info, params, row)}});
  const auto total = tx.One(sql::kCountFailures, info.id).n;
  return {{"items", std::move(items)}, {"total", total}};
}

}  // namespace

void AddEventReadRoutes(Router& router) {
  router.Get("/campaigns/{id}/events", [](Context& context, const Request& request) {
    return Reply::Json(context.Read([&](db::Tx& tx) { return CampaignEvents(tx, request); }));
  });
  router.Get("/campaigns/{id}/failures", [](Context& context, const Request& request) {
    return Reply::Json(context.Read([&](db::Tx& tx) { return Failures(tx, request); }));
  });
  router.Get("/events", [](Context& context, const Request& request) {
    return Reply::Json(context.Read([&](db::Tx& tx) { return GlobalEvents(tx, request); }));
  });
  router.GetLive(
      "/incidents",
      [](Context& context, const Request& request) {
        return Reply::Json(context.Read([&](db::Tx& tx) { return Incidents(tx, request); }));
      },
      Access::kOperator);
  router.Get("/events/{id}", [](Context& context, const Request& request) {
    return Reply::Json(context.Read([&](db::Tx& tx) { return OneEvent(tx, request); }));
  });
}

}  // namespace cigri::api
