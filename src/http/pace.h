// How much of the server one caller may have while others ask, too.
#pragma once
#include <chrono>
#include <string>
#include <unordered_map>

namespace cigri::http {

/// What each caller has had of the server's threads, as a leaky bucket: it holds kBurst of their
/// time, and what one thread does leaks out of it. While somebody else has asked within kRecently,
/// a caller whose bucket is full waits. So who asks one thing after the other never waits, nor does
/// who is alone. "" is the callers without limits, who count as others. `now` never goes back. Not
/// thread-safe.
class Pace {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kBurst{100}, kRecently{1000};
  /// However long his requests were, a caller waits no longer than this.
  static constexpr std::chrono::milliseconds kLongestWait{500};

  /// A request of `caller` arrives.
  void Asks(const std::string& caller, Clock::time_point now);
  /// `caller` has kept a thread busy; or is charged as if, to an end that is still to come.
  void Spends(const std::string& caller, Clock::time_point begin, Clock::time_point end);
  /// When the next request of `caller` may begin; <= now: at once.
  Clock::time_point Next(const std::string& caller, Clock::time_point now) const;

 private:
  struct Asked {
    std::string caller;
    Clock::time_point at = Clock::time_point::min();
  };
  Asked last_, other_;  // the last one, and the last one of another caller than that
  std::unordered_map<std::string, Clock::time_point> empty_;  // when their buckets will be
};

}  // namespace cigri::http
