#include "http/pace.h"

#include <algorithm>
#include <utility>

namespace cigri::http {
namespace {
constexpr std::size_t kManyBuckets = 1000;
}

void Pace::Asks(const std::string& caller, Clock::time_point now) {
  if (caller != last_.caller) other_ = std::exchange(last_, {caller, now});
  last_.at = now;
}

void Pace::Spends(const std::string& caller, Clock::time_point begin, Clock::time_point end) {
  if (caller.empty()) return;
  if (empty_.size() >= kManyBuckets)
    std::erase_if(empty_, [&](const auto& bucket) { return bucket.second <= begin; });
  Clock::time_point& empty = empty_[caller];
  empty = std::min(std::max(empty, begin) + (end - begin), end + kBurst + kLongestWait);
}

Pace::Clock::time_point Pace::Next(const std::string& caller, Clock::time_point now) const {
  const auto bucket = empty_.find(caller);
  const Asked& other = caller == last_.caller ? other_ : last_;
  // Not now - kRecently < other.at: nobody may have asked yet.
  if (bucket == empty_.end() || other.at + kRecently < now) return now;
  return std::max(now, std::min(bucket->second - kBurst, other.at + kRecently));
}

}  // namespace cigri::http
