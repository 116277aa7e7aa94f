// Clusters as users see them, and their usage.
#include <sql/cluster_status.h>
#include <sql/clusters.h>

#include "api/http/router.h"
#include "api/read/read.h"

namespace cigri::api {
namespace {

using nlohmann::json;

// A cluster that has not answered for so long is stale: nothing new goes there (docs/design.md 2).
constexpr double kStaleAfter_s = 120;

std::string Short(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", x);
  return text;
}

using Names = std::set<std::string_view>;

// The columns of `row` that `names` holds.
template <typename Row>
json Columns(const Row& row, const Names& names) {
  json out = json::object();
  row.Each([&](const char* name, const auto& value) {
    if (names.count(name) != 0) out[name] = OrNull(value);
  });
  return out;
}

json UsageOrNull(const sql::ShowClustersRow& row) {
  if (!row.max_resources) return nullptr;
  return Columns(row, {"seen_at", "note", "max_resources", "free_resources", "used_resources",
                       "unavailable_resources", "used_by_cigri", "jobs_running", "jobs_waiting"});
}

// What the column of each name says of a cluster: all but its secrets and what `usage` shows.
const Names kShown = {"kind",
                      "api_url",
                      "api_group",
                      "api_auth_type",
                      "api_auth_header",
                      "ssh_host",
                      "hours",
                      "resource_unit",
                      "default_resources",
                      "properties",
                      "mode",
                      "job_ratio",
                      "drain_reason",
                      "drained_by",
                      "drained_at",
                      "drained_until",
                      "learnt_from",
                      "error",
                      "served_by",
                      "power",
                      "mode_limit",
                      "max_waiting",
                      "max_running",
                      "pending_kept",
                      "max_calls_per_min",
                      "waiting_timeout_s",
                      "max_array",
                      "max_bytes",
                      "half_open_limit",
                      "queue_s",
                      "min_cycle_s",
                      "stress_limit",
                      "polled_ago",
                      "calls_per_min",
                      "clock_skew_s",
                      "failing_for",
                      "retry_in",
                      "open_for",
                      "enabled",
                      "drained",
                      "kill_all"};

void AddColumns(json& out, const sql::ShowClustersRow& row) {
  out.update(Columns(row, kShown));
  out["ssh_host"] = row.ssh_host.value_or("");  // CiGri's clients join it to text
  out["calls_by"] = row.calls_by ? json::parse(*row.calls_by) : json();
  out["would_send"] = row.would_send ? json::parse(*row.would_send) : json();
}

json ClusterJson(const Request& request, const sql::ShowClustersRow& row) {
  const std::string self = "/clusters/" + std::to_string(row.id);
  const double stress = row.stress, limit = row.stress_limit;
  json out = {{"id", row.id},
              {"name", row.name},
              {"batch", row.kind},  // CiGri's name of it
              {"stress_factor", Short(stress) + "/" + Short(limit)},
              {"under_stress", stress >= limit},
              {"blacklisted", row.disabled_by_hand || row.failing_for},
              {"stale", !row.polled_ago || *row.polled_ago > kStaleAfter_s},
              {"usage", UsageOrNull(row)},
              {"links", json::array({LinkJson(request, "self", self),
                                     LinkJson(request, "parent", "/clusters")})}};
  AddColumns(out, row);
  return out;
}

json ListClusters(db::Tx& tx, const Request& request) {
  const std::optional<int> any;
  const std::optional<std::string> any_name;
  json items = json::array();
  for (const auto& row : tx.Exec(sql::kShowClusters, any, any_name, request.Flag("all")))
    items.push_back(
        request.Flag("full")
            ? ClusterJson(request, row)
            : json{{"id", row.id},
                   {"name", row.name},
                   {"links",
                    json::array({LinkJson(request, "self", "/clusters/" + std::to_string(row.id)),
                                 LinkJson(request, "parent", "/clusters")})}});
  const auto total = items.size();
  return {{"items", std::move(items)},
          {"total", total},
          {"links", json::array({LinkJson(request, "self", "/clusters")})}};
}

// By id or name: a name of digits only is taken for an id, as CiGri does.
json OneCluster(db::Tx& tx, const Request& request) {
  const std::string& word = request.Word("name");
  std::optional<int> id;
  std::optional<std::string> name;
  if (word.size() < 10 && word.find_first_not_of("0123456789") == std::string::npos)
    id = std::stoi(word);
  else
    name = word;
  const auto rows = tx.Exec(sql::kShowClusters, id, name, true);
  if (rows.empty()) throw NotFound("cluster " + word);
  return ClusterJson(request, rows[0]);
}

// The snapshots of `rows`, grouped by their dates; `by_date` false: as one item dated with the
// latest of them.
template <typename Row>
json Snapshots(const std::vector<Row>& rows, bool by_date) {
  json items = json::array();
  for (const auto& row : rows) {
    const auto date = row.date;
    if (items.empty() || (by_date && items.back()["date"] != date))
      items.push_back({{"date", date}, {"clusters", json::array()}});
    items.back()["clusters"].push_back(
        Columns(row, {"cluster_name", "cluster_id", "max_resources", "used_resources",
                      "used_by_cigri", "unavailable_resources", "jobs_running", "jobs_waiting"}));
    items.back()["date"] = std::max(items.back()["date"].template get<std::int64_t>(), date);
  }
  return items;
}

json GridUsage(db::Tx& tx, const Request& request) {
  const bool bounds = request.HasQuery("from") || request.HasQuery("to");
  const auto from = request.QueryInt("from", 0, 0, std::int64_t{1} << 40);
  const auto to = request.QueryInt("to", std::int64_t{1} << 36, 0, std::int64_t{1} << 40);
  json items = bounds ? Snapshots(tx.Exec(sql::kGridUsage, from, to), true)
                      : Snapshots(tx.Exec(sql::kLastGridUsage), false);
  const auto total = items.size();
  return {{"items", std::move(items)},
          {"total", total},
          {"from", bounds ? json(from) : json()},
          {"to", bounds ? json(to) : json()},
          {"links", json::array({LinkJson(request, "self", "/gridusage")})}};
}

}  // namespace

void AddClusterReadRoutes(Router& router) {
  router.Get("/clusters", [](Context& context, const Request& request) {
    return Reply::Json(context.Read([&](db::Tx& tx) { return ListClusters(tx, request); }));
  });
  router.Get("/clusters/{name:text}", [](Context& context, const Request& request) {
    return Reply::Json(context.Read([&](db::Tx& tx) { return OneCluster(tx, request); }));
  });
  router.Get("/gridusage", [](Context& context, const Request& request) {
    return Reply::Json(context.Read([&](db::Tx& tx) { return GridUsage(tx, request); }));
  });
}

}  // namespace cigri::api
