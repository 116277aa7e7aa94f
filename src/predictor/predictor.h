// Job ratios, rates, durations and the end of each campaign, for those who plan and those who wait.
#pragma once
#include <chrono>
#include <map>
#include <set>

#include "module/module.h"
#include "policy/estimate.h"
#include "predictor/store.h"

namespace cigri::predictor {

class Predictor {
 public:
  void Pass(module::Turn& turn);

 private:
  using Clock = std::chrono::steady_clock;
  using Key = std::pair<std::int64_t, std::int64_t>;  // campaign, cluster
  struct Shown {                                      // what was written last
    std::vector<std::int64_t> signature;
    Clock::time_point written{}, kept{};
  };
  void Start();
  void Campaign(const std::vector<Facts>& lanes, std::int64_t waiting, double window_s, Rows& rows);
  bool ToWrite(const Key& key, const std::vector<std::int64_t>& signature, bool* keep);
  void Forget(const std::vector<Facts>& lanes);

  std::map<Key, Lane> lanes_;
  std::map<Key, Shown> shown_;
  Clock::time_point looked_{};
};

}  // namespace cigri::predictor
