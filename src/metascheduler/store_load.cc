// From tables to a Snapshot: clusters, campaigns, usage, the configuration.
// The campaigns on their clusters: store_placements.cc.
#include <sql/campaigns.h>
#include <sql/cluster_status.h>
#include <sql/grid.h>
#include <sql/jobs.h>
#include <sql/policy.h>
#include <sql/usage.h>

#include <cstdlib>
#include <ctime>

#include "core/hours.h"
#include "core/log.h"
#include "core/text.h"
#include "metascheduler/store.h"
#include "db/events.h"

namespace cigri::metascheduler {
namespace {

using policy::kNoLimit;
using policy::Unusable;

// s: an idle feed answers every 25, an idle cluster is polled every 60.
constexpr double kStaleAfter = 90;

Unusable WhyUnusable(const sql::SchedulableClustersRow& row, std::string& why) {
  if (!row.enabled) return Unusable::kDisabled;
  if (row.drained) {
    why = row.drain_reason;
    return Unusable::kDrained;
  }
  if (row.hours && !WithinHours(*row.hours, std::time(nullptr), &why)) {
    if (why.empty()) why = *row.hours;
    return Unusable::kHours;
  }
  if (row.failing) {
    why = row.error;
    return row.broken ? Unusable::kBreaker : Unusable::kStale;
  }
  if (row.age_s > kStaleAfter) {
    why = row.age_s > 1e8 ? "never asked yet" : "last answer " + HumanDuration(row.age_s) + " ago";
    return Unusable::kStale;
  }
  if (row.stress >= row.stress_limit) return Unusable::kStress;
  return Unusable::kNo;
}

// A number of the stored JDL. It was checked when it was stored; a wrong one limits nothing.
double Seconds(const std::optional<std::string>& text) {
  if (!text) return 0;
  const double value = std::strtod(text->c_str(), nullptr);
  return value > 0 && value < 1e12 ? value : 0;
}

std::map<std::string, int> Licences(const std::optional<std::string>& text) {
  std::map<std::string, int> licences;
  if (!text) return licences;
  const auto json = nlohmann::json::parse(*text, nullptr, false);
  if (!json.is_object()) return licences;
  for (const auto& [name, n] : json.items())
    if (n.is_number_integer()) licences[name] = n.get<int>();
  return licences;
}

}  // namespace

void Store::LoadClusters(db::Tx& tx, Loaded& loaded) {
  for (const auto& row : tx.Exec(sql::kSchedulableClusters)) {
    policy::Cluster c;
    c.id = row.id;
    c.name = row.name;
    c.max = row.max_resources;
    // LoadInFlight takes off what our own counts say runs there now.
    c.free = row.free_resources + row.used_by_cigri;
    c.speed = row.power / 100;
    c.mode = FromString<ClusterMode>(row.mode).value();
    c.limited = row.mode_limit.value_or(kNoLimit);
    c.max_running = row.max_running.value_or(kNoLimit);
    c.unusable = WhyUnusable(row, c.why);
    loaded.snapshot.clusters.push_back(std::move(c));
  }
}

void Store::LoadCampaigns(db::Tx& tx, Loaded& loaded) {
  std::vector<std::int64_t> in_flight;
  for (const auto& [key, flight] : loaded.flights) in_flight.push_back(key.first);
  for (const auto& row : tx.Exec(sql::kSchedulableCampaigns, in_flight)) {
    policy::Campaign c;
    c.id = row.id;
    c.user = row.grid_user;
    c.project = row.project;
    c.test = row.test;
    c.active = row.active;
    c.priority = std::min(9, row.priority);
    c.cls = row.class_name;
    c.scheduler = row.scheduler;
    if (row.priority > 9) c.cls = "urgent";
    c.sla_group = row.sla_group;
    c.submitted_at = row.submitted_at;
    c.waiting = row.waiting;
    c.done = row.done;
    c.replicas = row.replicas;
    c.waiting_since = row.waiting_since;
    c.need_s = row.need_s;
    c.mean_s = row.mean_s;
    c.affinity_wait_s = Seconds(row.affinity_wait);
    c.min_duration_s = Seconds(row.min_duration);
    c.licences = Licences(row.licences);
    c.after = row.after.value_or(0);
    c.after_failed = row.after_failed.value_or(0);
    c.failed_tasks = static_cast<int>(row.failed_tasks);
    c.not_before = Seconds(row.not_before);
    c.deadline = Seconds(row.deadline);
    if (row.max_jobs_total) c.max_jobs_total = std::stoi(*row.max_jobs_total);
    loaded.snapshot.campaigns.push_back(std::move(c));
  }
}

// Usage older than a quarter of an hour changes slowly: it is read in steps of an hour, and only
// when the hour changes. Where it decays, larger steps are as good: an eighth of the half-life
// changes a sum by less than a thousandth. Minutes count in the window of usage alone.
void Store::LoadUsage(db::Tx& tx, Loaded& loaded) {
  constexpr double kMinute = 60, kHour = 3600, kDay = 86400;
  const auto& config = loaded.snapshot.config;
  const double window = std::max(config.fairshare_window_s, config.usage_window_s);
  const double cut = std::floor((loaded.now - 900) / kHour) * kHour;
  std::vector<std::int64_t> campaigns;
  for (const auto& c : loaded.snapshot.campaigns) campaigns.push_back(c.id);
  const auto read = [&](double from, double to, double step, std::vector<policy::Usage>& out) {
    for (const auto& row : tx.Exec(sql::kUsageSteps, from, to, step, campaigns))
      out.push_back({row.campaign_id, row.grid_user, row.project, row.start,
                     std::min(step, to - row.start), row.slot_s, row.jobs});
  };
  const bool decays = config.policy == policy::PolicyKind::kFairshare;
  if (old_usage_until_ != cut) {
    const double eighth = std::floor(config.fairshare_half_life_s / 8 / kHour) * kHour;
    old_usage_.clear();
    read(loaded.now - window, cut, decays ? std::clamp(eighth, kHour, kDay) : kHour, old_usage_);
    old_usage_until_ = cut;
  }
  loaded.snapshot.usage = old_usage_;
  const double end = loaded.now + kMinute;
  const double begun = std::floor((loaded.now - config.usage_window_s) / kMinute) * kMinute;
  const double minutes = decays ? end : std::max(cut, begun);
  read(cut, minutes, kHour, loaded.snapshot.usage);
  read(minutes, end, kMinute, loaded.snapshot.usage);
}

// Jobs that may be cancelled for others, when that is switched on at all.
void Store::LoadRunning(db::Tx& tx, Loaded& loaded) {
  const auto& config = loaded.snapshot.config;
  if (config.urgent_percent <= 0 && !config.scavenger_preempt && !config.sla_preempt) return;
  for (const auto& row : tx.Exec(sql::kYoungestRunningJobs))
    loaded.snapshot.running.push_back(
        {row.job_id, row.campaign_id, row.cluster_id, row.slots, row.started_at, row.for_campaign});
}

policy::PolicyConfig Store::LoadConfig(db::Tx& tx) {
  std::map<std::string, nlohmann::json> rows;
  for (const auto& row : tx.Exec(sql::kPolicySettings))
    rows[row.key] = nlohmann::json::parse(row.value);
  if (rows == config_rows_) return config_;
  config_rows_ = rows;
  old_usage_until_ = 0;  // its steps are those of the policy
  auto parsed = policy::ParseConfig(rows);
  auto faults = parsed.faults;
  for (auto& fault : policy::ValidateConfig(parsed.config)) faults.push_back(fault);
  db::Event e{.cls = "log", .code = "POLICY_INVALID", .message = ""};
  if (faults.empty()) {
    config_ = parsed.config;
    db::CloseEvent(tx, "metascheduler", e);
  } else {
    // Somebody broke a row by hand: the last valid policy stays, and an event says so.
    e.cls = "cluster";
    e.message = "policy_settings: " + faults.front().key + ": " + faults.front().message +
                "; the policy that was valid before stays";
    db::RaiseEvent(tx, e);
    log::error("{}", e.message);
  }
  return config_;
}

Loaded Store::Load(db::Tx& tx) {
  Loaded loaded;
  loaded.now = now_ = tx.One(sql::kNow).now;
  loaded.snapshot.config = LoadConfig(tx);
  LoadClusters(tx, loaded);
  LoadInFlight(tx, loaded);
  LoadCampaigns(tx, loaded);
  LoadPlacements(tx, loaded);
  LoadUsage(tx, loaded);
  LoadRunning(tx, loaded);
  for (const auto& row : tx.Exec(sql::kDueEpilogues))
    loaded.epilogues.emplace(row.id, row.cluster_id);
  return loaded;
}

}  // namespace cigri::metascheduler
