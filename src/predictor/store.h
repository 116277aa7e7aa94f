// All SQL of the predictor.
#pragma once
#include <map>
#include <optional>
#include <vector>

#include "db/db.h"
#include "policy/forecast/estimate.h"

namespace cigri::predictor {

/// What is known of every campaign at work: by campaign, a row for each of its clusters.
std::map<std::int64_t, std::vector<PlacementStats>> LoadStats(db::Tx& tx);
/// Tasks that no job was sent for, by campaign.
std::map<std::int64_t, std::int64_t> LoadWaiting(db::Tx& tx);

/// Forecasts to be written by one statement.
class ForecastRows {
 public:
  /// `history`: also as a row of forecasts_history.
  void Add(const PlacementStats& stats, const Forecast& forecast,
           const std::optional<policy::Interval>& left, bool history);
  bool empty() const { return rows_.empty(); }
  void Write(db::Tx& tx) const;

 private:
  using Int = std::int64_t;
  using Maybe = std::optional<double>;
  // campaign, cluster, job ratio, poll, submitted, free, running, waiting, rate, average, stddev,
  // p50, p90, p99, waiting allowed, low, high, overdue, history, tasks of a job, cost of a job
  db::RowSet<Int, Int, double, Int, Int, int, Int, Int, double, Maybe, Maybe, Maybe, Maybe, Maybe,
             std::optional<Int>, Maybe, Maybe, Maybe, bool, int, Maybe, std::optional<Int>>
      rows_;
};

}  // namespace cigri::predictor
