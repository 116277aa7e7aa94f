// Numbers that many readers ask for and that take as long to count as there are rows.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>

namespace cigri::api {

/// A count is kept a hundred times as long as it took, ten seconds at most: however many ask,
/// counting takes a hundredth of a session's time, and on a small grid a change shows within
/// milliseconds.
class KeptCounts {
 public:
  using Clock = std::chrono::steady_clock;
  using Key = std::set<std::string>;  ///< the states of the campaigns that were counted

  /// Nothing: it must be counted.
  std::optional<std::int64_t> Find(const Key& key, Clock::time_point now = Clock::now()) const {
    const std::lock_guard lock(mutex_);
    const auto found = counts_.find(key);
    if (found == counts_.end() || found->second.until <= now) return std::nullopt;
    return found->second.n;
  }
  void Keep(const Key& key, std::int64_t n, Clock::duration took,
            Clock::time_point now = Clock::now()) {
    const std::lock_guard lock(mutex_);
    counts_[key] = {n, now + std::min<Clock::duration>(100 * took, std::chrono::seconds(10))};
  }

 private:
  struct Count {
    std::int64_t n = 0;
    Clock::time_point until;
  };
  mutable std::mutex mutex_;
  std::map<Key, Count> counts_;
};

}  // namespace cigri::api
