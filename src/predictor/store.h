// The predictor's SQL.
#pragma once
#include <map>
#include <optional>
#include <vector>

#include "db/db.h"
#include "policy/estimate.h"

namespace cigri::predictor {

std::vector<Facts> LoadLanes(db::Tx& tx);
/// Tasks that wait, by campaign.
std::map<std::int64_t, std::int64_t> LoadWaiting(db::Tx& tx);

/// Predictions to be written by one statement.
class Rows {
 public:
  void Add(const Facts& facts, const Forecast& forecast, const std::optional<policy::Span>& left,
           bool keep);
  bool empty() const { return campaign_.empty(); }
  void Write(db::Tx& tx) const;

 private:
  std::vector<std::int64_t> campaign_, sweep_;
  std::vector<int> cluster_, nsub_, free_, running_, waiting_;
  std::vector<double> ratio_, rate_;
  std::vector<std::optional<double>> average_, stddev_, p50_, p90_, p99_, low_, high_, overdue_;
  std::vector<std::optional<std::int64_t>> allowed_;
  std::vector<bool> keep_;
};

}  // namespace cigri::predictor
