// From tables to a Snapshot: clusters, campaigns, usage, the configuration. Lanes: load_lanes.cc.
#include <sql/metascheduler.h>

#include <cstdlib>
#include <ctime>

#include "core/hours.h"
#include "core/log.h"
#include "core/text.h"
#include "metascheduler/store.h"
#include "module/events.h"

namespace cigri::metascheduler {
namespace {

using policy::kNoLimit;
using policy::Unusable;

constexpr double kStaleAfter =
    90;  // s: an idle feed answers every 25, an idle sweep comes every 60

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

// A number of the stored JDL. It was checked when it was stored; whatever it is, it stops nobody.
double Seconds(const pqxx::field& field) {
  if (field.is_null()) return 0;
  const double value = std::strtod(field.c_str(), nullptr);
  return value > 0 && value < 1e12 ? value : 0;
}

std::map<std::string, int> Licences(const pqxx::field& field) {
  std::map<std::string, int> licences;
  if (field.is_null()) return licences;
  const auto json = nlohmann::json::parse(field.c_str(), nullptr, false);
  if (!json.is_object()) return licences;
  for (const auto& [name, n] : json.items())
    if (n.is_number_integer()) licences[name] = n.get<int>();
  return licences;
}

}  // namespace

void Store::LoadClusters(db::Tx& tx, Loaded& loaded) {
  for (const auto& row : tx.Exec(sql::metascheduler::kClusters)) {
    policy::Cluster c;
    c.id = row["id"].as<std::int64_t>();
    c.name = row["name"].as<std::string>();
    c.max = row["max_resources"].as<int>();
    // What ended or started since the snapshot is taken off it by our own counts (LoadInFlight).
    c.free = row["free_resources"].as<int>() + row["used_by_cigri"].as<int>();
    c.speed = row["power"].as<double>() / 100;
    c.mode = FromString<ClusterMode>(row["mode"].c_str()).value();
    c.limited = row["mode_limit"].is_null() ? kNoLimit : row["mode_limit"].as<int>();
    c.max_running = row["max_running"].is_null() ? kNoLimit : row["max_running"].as<int>();
    c.unusable = WhyUnusable(row, c.why);
    loaded.snapshot.clusters.push_back(std::move(c));
  }
}

void Store::LoadCampaigns(db::Tx& tx, Loaded& loaded) {
  std::vector<std::int64_t> in_flight;
  for (const auto& [key, flight] : loaded.flights) in_flight.push_back(key.first);
  for (const auto& row : tx.Exec(sql::metascheduler::kCampaigns, db::Array(in_flight))) {
    policy::Campaign c;
    c.id = row["id"].as<std::int64_t>();
    c.user = row["grid_user"].as<std::string>();
    c.project = row["project"].as<std::string>();
    c.test = row["test"].as<bool>();
    c.priority = std::min(9, row["priority"].as<int>());
    c.cls = row["class"].as<std::string>();
    if (row["priority"].as<int>() > 9) c.cls = "urgent";
    c.sla_group = row["sla_group"].as<std::string>();
    c.submitted_at = row["submitted_at"].as<double>();
    c.waiting = row["waiting"].as<std::int64_t>();
    c.done = row["done"].as<std::int64_t>();
    c.replicas = row["replicas"].as<bool>();
    c.waiting_since = row["waiting_since"].as<double>();
    c.need_s = row["need_s"].as<double>();
    c.affinity_wait_s = Seconds(row["affinity_wait"]);
    c.min_duration_s = Seconds(row["min_duration"]);
    c.licences = Licences(row["licences"]);
    c.after = row["after"].is_null() ? 0 : row["after"].as<std::int64_t>();
    loaded.snapshot.campaigns.push_back(std::move(c));
  }
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

// Jobs that may be cancelled for others, when that is switched on at all.
void Store::LoadRunning(db::Tx& tx, Loaded& loaded) {
  const auto& config = loaded.snapshot.config;
  if (config.urgent_percent <= 0 && !config.scavenger_preempt && !config.sla_preempt) return;
  for (const auto& row : tx.Exec(sql::metascheduler::kRunningJobs))
    loaded.snapshot.running.push_back({row[0].as<std::int64_t>(), row[1].as<std::int64_t>(),
                                       row[2].as<std::int64_t>(), row[3].as<int>(),
                                       row[4].as<double>(), row[5].as<std::int64_t>()});
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
  LoadInFlight(tx, loaded);
  LoadCampaigns(tx, loaded);
  LoadLanes(tx, loaded);
  LoadUsage(tx, loaded);
  LoadRunning(tx, loaded);
  for (const auto& row : tx.Exec(sql::metascheduler::kEpilogues))
    loaded.epilogues.emplace(row[0].as<std::int64_t>(), row[1].as<std::int64_t>());
  return loaded;
}

}  // namespace cigri::metascheduler
