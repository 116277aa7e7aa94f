#include "predictor/store.h"

#include <sql/predictor.h>

namespace cigri::predictor {

std::vector<Facts> LoadLanes(db::Tx& tx) {
  std::vector<Facts> lanes;
  for (const auto& row : tx.Exec(sql::predictor::kLanes)) {
    Facts f;
    f.campaign_id = row["campaign_id"].as<std::int64_t>();
    f.cluster_id = row["cluster_id"].as<std::int64_t>();
    f.slots = row["slots"].as<int>();
    f.rule = row["rule"].as<std::string>();
    f.queue_s = row["queue_s"].as<double>();
    f.resolution_s = row["resolution_s"].as<double>();
    f.max_waiting = row["max_waiting"].as<int>();
    f.sweeps = row["sweeps"].as<std::int64_t>();
    f.max_resources = row["max_resources"].as<int>();
    f.free_resources = row["free_resources"].as<int>();
    f.submitted = row["submitted"].as<std::int64_t>();
    f.waiting = row["waiting"].as<std::int64_t>();
    f.running = row["running"].as<std::int64_t>();
    f.ended = row["ended"].as<std::int64_t>();
    f.mean_age_s = row["mean_age_s"].as<double>();
    f.mean_slot_s = row["mean_slot_s"].as<double>();
    f.n_ok = row["n_ok"].as<std::int64_t>();
    f.sum_s = row["sum_s"].as<double>();
    f.sum_sq = row["sum_sq"].as<double>();
    f.hist = db::Int64s(row["hist"]);
    f.last_ratio = db::Opt<double>(row["job_ratio"]);
    f.last_rate = db::Opt<double>(row["rate"]);
    lanes.push_back(std::move(f));
  }
  return lanes;
}

std::map<std::int64_t, std::int64_t> LoadWaiting(db::Tx& tx) {
  std::map<std::int64_t, std::int64_t> waiting;
  for (const auto& row : tx.Exec(sql::predictor::kWaiting))
    waiting[row[0].as<std::int64_t>()] = row[1].as<std::int64_t>();
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
  tx.Exec(sql::predictor::kPut, db::Array(campaign_), db::Array(cluster_), db::Array(ratio_),
          db::Array(sweep_), db::Array(nsub_), db::Array(free_), db::Array(running_),
          db::Array(waiting_), db::Array(rate_), db::Array(average_), db::Array(stddev_),
          db::Array(p50_), db::Array(p90_), db::Array(p99_), db::Array(allowed_), db::Array(low_),
          db::Array(keep_), db::Array(high_), db::Array(overdue_));
}

}  // namespace cigri::predictor
