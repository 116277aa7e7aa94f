// Job ratios, rates, durations and the end of each campaign, for those who plan and those who wait.
#pragma once
#include <chrono>
#include <map>

#include "module/module.h"
#include "predictor/decide.h"
#include "predictor/store.h"

namespace cigri::predictor {

class Predictor {
 public:
  void Pass(module::Step& step);

 private:
  using Clock = std::chrono::steady_clock;
  using Key = std::pair<std::int64_t, std::int64_t>;  // campaign, cluster
  struct Written {                                    // what was written last
    std::vector<std::int64_t> signature;
    std::int64_t rate_step = 0;
    Clock::time_point at{}, history_at{};
  };
  void Start();
  void PredictAll(module::Step& step);
  void Forecasts(const std::vector<PlacementStats>& stats, std::int64_t waiting, double window_s,
                 ForecastRows& rows);
  bool ToWrite(const Key& key, const std::vector<std::int64_t>& signature, double rate,
               bool* history);
  void Forget(const std::map<std::int64_t, std::vector<PlacementStats>>& campaigns);

  std::map<std::int64_t, Memory> memory_;  // by campaign
  std::map<Key, Written> written_;
  Clock::time_point next_{};  // pass
};

}  // namespace cigri::predictor
