#include "predictor/store.h"

#include <sql/forecasts.h>
#include <sql/tasks.h>

namespace cigri::predictor {

std::vector<Facts> LoadLanes(db::Tx& tx) {
  std::vector<Facts> lanes;
  for (const auto& row : tx.Exec(sql::kPlacementsToForecast)) {
    Facts f;
    f.campaign_id = row.campaign_id;
    f.cluster_id = row.cluster_id;
    f.slots = row.slots;
    f.rule = row.rule;
    f.queue_s = row.queue_s;
    f.resolution_s = row.resolution_s;
    f.max_waiting = row.max_waiting;
    f.sweeps = row.sweeps;
    f.max_resources = row.max_resources;
    f.free_resources = row.free_resources;
    f.submitted = row.submitted;
    f.waiting = row.waiting;
    f.running = row.running;
    f.ended = row.ended;
    f.mean_age_s = row.mean_age_s;
    f.mean_slot_s = row.mean_slot_s;
    f.n_ok = row.n_ok;
    f.sum_s = row.sum_s;
    f.sum_sq = row.sum_sq;
    f.hist = row.hist;
    f.last_ratio = row.job_ratio;
    f.last_rate = row.rate;
    lanes.push_back(std::move(f));
  }
  return lanes;
}

std::map<std::int64_t, std::int64_t> LoadWaiting(db::Tx& tx) {
  std::map<std::int64_t, std::int64_t> waiting;
  for (const auto& row : tx.Exec(sql::kUnsentTasks))
    waiting[row.id] = row.waiting;
  return waiting;
}

void Rows::Add(const Facts& f, const Forecast& forecast, const std::optional<policy::Span>& left,
               bool keep) {
  campaign_.push_back(f.campaign_id);
  cluster_.push_back(static_cast<int>(f.cluster_id));
  ratio_.push_back(forecast.job_ratio);
  sweep_.push_back(forecast.sweep);
  nsub_.push_back(static_cast<int>(forecast.nsub));
  free_.push_back(f.free_resources);
  running_.push_back(static_cast<int>(f.running));
  waiting_.push_back(static_cast<int>(f.waiting + f.submitted));
  rate_.push_back(forecast.rate);
  average_.push_back(forecast.average_s);
  stddev_.push_back(forecast.stddev_s);
  p50_.push_back(forecast.p50_s);
  p90_.push_back(forecast.p90_s);
  p99_.push_back(forecast.p99_s);
  allowed_.push_back(forecast.waiting_allowed);
  overdue_.push_back(forecast.overdue_s);
  low_.push_back(left ? std::optional(left->low) : std::nullopt);
  high_.push_back(left ? std::optional(left->high) : std::nullopt);
  keep_.push_back(keep);
}

void Rows::Write(db::Tx& tx) const {
  tx.Exec(sql::kPutForecasts, campaign_, cluster_, ratio_,
          sweep_, nsub_, free_, running_,
          waiting_, rate_, average_, stddev_,
          p50_, p90_, p99_, allowed_, low_,
          keep_, high_, overdue_);
}

}  // namespace cigri::predictor
