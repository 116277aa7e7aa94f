// Answers that a client may keep asking for: they come when they have changed.
#pragma once
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "api/http/router.h"

namespace cigri::api {

constexpr std::int64_t kLongestWait = 60'000;  ///< ms, of ?wait

/// Answers of the last second, of those that somebody waited for. Of a crowd that is woken by a
/// change one works the answer out, and the others get the same: they wait for news, and ask for
/// newer ones next. Thread-safe.
class RecentAnswers {
 public:
  /// Two requests with the same `key` have the same answer.
  void Keep(const std::string& key, const Reply& reply);
  std::shared_ptr<const Reply> Find(const std::string& key);  ///< null: there is none

 private:
  struct Recent {
    std::shared_ptr<const Reply> reply;
    std::chrono::steady_clock::time_point until;
  };
  std::mutex mutex_;
  std::map<std::string, Recent> recent_;
};

/// `handler`, whose answers get an ETag. Who sends it back in If-None-Match gets 304 while nothing
/// has changed; with `?wait=MS` the request waits, without a thread, until something has. The
/// answer may depend on the caller, the path and the query, and on nothing else of the request.
Handler Live(Handler handler);

}  // namespace cigri::api
