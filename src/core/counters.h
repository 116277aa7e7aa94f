// Deltas of the table `counters`, gathered in memory and added by one statement.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "core/states.h"

namespace cigri {

/// One key at most once, in the order that all writers use, so that two never deadlock.
class CounterDeltas {
 public:
  struct Delta {
    std::int64_t n = 0, slots = 0, riders = 0;
    double sum_start = 0;
  };
  using Key = std::tuple<std::int64_t, std::int64_t, std::string,
                         std::string>;  // campaign, cluster, kind, state

  /// One more (or fewer) task that shares its job with a later one, which has the slots.
  void AddRider(std::int64_t campaign, std::int64_t cluster, BatchKind kind, std::string_view state,
                std::int64_t tasks) {
    auto& d = deltas_[{campaign, cluster, std::string(ToString(kind)), std::string(state)}];
    d.n += tasks;
    d.riders += tasks;
  }
  /// `jobs` more (or fewer) jobs of `slots` slots each in `state`; `start` (epoch s) only for
  /// running.
  void Add(std::int64_t campaign, std::int64_t cluster, BatchKind kind, std::string_view state,
           std::int64_t jobs, std::int64_t slots, double start = 0) {
    auto& d = deltas_[{campaign, cluster, std::string(ToString(kind)), std::string(state)}];
    d.n += jobs;
    d.slots += jobs * slots;
    d.sum_start += static_cast<double>(jobs * slots) * start;
  }
  const std::map<Key, Delta>& all() const { return deltas_; }
  bool empty() const { return deltas_.empty(); }

 private:
  std::map<Key, Delta> deltas_;
};

}  // namespace cigri
