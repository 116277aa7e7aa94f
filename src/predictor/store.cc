#include "predictor/store.h"

#include <sql/forecasts.h>
#include <sql/tasks.h>

#include <algorithm>
#include <cstdlib>

namespace cigri::predictor {
namespace {

// 300 years: what lasts longer may end at a time that no timestamp can hold.
constexpr double kFarthest_s = 1e10;

}  // namespace

std::map<std::int64_t, std::vector<PlacementStats>> LoadStats(db::Tx& tx) {
  std::map<std::int64_t, std::vector<PlacementStats>> campaigns;
  for (const auto& row : tx.Exec(sql::kPlacementsToForecast)) {
    PlacementStats f;
    f.campaign_id = row.campaign_id;
    f.cluster_id = row.cluster_id;
    f.slots = row.slots;
    f.rule = row.rule;
    f.queue_s = row.queue_s;
    f.resolution_s = row.resolution_s;
    f.max_waiting = row.max_waiting;
    f.polls = row.polls;
    f.max_resources = row.max_resources;
    f.free_resources = row.free_resources;
    f.submitted = row.submitted;
    f.waiting = row.waiting;
    f.running = row.running;
    f.ended = row.ended;
    f.mean_age_s = row.mean_age_s;
    f.n_ok = row.n_ok;
    f.sum_s = row.sum_s;
    f.sum_sq = row.sum_sq;
    f.hist = row.hist;
    f.last_ratio = row.job_ratio;
    f.last_rate = row.rate;
    f.groups = row.groups;
    if (row.tasks_per_job) f.tasks_per_job = std::max(1, std::atoi(row.tasks_per_job->c_str()));
    f.jobs = row.jobs;
    f.last_cost_s = row.job_cost_s;
    f.lifetime_s = row.lifetime_s;
    f.walltime_s = row.walltime_s;
    f.auto_walltime = row.auto_walltime;
    f.grace_s = row.grace_s;
    campaigns[f.campaign_id].push_back(std::move(f));
  }
  return campaigns;
}

std::map<std::int64_t, std::int64_t> LoadWaiting(db::Tx& tx) {
  std::map<std::int64_t, std::int64_t> waiting;
  for (const auto& row : tx.Exec(sql::kUnsentTasks)) waiting[row.id] = row.waiting;
  return waiting;
}

void ForecastRows::Add(const PlacementStats& f, const Forecast& forecast,
                       const std::optional<policy::Interval>& left, bool history) {
  rows_.Add(
      f.campaign_id, f.cluster_id, forecast.job_ratio, forecast.poll, forecast.nsub,
      f.free_resources, f.running, f.waiting + f.submitted, forecast.rate, forecast.average_s,
      forecast.stddev_s, forecast.p50_s, forecast.p90_s, forecast.p99_s, forecast.waiting_allowed,
      left ? std::optional(std::min(left->low, kFarthest_s)) : std::nullopt,
      left ? std::optional(std::min(left->high, kFarthest_s)) : std::nullopt, forecast.overdue_s,
      history, forecast.tasks_per_job, forecast.job_cost_s, forecast.walltime_s);
}

void ForecastRows::Write(db::Tx& tx) const { tx.Exec(sql::kPutForecasts, rows_); }

}  // namespace cigri::predictor
