// The limits of one server; core/limits.h has the values of the API.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <thread>

#include "core/limits.h"

namespace cigri::http {

struct Limits {
  std::size_t max_request_bytes = (1u << 20) + (64u << 10);  ///< headers and body of one request
  std::size_t max_head_bytes = limits::kHeadBytes.value;     ///< request line and headers
  std::size_t max_headers = limits::kHeaders.value;
  /// For a head, and a body of up to kGatheredBytes, to arrive; the same for longer bodies, and
  /// more of it when they come as fast as `least_bytes_per_s`.
  std::chrono::milliseconds request_deadline{limits::kRequestTime.value * 1000};
  std::chrono::milliseconds stranger_deadline{limits::kStrangerTime.value * 1000};
  std::size_t least_bytes_per_s = limits::kBodyRate.value;
  std::chrono::seconds write_timeout{10};
  int threads = limits::kAllThreads.value;  ///< for requests; as many more for trusted callers
  int threads_per_caller = std::clamp<int>(std::thread::hardware_concurrency(), 2,
                                           limits::kThreads.value);
  int stranger_threads = limits::kStrangerThreads.value;
  int connections = limits::kAllConnections.value;
  int connections_per_caller = limits::kConnections.value;
  int waiting_per_caller = limits::kLongPolls.value;  ///< requests that AnswerLater()
  int keep_alive_max = 1000;
  int keep_alive_s = 5;
};

/// A body up to this size is read before the request costs a thread.
constexpr std::size_t kGatheredBytes = 64u << 10;

}  // namespace cigri::http
