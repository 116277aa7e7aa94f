#include <sql/metascheduler.h>

#include <ctime>

#include "core/hours.h"
#include "core/log.h"
#include "core/text.h"
#include "metascheduler/store.h"
#include "module/events.h"
#include "policy/flow.h"

namespace cigri::metascheduler {
namespace {

using policy::kNoLimit;
using policy::Unusable;

constexpr double kStaleAfter = 90;  // s: an idle feed answers every 25, an idle sweep comes every 60

Unusable WhyUnusable(const pqxx::row& row, std::string& why) {
  if (!row["enabled"].as<bool>()) return Unusable::kDisabled;
  if (row["drained"].as<bool>()) {
    why = row["drain_reason"].as<std::string>();
    return Unusable::kDrained;
  }
  if (const auto hours = db::Opt<std::string>(row["hours"]);
      hours && !WithinHours(*hours, std::time(nullptr), &why)) {
    if (why.empty()) why = *hours;
    return Unusable::kHours;
  }
  if (row["failing"].as<bool>()) {
    why = row["error"].as<std::string>();
    return row["broken"].as<bool>() ? Unusable::kBreaker : Unusable::kStale;
  }
  if (const double age = row["age_s"].as<double>(); age > kStaleAfter) {
    why = age > 1e8 ? "never asked yet" : "last answer " + HumanSpan(age) + " ago";
    return Unusable::kStale;
  }
  if (row["stress"].as<double>() >= row["stress_limit"].as<double>()) return Unusable::kStress;
  return Unusable::kNo;
}

}  // namespace

void Store::LoadClusters(db::Tx& tx, Loaded& loaded) {
  for (const auto& row : tx.Exec(sql::metascheduler::kClusters)) {
    policy::Cluster c;
    c.id = row["id"].as<std::int64_t>();
    c.name = row["name"].as<std::string>();
    c.max = row["max_resources"].as<int>();
    // What ended or started since the snapshot is taken off it by our own counts (LoadLanes).
    c.free = row["free_resources"].as<int>() + row["used_by_cigri"].as<int>();
    c.speed = row["power"].as<double>() / 100;
    c.mode = FromString<ClusterMode>(row["mode"].c_str()).value();
    c.limited = row["mode_limit"].is_null() ? kNoLimit : row["mode_limit"].as<int>();
    c.max_running = row["max_running"].is_null() ? kNoLimit : row["max_running"].as<int>();
    c.unusable = WhyUnusable(row, c.why);
    const double mean = row["mean_slot_s"].as<double>();
    const double rate = mean > 0 ? c.max / mean : 0;  // starts per second when all of it is ours
    c.waiting_allowed = policy::WaitingAllowed(std::max(1, row["max_waiting"].as<int>()),
                                               row["queue_s"].as<double>(), rate);
    loaded.snapshot.clusters.push_back(std::move(c));
  }
}

void Store::LoadCampaigns(db::Tx& tx, Loaded& loaded) {
  for (const auto& row : tx.Exec(sql::metascheduler::kCampaigns)) {
    policy::Campaign c;
    c.id = row["id"].as<std::int64_t>();
    c.user = row["grid_user"].as<std::string>();
    c.project = row["project"].as<std::string>();
    c.test = row["type"].as<std::string>() == "test";
    c.priority = std::min(9, row["priority"].as<int>());
    if (row["priority"].as<int>() > 9) c.cls = "urgent";
    if (!row["class"].is_null()) c.cls = row["class"].as<std::string>();
    c.sla_group = row["sla_group"].as<std::string>();
    c.submitted_at = row["submitted_at"].as<double>();
    c.waiting = row["finishing"].as<bool>() ? 0 : row["waiting"].as<std::int64_t>();
    c.done = row["done"].as<std::int64_t>();
    c.replicas = row["max_replicas"].as<int>() > 0;
    c.waiting_since = c.submitted_at;
    if (!row["affinity_wait"].is_null()) c.affinity_wait_s = row["affinity_wait"].as<double>();
    if (!row["licences"].is_null())
      c.licences = nlohmann::json::parse(row["licences"].c_str()).get<std::map<std::string, int>>();
    loaded.snapshot.campaigns.push_back(std::move(c));
  }
}

void Store::LoadLanes(db::Tx& tx, Loaded& loaded) {
  auto& snapshot = loaded.snapshot;
  std::map<std::int64_t, policy::Cluster*> clusters;
  std::map<std::int64_t, policy::Campaign*> campaigns;
  std::vector<std::int64_t> ids, replicating;
  for (auto& c : snapshot.clusters) clusters[c.id] = &c;
  for (auto& c : snapshot.campaigns) {
    campaigns[c.id] = &c;
    ids.push_back(c.id);
    if (c.replicas && c.waiting == 0) replicating.push_back(c.id);
  }
  struct Flight {
    std::int64_t n = 0, running = 0, prologue = 0;
    double since = 0;
  };
  std::map<std::pair<std::int64_t, std::int64_t>, Flight> flights;
  for (const auto& row : tx.Exec(sql::metascheduler::kInFlight)) {
    const auto campaign = row["campaign_id"].as<std::int64_t>();
    const auto id = row["cluster_id"].as<std::int64_t>();
    const auto kind = FromString<BatchKind>(row["kind"].c_str()).value();
    const std::string state = row["state"].c_str();
    const auto n = row["n"].as<std::int64_t>();
    const auto slots = row["slots"].as<std::int64_t>();
    loaded.in_flight[{campaign, id, kind}] += n;
    auto& f = flights[{campaign, id}];
    if (kind == BatchKind::kPrologue) f.prologue += n;
    f.n += n;
    if (state == "running") {
      f.running += n;
      f.since += row["sum_start"].as<double>();
    }
    const auto it = clusters.find(id);
    if (it == clusters.end()) continue;
    auto& c = *it->second;
    const int jobs = static_cast<int>(n), taken = static_cast<int>(slots);
    if (state == "running") {
      c.running += jobs;
      c.running_slots += taken;
    } else if (state == "remote_waiting") {
      c.waiting += jobs;
      c.waiting_slots += taken;
    } else {
      c.launching += jobs;
      c.launching_slots += taken;
    }
  }
  for (auto& c : snapshot.clusters) c.free = std::clamp(c.free - c.running_slots, 0, c.max);

  for (const auto& row : tx.Exec(sql::metascheduler::kLanes, db::Array(ids))) {
    const auto campaign = row["campaign_id"].as<std::int64_t>();
    auto& c = *campaigns.at(campaign);
    policy::Lane lane;
    lane.cluster = row["cluster_id"].as<std::int64_t>();
    lane.slots = row["slots"].as<int>();
    const auto& f = flights[{campaign, lane.cluster}];
    lane.in_flight = static_cast<int>(f.n);
    lane.running = static_cast<int>(f.running);
    lane.running_since = f.since;
    lane.max_jobs = row["max_jobs"].is_null() ? kNoLimit : row["max_jobs"].as<int>();
    if (row["test_mode"].as<bool>()) lane.max_jobs = 1;  // one at a time, as CiGri 3 does
    // Jobs that failed before the first success count too: ten in all, not ten at a time.
    lane.tried = row["tried"].as<int>();
    lane.job_ratio = row["job_ratio"].as<double>();
    lane.proven = row["proved"].as<bool>();
    if (row["held"].as<bool>()) lane.held = "HELD_FIRST_TEN";
    if (const std::string blocked = row["blocked"].c_str(); !blocked.empty()) lane.held = blocked;
    if (row["probation"].as<bool>()) lane.held = "PROBATION";
    const std::string prologue = row["prologue"].c_str();
    lane.prologue = !row["has_prologue"].as<bool>() ? policy::Prologue::kNone
                    : prologue == "done"            ? policy::Prologue::kDone
                    : prologue == "failed"          ? policy::Prologue::kFailed
                    : f.prologue > 0                ? policy::Prologue::kRunning
                                                    : policy::Prologue::kNeeded;
    lane.affinity = row["affinity"].as<int>();
    lane.local = prologue == "done" || lane.proven;
    lane.tested = row["answered_test"].as<bool>();
    const auto n_ok = row["n_ok"].as<std::int64_t>();
    if (n_ok > 0) lane.mean_s = row["sum_s"].as<double>() / static_cast<double>(n_ok);
    c.walltime_s = std::max(c.walltime_s, row["walltime_s"].as<int>());
    c.lanes.push_back(std::move(lane));
  }
  const auto count = [&](const pqxx::result& rows, int policy::Lane::*member) {
    for (const auto& row : rows)
      for (auto& lane : campaigns.at(row[0].as<std::int64_t>())->lanes)
        if (lane.cluster == row[1].as<std::int64_t>()) lane.*member = row[2].as<int>();
  };
  if (!replicating.empty())
    count(tx.Exec(sql::metascheduler::kSingleCopies, db::Array(replicating)), &policy::Lane::single);
  if (!ids.empty()) count(tx.Exec(sql::metascheduler::kAvoided, db::Array(ids)), &policy::Lane::avoid);
}

// What is older than a quarter of an hour changes slowly: read by the hour, once a minute.
void Store::LoadUsage(db::Tx& tx, Loaded& loaded) {
  const auto& config = loaded.snapshot.config;
  const double window = std::max(config.fairshare_window_s, config.usage_window_s);
  const double cut = std::floor((loaded.now - 900) / 3600) * 3600;
  const auto read = [&](double from, double to, double step, std::vector<policy::Usage>& out) {
    for (const auto& row : tx.Exec(sql::metascheduler::kUsage, from, to, step))
      out.push_back({row["campaign_id"].as<std::int64_t>(), row["grid_user"].as<std::string>(),
                     row["project"].as<std::string>(), row["start"].as<double>(), step,
                     row["slot_s"].as<double>()});
  };
  if (old_usage_until_ != cut) {
    old_usage_.clear();
    read(loaded.now - window, cut, 3600, old_usage_);
    old_usage_until_ = cut;
  }
  loaded.snapshot.usage = old_usage_;
  read(cut, loaded.now + 60, 60, loaded.snapshot.usage);
}

policy::PolicyConfig Store::LoadConfig(db::Tx& tx) {
  std::map<std::string, nlohmann::json> rows;
  for (const auto& row : tx.Exec(sql::metascheduler::kPolicyRows))
    rows[row[0].as<std::string>()] = nlohmann::json::parse(row[1].c_str());
  if (rows == config_rows_) return config_;
  config_rows_ = rows;
  auto parsed = policy::ParseConfig(rows);
  auto faults = parsed.faults;
  for (auto& fault : policy::ValidateConfig(parsed.config)) faults.push_back(fault);
  module::Event e{.cls = "log", .code = "POLICY_INVALID", .message = ""};
  if (faults.empty()) {
    config_ = parsed.config;
    module::CloseEvent(tx, e, "metascheduler");
  } else {
    // Somebody broke a row by hand: the last good policy goes on, and says so.
    e.cls = "cluster";
    e.message = "policy_settings: " + faults.front().key + ": " + faults.front().message +
                "; the policy that was valid before goes on";
    module::RaiseEvent(tx, e);
    log::error("{}", e.message);
  }
  return config_;
}

Loaded Store::Load(db::Tx& tx) {
  Loaded loaded;
  loaded.now = now_ = tx.Raw("SELECT extract(epoch FROM now())")[0][0].as<double>();
  loaded.snapshot.config = LoadConfig(tx);
  LoadClusters(tx, loaded);
  LoadCampaigns(tx, loaded);
  LoadLanes(tx, loaded);
  LoadUsage(tx, loaded);
  for (const auto& row : tx.Exec(sql::metascheduler::kEpilogues))
    loaded.epilogues.emplace(row[0].as<std::int64_t>(), row[1].as<std::int64_t>());
  const auto& config = loaded.snapshot.config;
  if (config.urgent_percent > 0 || config.scavenger_preempt || config.sla_preempt)
    for (const auto& row : tx.Exec(sql::metascheduler::kRunningJobs))
      loaded.snapshot.running.push_back(
          {row[0].as<std::int64_t>(), row[1].as<std::int64_t>(), row[2].as<std::int64_t>(),
           row[3].as<int>(), row[4].as<double>()});
  return loaded;
}

}  // namespace cigri::metascheduler
