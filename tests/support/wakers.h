// Wakers for passes that run without an almighty.
#pragma once
#include <atomic>

#include "module/module.h"

namespace cigri::test {

/// Wakes nobody, and counts how often it was asked to: at once, and later.
class TestWaker : public module::Waker {
 public:
  void Wake() override { ++wakes; }
  void WakeIn(std::chrono::milliseconds) override { ++delayed; }
  std::atomic<int> wakes{0}, delayed{0};
};

}  // namespace cigri::test
