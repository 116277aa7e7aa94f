// Waiting for a condition, with a deadline instead of a sleep.
#pragma once
#include <chrono>
#include <functional>
#include <thread>

namespace cigri::test {

/// Waits until `condition` holds; false when it does not within `limit`. The condition is asked
/// each `pause`, so it may also give the thing that it waits for a push.
inline bool Await(const std::function<bool()>& condition,
                  std::chrono::milliseconds limit = std::chrono::seconds(30),
                  std::chrono::milliseconds pause = std::chrono::milliseconds(5)) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(pause);
  }
  return true;
}

}  // namespace cigri::test
