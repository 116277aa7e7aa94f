// From tables to the lanes of a Snapshot: each campaign on each of its clusters, what is in flight
// there, what is known of its jobs there.
#include <sql/jobs.h>
#include <sql/placements.h>
#include <sql/survival.h>
#include <sql/tasks.h>

#include <cmath>
#include <unordered_map>

#include "metascheduler/store.h"
#include "policy/flow.h"
#include "policy/forecast.h"
#include "policy/guard.h"
#include "policy/speed.h"

namespace cigri::metascheduler {
namespace {

using policy::kNoLimit;

/// Fields of a row in the order of its SELECT. Looking them up by name costs more than the rest of
/// the load when there are thousands of rows.
class Reader {
 public:
  explicit Reader(const pqxx::row& row) : row_(row) {}
  pqxx::field Field() { return row_[at_++]; }
  template <typename T>
  T Get() {
    return Field().as<T>();
  }
  template <typename T>
  T Or(T fallback) {
    const auto field = Field();
    return field.is_null() ? fallback : field.as<T>();
  }
  std::string Text() { return Field().c_str(); }

 private:
  const pqxx::row& row_;
  int at_ = 0;
};

policy::Prologue PrologueOf(bool has, const std::string& state, bool in_flight) {
  if (!has) return policy::Prologue::kNone;
  if (state == "done") return policy::Prologue::kDone;
  if (state == "failed") return policy::Prologue::kFailed;
  return in_flight ? policy::Prologue::kRunning : policy::Prologue::kNeeded;
}

// CIG-11: of the last ends, the latest successes in a row (a failure is infinite), `most` at most.
void ReadRecent(const pqxx::field& field, int most, policy::Lane& lane) {
  if (field.is_null() || most <= 0) return;
  std::vector<double> ends;
  for (const auto& text : db::Strings(field)) ends.push_back(std::strtod(text.c_str(), nullptr));
  for (auto it = ends.rbegin(); it != ends.rend() && lane.recent < most; ++it) {
    if (!std::isfinite(*it)) break;
    ++lane.recent;
    lane.recent_longest_s = std::max(lane.recent_longest_s, *it);
  }
}

}  // namespace

void Store::LoadInFlight(db::Tx& tx, Loaded& loaded) {
  std::unordered_map<std::int64_t, policy::Cluster*> clusters;
  for (auto& c : loaded.snapshot.clusters) clusters[c.id] = &c;
  for (const auto& row : tx.Exec(sql::kInFlight)) {
    Reader r(row);
    const auto campaign = r.Get<std::int64_t>(), id = r.Get<std::int64_t>();
    const auto kind = FromString<BatchKind>(r.Text()).value();
    const std::string state = r.Text();
    const auto n = r.Get<std::int64_t>(), slots = r.Get<std::int64_t>();
    loaded.in_flight[{campaign, id, kind}] += n;
    auto& f = loaded.flights[{campaign, id}];
    if (kind == BatchKind::kPrologue) f.prologue += n;
    f.n += n;
    if (state == "running") {
      f.running += n;
      f.running_slots += slots;
      f.since += r.Get<double>();
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
  for (auto& c : loaded.snapshot.clusters) {
    c.free = std::clamp(c.free - c.running_slots, 0, c.max);
    // Raised by the predictor's estimate (LoadLanes), which knows how fast jobs end there.
    c.waiting_allowed = policy::WaitingAllowed(1, 0, 0);
  }
}

void Store::LoadLanes(db::Tx& tx, Loaded& loaded) {
  auto& snapshot = loaded.snapshot;
  std::unordered_map<std::int64_t, policy::Cluster*> clusters;
  std::unordered_map<std::int64_t, policy::Campaign*> campaigns;
  std::vector<std::int64_t> ids, replicating, counted;
  for (auto& c : snapshot.clusters) clusters[c.id] = &c;
  for (auto& c : snapshot.campaigns) {
    campaigns[c.id] = &c;
    ids.push_back(c.id);
    if (c.replicas && c.waiting == 0) replicating.push_back(c.id);
  }
  if (ids.empty()) return;
  const bool rates = !snapshot.config.start_rates.empty();
  std::unordered_map<std::int64_t, double> longest_killed;
  std::vector<policy::MeasuredLane> measured;
  for (const auto& row :
       tx.Exec(sql::kLoadPlacements, ids, snapshot.config.sink_count > 0)) {
    Reader r(row);
    const auto campaign = r.Get<std::int64_t>();
    auto& c = *campaigns.at(campaign);
    policy::Lane lane;
    lane.cluster = r.Get<int>();
    const auto flight = loaded.flights.find({campaign, lane.cluster});
    const Loaded::Flight f = flight == loaded.flights.end() ? Loaded::Flight{} : flight->second;
    lane.in_flight = static_cast<int>(f.n);
    lane.running = static_cast<int>(f.running);
    lane.slots = r.Get<int>();
    // The counter sums over slots, the lane over jobs.
    if (f.running_slots > 0)
      lane.running_since = f.since / static_cast<double>(f.running_slots) * lane.running;
    lane.max_jobs = r.Or<int>(kNoLimit);
    c.walltime_s = std::max(c.walltime_s, r.Get<int>());
    if (r.Get<bool>()) lane.max_jobs = 1;  // test_mode: one at a time, as CiGri 3 does
    // Jobs that failed before the first success count too: ten in all, not ten at a time.
    lane.tried = r.Get<int>();
    lane.job_ratio = r.Get<double>();
    lane.proven = r.Get<bool>();
    if (r.Get<bool>()) lane.held = "HELD_FIRST_TEN";
    if (const auto blocked = r.Text(); !blocked.empty()) lane.held = blocked;
    const bool has_prologue = r.Get<bool>();
    const auto prologue = r.Text();
    lane.prologue = PrologueOf(has_prologue, prologue, f.prologue > 0);
    lane.affinity = r.Get<int>();
    lane.local = prologue == "done" || lane.proven;
    lane.tested = r.Get<bool>();
    lane.mean_s = r.Get<double>();
    measured.push_back({campaign, lane.cluster, r.Get<std::int64_t>(), lane.mean_s});
    lane.median_s = r.Get<double>();
    const int allowed = r.Get<int>();
    if (const auto it = clusters.find(lane.cluster); it != clusters.end())
      it->second->waiting_allowed = std::max(it->second->waiting_allowed, allowed);
    if (const auto rate = r.Field(); !rate.is_null())
      lane.start_rate = std::max(0.0, std::strtod(rate.c_str(), nullptr));
    ReadRecent(r.Field(), policy::SinkCount(snapshot.config, c), lane);
    const double killed = r.Or<double>(-1);
    if (killed >= 0) longest_killed[campaign] = std::max(longest_killed[campaign], killed);
    if (killed >= 0 || rates || lane.start_rate > 0)
      if (counted.empty() || counted.back() != campaign) counted.push_back(campaign);
    c.lanes.push_back(std::move(lane));
  }
  policy::MeasureSpeeds(measured, snapshot.clusters);
  // Until one has succeeded, a job is known to need longer than any has been let live.
  for (const auto& [id, seconds] : longest_killed)
    if (auto& c = *campaigns.at(id); c.need_s <= 0) c.need_s = seconds;
  const auto each = [&](const pqxx::result& rows, auto set) {
    for (const auto& row : rows)
      for (auto& lane : campaigns.at(row.campaign_id)->lanes)
        if (lane.cluster == row.cluster_id) set(lane, row);
  };
  if (!counted.empty()) {
    each(tx.Exec(sql::kJobsByPlacement, counted),
         [](policy::Lane& lane, const pqxx::row& row) {
           lane.started = row.started;
           lane.kills = row.kills;
         });
    // Lanes without a row of counters have started nothing.
    for (const auto id : counted)
      for (auto& lane : campaigns.at(id)->lanes)
        lane.started = std::max<std::int64_t>(0, lane.started);
  }
  if (!longest_killed.empty()) LoadLives(tx, loaded);
  if (!replicating.empty())
    each(tx.Exec(sql::kSingleCopies, replicating),
         [](policy::Lane& lane, const pqxx::row& row) { lane.single = row.n; });
  each(tx.Exec(sql::kAvoidedClusters, ids),
       [](policy::Lane& lane, const pqxx::row& row) { lane.avoid = row.n; });
  LoadOverdue(tx, loaded);
  LoadReleases(tx, loaded);
}

// How long jobs live on each cluster, as it was seen.
void Store::LoadLives(db::Tx& tx, Loaded& loaded) {
  std::unordered_map<std::int64_t, double> median;
  for (const auto& row : tx.Exec(sql::kClusterSurvival))
    median[row.cluster_id] =
        policy::MedianLife(row.killed, row.ended).value_or(0);
  for (auto& c : loaded.snapshot.campaigns)
    for (auto& lane : c.lanes)
      if (lane.kills > 0) lane.median_life_s = median[lane.cluster];
}

// TECH-12. Looked at every few seconds: nobody is overdue by less.
void Store::LoadOverdue(db::Tx& tx, Loaded& loaded) {
  constexpr double kEvery = 10;
  if (now_ - overdue_at_ >= kEvery || now_ < overdue_at_) {
    overdue_at_ = now_;
    overdue_.clear();
    for (const auto& row : tx.Exec(sql::kOverdueJobs))
      overdue_.push_back({row.campaign_id,
                          row.cluster_id, row.n,
                          row.copies, row.overdue_s});
    loaded.tell_overdue = true;
  }
  loaded.overdue = overdue_;
  for (auto& c : loaded.snapshot.campaigns)
    for (const auto& o : overdue_)
      if (o.copies && o.campaign == c.id)
        for (auto& lane : c.lanes)
          if (lane.cluster == o.cluster) lane.overdue = o.n;
}

// FAIR-08: when slots of ours come back, for what may go before a wide job.
void Store::LoadReleases(db::Tx& tx, Loaded& loaded) {
  if (loaded.snapshot.config.wide_gap < 0) return;
  std::unordered_map<std::int64_t, double> length;
  std::unordered_map<std::int64_t, policy::Cluster*> clusters;
  for (const auto& c : loaded.snapshot.campaigns)
    length[c.id] = c.need_s > 0 ? c.need_s : c.walltime_s;
  for (auto& c : loaded.snapshot.clusters) clusters[c.id] = &c;
  for (const auto& row : tx.Exec(sql::kSlotReleases)) {
    const auto cluster = clusters.find(row.cluster_id);
    const auto lasts = length.find(row.campaign_id);
    if (cluster == clusters.end() || lasts == length.end() || lasts->second <= 0) continue;
    const double at = std::max(loaded.now, row.start + lasts->second);
    cluster->second->releases.push_back({at, row.slots});
  }
}

}  // namespace cigri::metascheduler
