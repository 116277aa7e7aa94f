// A whole cluster, for operators: what is idle and why, what bounds us there, who waits for it.
#include <sql/clusters.h>
#include <sql/placements.h>

#include <cstdio>

#include "api/why/why.h"
#include "core/text.h"

namespace cigri::api {
namespace {

using nlohmann::json;

constexpr int kCampaigns = 100;  // shown; more are counted

std::string Number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", x);
  return text;
}

// "; would send 12 jobs of campaign 3, 1 job of campaign 5".
std::string WouldSend(const sql::ShowClustersRow& row) {
  if (!row.would_send) return "; would send nothing now";
  std::vector<std::string> parts;
  for (const auto& w : json::parse(*row.would_send))
    parts.push_back(Jobs(w["jobs"].get<std::int64_t>()) + " of campaign " + w["campaign"].dump());
  return "; would send " + Join(parts, ", ");
}

// Why nothing at all is sent there; nothing when jobs may go.
std::optional<std::string> Closed(const sql::ShowClustersRow& row) {
  const std::string name = row.name;
  if (!row.enabled) return name + " is disabled";
  if (row.drained)
    return name + " is drained by " + row.drained_by.value_or("an operator") + ": " +
           row.drain_reason.value_or("");
  if (row.failing_for)
    return name + " has not answered for " + HumanDuration(*row.failing_for) + ": " +
           row.error.value_or("no reason given");
  if (!row.polled_ago) return name + " has not been polled yet";
  if (std::string(row.mode) == "observe")
    return name + " is only observed: nothing is sent there" + WouldSend(row);
  if (row.stress >= row.stress_limit)
    return name + " is under stress: " + Number(row.stress) + ", the limit is " +
           Number(row.stress_limit);
  if (!row.max_resources) return name + " has not reported its resources yet";
  return std::nullopt;
}

std::string Action(const sql::ShowClustersRow& row) {
  const std::string name = row.name;
  if (!row.enabled) return "gridadmin cluster enable " + name;
  if (row.drained) return "gridadmin resume " + name;
  if (row.failing_for) return "gridclusters --check " + name;
  if (std::string(row.mode) == "observe") return "gridadmin cluster unlimited " + name;
  if (row.stress >= row.stress_limit)
    return "gridadmin cluster set " + name + " stress_limit=... when the limit is wrong";
  return "";
}

std::string Idle(const sql::ShowClustersRow& row) {
  const std::string name = row.name;
  const std::string of = " of " + std::to_string(*row.max_resources) + " slots";
  if (row.free_resources == 0) return name + " is full: 0" + of + " free";
  return name + " has " + std::to_string(row.free_resources.value_or(0)) + of + " free";
}

// What keeps us from taking the whole cluster, a line each.
json Ceilings(const sql::ShowClustersRow& row, const sql::HeldOnClusterRow& held) {
  json lines = json::array();
  const auto add = [&](const std::string& line) { lines.push_back(line); };
  const std::string mode = row.mode;
  if (mode == "limited")
    add("mode limited: at most " + Jobs(row.mode_limit.value_or(0)) + " of ours in flight");
  else
    add("mode " + mode);
  if (row.max_running) add("max_running: at most " + Jobs(*row.max_running) + " of ours in flight");
  add("queue: " + Number(row.queue_s) + " s of our work may wait there" +
      (!row.max_waiting ? "" : ", at most " + Jobs(*row.max_waiting)) + "; " +
      Pluralize(row.jobs_waiting.value_or(0), "waits", "wait"));
  add("stress " + Number(row.stress) + ", the limit is " + Number(row.stress_limit));
  if (row.hours) add("hours: " + row.hours.value_or(""));
  if (row.drained_until) add("drained until " + row.drained_until.value_or(""));
  if (row.failing_for)
    add("backoff: " + Pluralize(row.failures.value_or(0), "failure") + " in a row" +
        (!row.retry_in || *row.retry_in <= 0 ? ", asked again now"
                                             : ", asked again in " + HumanDuration(*row.retry_in)));
  if (row.open_for && *row.open_for > 0)
    add("its circuit breaker is open for another " + HumanDuration(*row.open_for));
  if (row.half_open_limit) add("half-open: at most " + Jobs(*row.half_open_limit) + " in the next submission");
  if (row.max_array)
    add("arrays of at most " + Jobs(*row.max_array) + ", learnt from its refusals");
  if (held.held > 0) add(Pluralize(held.held, "campaign is", "campaigns are") + " held there");
  if (held.black_holes > 0)
    add(Pluralize(held.black_holes, "campaign is", "campaigns are") + " excluded there for a while");
  return lines;
}

// A campaign without a row of its own there has been given what it may have, or is new.
json WaitingJson(const sql::WaitingOnClusterRow& row, const policy::ReasonTexts& texts,
                 const Outlook& outlook) {
  const auto campaign = row.campaign_id;
  json item = {{"code", nullptr}, {"action", ""}, {"since", nullptr}, {"expected", nullptr}};
  const auto granted = row.granted;
  const auto in_flight = row.in_flight;
  if (row.code) {
    item = ReasonJson(
        texts, {row.cluster_id.value_or(0), row.cluster, *row.code, *row.numbers, *row.since},
        campaign, policy::Reader::kOperator);
    item["expected"] = outlook.Of(item);
  }
  const bool sending = granted > in_flight;
  if (sending && (!row.code || item["code"] == "NONE"))
    item["message"] = Jobs(granted - in_flight) + " of it may be sent now";
  else if (!row.code)
    item["message"] = "it has come since the last decision";
  item["campaign"] = campaign;
  item["user"] = row.grid_user;
  item["priority"] = row.priority;
  item["waiting"] = row.waiting;
  item["in_flight"] = in_flight;
  item["granted"] = granted;
  return item;
}

}  // namespace

json ClusterWhy(db::Tx& tx, const Request& request) { return ClusterWhy(tx, request, kCampaigns); }

json ClusterWhy(db::Tx& tx, const Request& request, int most) {
  const std::optional<int> any;
  const std::optional<std::string> name = request.Word("name");
  const auto rows = tx.Exec(sql::kShowClusters, any, name, true);
  if (rows.empty()) throw NotFound("cluster " + *name);
  const auto& row = rows[0];
  const int id = row.id;
  const auto texts = TextsFor(rows);
  const Outlook outlook(tx, {id});
  json waiting = json::array();
  std::int64_t total = 0;
  for (const auto& campaign : tx.Exec(sql::kWaitingOnCluster, id, most)) {
    waiting.push_back(WaitingJson(campaign, texts, outlook));
    total = campaign.total;
  }
  const auto closed = Closed(row);
  std::string message = closed.value_or("");
  if (!closed) {
    message = Idle(row) + "; ";
    message += total == 0
                   ? "no campaign waits for it"
                   : Pluralize(total, "campaign waits", "campaigns wait") + " for it, the first: " +
                         std::to_string(waiting[0]["campaign"].get<std::int64_t>()) + ", " +
                         waiting[0]["message"].get<std::string>();
  }
  return {{"cluster", *name},
          {"message", message},
          {"action", closed       ? Action(row)
                     : total == 0 ? ""
                                  : waiting[0]["action"].get<std::string>()},
          {"slots", OrNull(row.max_resources)},
          {"free", OrNull(row.free_resources)},
          {"ours", OrNull(row.used_by_cigri)},
          {"unavailable", OrNull(row.unavailable_resources)},
          {"ceilings", Ceilings(row, tx.Exec(sql::kHeldOnCluster, id)[0])},
          {"reasons", std::move(waiting)},
          {"waiting_campaigns", total}};
}

}  // namespace cigri::api
