// Why a campaign, a task or a job is where it is: one sentence and one action first, then the
// numbers (docs/policies.md lists the codes of the metascheduler's reasons).
#include <sql/read.h>

#include "api/read_campaigns.h"
#include "api/read_tasks.h"
#include "api/router.h"
#include "core/text.h"
#include "policy/reason.h"

namespace cigri::api {
namespace {

using nlohmann::json;

struct Saying {
  std::string sentence, action;
};

std::string Count(std::int64_t n, const std::string& one, const std::string& many) {
  return std::to_string(n) + " " + (n == 1 ? one : many);
}
std::string Jobs(std::int64_t n) { return Count(n, "job", "jobs"); }
std::string Tasks(std::int64_t n) { return Count(n, "task", "tasks"); }

// ---------------------------------------------------------------- the metascheduler's reasons
policy::Reason ReasonOf(const pqxx::row& row, const json& numbers) {
  policy::Reason reason;
  reason.cluster = row["cluster_id"].as<std::int64_t>();
  reason.code = policy::CodeFrom(row["code"].c_str()).value_or(policy::Code::kNone);
  const auto names = policy::NumberNames(reason.code);
  for (std::size_t i = 0; i < names.size() && !names[i].empty(); ++i)
    reason.numbers[i] = numbers.value(std::string(names[i]), 0.0);
  reason.other = numbers.value("other", std::int64_t{0});
  reason.detail = numbers.value("detail", "");
  return reason;
}

json ReasonJson(const policy::ReasonTexts& texts, const pqxx::row& row) {
  json numbers = json::parse(row["numbers"].c_str());
  const auto reason = ReasonOf(row, numbers);
  const bool main = row["cluster_id"].as<std::int64_t>() == 0 || numbers.value("main", false);
  numbers.erase("main");
  return {{"cluster", TextOrNull(row["cluster"])},
          {"cluster_id", row["cluster_id"].as<std::int64_t>()},
          {"code", row["code"].c_str()},
          {"sentence", texts.Text(reason)},
          {"action", texts.Action(reason)},
          {"numbers", std::move(numbers)},
          {"main", main},
          {"since", row["since"].as<double>()}};
}

policy::ReasonTexts TextsFor(const pqxx::result& lanes) {
  policy::Snapshot names;
  for (const auto& row : lanes) {
    policy::Cluster cluster;
    cluster.id = row["id"].as<std::int64_t>();
    cluster.name = row["name"].c_str();
    names.clusters.push_back(std::move(cluster));
  }
  return policy::ReasonTexts(names);
}

// ---------------------------------------------------------------- what the campaign's own rows say
// A lane that takes nothing whatever the policy says: the strongest cause, or nothing.
std::optional<Saying> LaneTrouble(const pqxx::row& row, std::int64_t campaign) {
  const std::string name = row["name"].c_str(), id = std::to_string(campaign);
  if (!row["enabled"].as<bool>()) return Saying{name + " is disabled by the operators", ""};
  if (row["drained"].as<bool>())
    return Saying{name + " is drained by " + row["drained_by"].as<std::string>("an operator") +
                      ": " + row["drain_reason"].as<std::string>(""),
                  ""};
  if (!row["held_since"].is_null())
    return Saying{
        "held on " + name + ": " + row["held_why"].as<std::string>("its first jobs failed"),
        "mend it, then close the event: gridevents -c " + id + " -f"};
  if (!row["failing_since"].is_null())
    return Saying{name + " does not answer: " + row["error"].as<std::string>("no reason given"),
                  ""};
  if (!row["probation_until"].is_null())
    return Saying{
        name + " is set aside for it for a while: its jobs ended too fast or failed there", ""};
  if (std::string(row["mode"].c_str()) == "observe")
    return Saying{name + " is only observed: nothing is sent there", ""};
  if (row["stress"].as<double>() >= row["stress_limit"].as<double>())
    return Saying{name + " is under stress", ""};
  return std::nullopt;
}

Saying Over(const Numbers& n, const std::string& id) {
  std::string sentence =
      "it is over: " + std::to_string(n.done) + " of " + Tasks(n.total) + " done";
  if (n.not_run > 0)
    sentence += ", " + Count(n.not_run, "parameter", "parameters") + " not run (test)";
  if (n.failed == 0) return {sentence, ""};
  return {sentence + ", " + std::to_string(n.failed) + " failed",
          "gridstat -c " + id + " shows why; gridsub --retry-failed " + id + " runs them again"};
}

// States that leave nothing to decide.
std::optional<Saying> Settled(const pqxx::row& row, const Numbers& n, const std::string& id) {
  const std::string state = row["state"].c_str(), wanted = row["wanted"].c_str();
  const std::string why = row["state_reason"].as<std::string>("");
  const std::string because = why.empty() ? "" : ": " + why;
  if (state == "terminated") return Over(n, id);
  if (wanted == "cancelled")
    return Saying{"it is cancelled" + because +
                      (n.InFlight() > 0 ? "; " + Jobs(n.InFlight()) + " still to be killed" : ""),
                  ""};
  if (state == "paused" && wanted == "in_treatment")
    return Saying{"it is stopped" + because,
                  "mend it (gridsub -c " + id + " --set exec_file=...), then gridevents -c " + id + " -f"};
  if (wanted == "paused" || state == "paused")
    return Saying{"it is paused" + because, "griddel -r " + id + " resumes it"};
  if (row["finishing"].as<bool>()) return Saying{"all its tasks have ended; its epilogues run", ""};
  if (n.waiting > 0) return std::nullopt;
  if (n.InFlight() > 0)
    return Saying{"nothing of it waits to be sent: " + Jobs(n.running) + " running, " +
                      std::to_string(n.InFlight() - n.running) + " in the clusters' queues",
                  ""};
  return Saying{"all its tasks have ended; the updator is about to close it", ""};
}

// It waits, and the metascheduler has given no reason (yet).
Saying Waiting(const pqxx::row& row, const Numbers& n, const std::vector<Saying>& troubles,
               std::size_t lanes) {
  if (!row["state_reason"].is_null()) return {row["state_reason"].c_str(), ""};
  if (!troubles.empty() && troubles.size() == lanes) return troubles[0];
  if (n.InFlight() > 0)
    return {"it runs: " + Jobs(n.InFlight()) + " in flight, " + Tasks(n.waiting) + " wait for room",
            ""};
  return {Tasks(n.waiting) + " wait for the next round", ""};
}

// Held everywhere, paused or over beats every reason of the metascheduler; then its main one.
Saying MainOf(const pqxx::row& row, const Numbers& n, const json& reasons,
              const std::vector<Saying>& troubles, std::size_t lanes, const std::string& id) {
  if (const auto settled = Settled(row, n, id)) return *settled;
  if (!troubles.empty() && troubles.size() == lanes) return Waiting(row, n, troubles, lanes);
  const json* chosen = nullptr;
  for (const auto& reason : reasons)
    if (chosen == nullptr || (reason["main"] == true && (*chosen)["main"] == false))
      chosen = &reason;
  if (chosen == nullptr) return Waiting(row, n, troubles, lanes);
  std::string sentence = Tasks(n.waiting) + " wait";
  if (n.InFlight() > 0) sentence += " while " + Jobs(n.InFlight()) + " are in flight";
  return {sentence + ": " + (*chosen)["sentence"].get<std::string>(), (*chosen)["action"]};
}

json LaneWhy(const pqxx::row& row, const json& reasons, std::int64_t campaign) {
  json lane = {
      {"name", row["name"].c_str()},
      {"running", row["running"].as<std::int64_t>()},
      {"queued", row["launching"].as<std::int64_t>() + row["submitted"].as<std::int64_t>() +
                     row["remote_waiting"].as<std::int64_t>()},
      {"granted", row["granted"].as<std::int64_t>()},
      {"done", row["done"].as<std::int64_t>()},
      {"job_ratio", NumberOrNull(row["job_ratio"])},
      {"rate", NumberOrNull(row["rate"])},
      {"swept_ago", NumberOrNull(row["swept_ago"])},
      {"sentence", nullptr}};
  if (const auto trouble = LaneTrouble(row, campaign)) {
    lane["sentence"] = trouble->sentence;
    lane["action"] = trouble->action;
  }
  lane["reasons"] = json::array();
  for (const auto& reason : reasons)
    if (reason["cluster_id"] == row["id"].as<std::int64_t>()) lane["reasons"].push_back(reason);
  return lane;
}

json Why(db::Tx& tx, const Request& request, std::int64_t campaign) {
  const auto rows = CampaignRow(tx, campaign);
  const auto numbers = NumbersOf(rows[0]);
  const auto lanes = tx.Exec(sql::read::kLanes, campaign);
  const auto texts = TextsFor(lanes);
  json reasons = json::array(), past = json::array(), clusters = json::array();
  for (const auto& row : tx.Exec(sql::read::kReasons, campaign))
    reasons.push_back(ReasonJson(texts, row));
  for (const auto& row : tx.Exec(sql::read::kReasonsPast, campaign, 20)) {
    past.push_back(ReasonJson(texts, row));
    past.back()["until"] = row["until"].as<double>();
  }
  std::vector<Saying> troubles;
  for (const auto& row : lanes) {
    clusters.push_back(LaneWhy(row, reasons, campaign));
    if (const auto trouble = LaneTrouble(row, campaign)) troubles.push_back(*trouble);
  }
  const auto main =
      MainOf(rows[0], numbers, reasons, troubles, lanes.size(), std::to_string(campaign));
  json whole = json::array();
  for (const auto& reason : reasons)
    if (reason["cluster_id"] == 0) whole.push_back(reason);
  return {{"campaign", campaign},
          {"sentence", main.sentence},
          {"action", main.action},
          {"reasons", std::move(whole)},
          {"clusters", std::move(clusters)},
          {"past", std::move(past)},
          {"waiting", numbers.waiting},
          {"in_flight", numbers.InFlight()},
          {"done", numbers.done},
          {"failed", numbers.failed},
          {"links",
           json::array({LinkJson(request, "parent", "/campaigns/" + std::to_string(campaign))})}};
}

// ---------------------------------------------------------------- one task, one job
std::string EndOf(const Attempt& a) {
  const auto how = Decode(a.wait_status);
  if (how.signal != 0) return "was killed by signal " + std::to_string(how.signal);
  if (how.exit >= 0) return "exited with code " + std::to_string(how.exit);
  return "ended, and nobody knows how";
}

std::string Blame(const std::string& account) {
  if (account == "program") return "the program's own failure: it counts as a try";
  if (account == "preemption")
    return "the cluster took the slot back: not your fault, no try charged";
  if (account == "infrastructure") return "the machines' fault: no try charged";
  if (account == "our_kill") return "the grid killed it: no try charged";
  return "";
}

Saying OfAttempt(const Attempt& a, const std::string& campaign) {
  const std::string where = a.cluster.empty() ? "" : " on " + a.cluster;
  if (a.state == "running") return {"it runs" + where, ""};
  if (a.state == "remote_waiting" || a.state == "submitted")
    return {"it is in the queue" + where + ": the cluster decides when it starts", ""};
  if (a.state == "launching")
    return a.code == "SUBMIT_IN_DOUBT"
               ? Saying{"it was sent" + where +
                            " without an answer: the grid looks whether it arrived",
                        ""}
               : Saying{"it is on its way" + where, ""};
  if (a.state == "terminated") return {"it is done" + where, ""};
  Saying saying{"it " + EndOf(a) + where + " (" + a.code + "): " + Blame(a.account), ""};
  if (a.to_fix) {
    saying.sentence += "; its tries are spent";
    saying.action = "gridsub --retry-failed " + campaign + " runs the failures again";
  }
  return saying;
}

json TaskWhy(db::Tx& tx, const Request& request, std::int64_t campaign, std::int64_t idx) {
  const auto attempts = AttemptsOf(tx, campaign, {idx});
  const Attempt& last = attempts.back();
  json why = Why(tx, request, campaign);
  why["task"] = idx;
  why["attempts"] = static_cast<std::int64_t>(attempts.size());
  if (last.state != "pending") {
    const auto saying = OfAttempt(last, std::to_string(campaign));
    why["sentence"] = saying.sentence;
    why["action"] = saying.action;
  } else if (attempts.size() > 1 || !last.code.empty()) {
    why["sentence"] = "it waits to go again (" + last.code +
                      "); of its campaign: " + why["sentence"].get<std::string>();
  } else {
    why["sentence"] = "it waits its turn; of its campaign: " + why["sentence"].get<std::string>();
  }
  return why;
}

json JobWhy(db::Tx& tx, const Request& request) {
  const auto batches = tx.Exec(sql::read::kJobBatch, request.Id());
  if (batches.empty()) throw NotFound("job " + std::to_string(request.Id()));
  const auto b = batches[0];
  const auto campaign = b["campaign_id"].as<std::int64_t>();
  RequireOwner(request, b["grid_user"].c_str(), "job " + std::to_string(request.Id()));
  json why = Why(tx, request, campaign);
  why["job"] = request.Id();
  for (const auto& a : AttemptsOf(tx, campaign, {b["idx"].as<std::int64_t>()})) {
    if (a.job_id != request.Id()) continue;
    const auto saying = OfAttempt(a, std::to_string(campaign));
    why["sentence"] = saying.sentence;
    why["action"] = saying.action;
    return why;
  }
  why["sentence"] = "it was never taken by " + std::string(b["cluster"].c_str()) + ": " +
                    b["error"].as<std::string>("its submission was given up");
  why["action"] = "";
  return why;
}

json OneCampaignWhy(db::Tx& tx, const Request& request) {
  OwnFacts(tx, request, request.Id());
  return Why(tx, request, request.Id());
}

json OneTaskWhy(db::Tx& tx, const Request& request) {
  OwnFacts(tx, request, request.Id());
  const auto idx = request.Id("index");
  if (idx >= tx.Exec(sql::read::kTaskCount, request.Id())[0][0].as<std::int64_t>())
    throw NotFound("task " + std::to_string(idx) + " of campaign " + std::to_string(request.Id()));
  return TaskWhy(tx, request, request.Id(), idx);
}

// ---------------------------------------------------------------- a whole cluster, for operators
std::string Short(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", x);
  return text;
}

// "; would send 12 jobs of campaign 3, 1 job of campaign 5".
std::string WouldSend(const pqxx::row& row) {
  if (row["would_send"].is_null()) return "; would send nothing now";
  std::vector<std::string> parts;
  for (const auto& w : json::parse(row["would_send"].c_str()))
    parts.push_back(Jobs(w["jobs"].get<std::int64_t>()) + " of campaign " + w["campaign"].dump());
  return "; would send " + Join(parts, ", ");
}

std::string ClusterSentence(const pqxx::row& row) {
  const std::string name = row["name"].c_str(), mode = row["mode"].c_str();
  if (!row["enabled"].as<bool>()) return name + " is disabled";
  if (row["drained"].as<bool>())
    return name + " is drained by " + row["drained_by"].as<std::string>("an operator") + ": " +
           row["drain_reason"].as<std::string>("");
  if (!row["failing_for"].is_null())
    return name + " has not answered for " + HumanSpan(row["failing_for"].as<double>()) + ": " +
           row["error"].as<std::string>("no reason given");
  if (row["swept_ago"].is_null()) return name + " has not been looked at yet";
  if (mode == "observe") return name + " is only observed: nothing is sent there" + WouldSend(row);
  if (row["stress"].as<double>() >= row["stress_limit"].as<double>())
    return name + " is under stress: " + Short(row["stress"].as<double>()) + ", the limit is " +
           Short(row["stress_limit"].as<double>());
  if (row["max_resources"].is_null()) return name + " has not told its resources yet";
  const std::string of = " of " + std::string(row["max_resources"].c_str()) + " slots";
  if (row["free_resources"].as<int>() == 0) return name + " is full: 0" + of + " free";
  return name + " has " + row["free_resources"].c_str() + of + " free";
}

json ClusterWhy(db::Tx& tx, const Request& request) {
  const std::optional<int> any;
  const std::optional<std::string> name = request.Word("name");
  const auto rows = tx.Exec(sql::read::kClusters, any, name, true);
  if (rows.empty()) throw NotFound("cluster " + *name);
  const auto texts = TextsFor(rows);
  json reasons = json::array();
  for (const auto& row : tx.Exec(sql::read::kReasonsOfCluster, rows[0]["id"].as<int>(), 100)) {
    reasons.push_back(ReasonJson(texts, row));
    reasons.back()["campaign"] = row["campaign_id"].as<std::int64_t>();
  }
  return {
      {"cluster", *name}, {"sentence", ClusterSentence(rows[0])}, {"reasons", std::move(reasons)}};
}

}  // namespace

void AddWhyRoutes(Router& router) {
  router.Get("/campaigns/{id}/why", [](Context& context, const Request& request) {
    return Reply::Json(context.Transact([&](db::Tx& tx) { return OneCampaignWhy(tx, request); }));
  });
  router.Get("/campaigns/{id}/tasks/{index}/why", [](Context& context, const Request& request) {
    return Reply::Json(context.Transact([&](db::Tx& tx) { return OneTaskWhy(tx, request); }));
  });
  router.Get("/jobs/{id}/why", [](Context& context, const Request& request) {
    return Reply::Json(context.Transact([&](db::Tx& tx) { return JobWhy(tx, request); }));
  });
  router.Get(
      "/clusters/{name:text}/why",
      [](Context& context, const Request& request) {
        return Reply::Json(context.Transact([&](db::Tx& tx) { return ClusterWhy(tx, request); }));
      },
      Access::kOperator);
}

}  // namespace cigri::api
