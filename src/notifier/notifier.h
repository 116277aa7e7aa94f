// Notifies subscribers of events: an outbox in the database, sent message by message.
#pragma once
#include <chrono>

#include "module/module.h"
#include "notifier/deliver.h"

namespace cigri::notifier {

/// Each event is queued once for each subscription, and each message is claimed, in a transaction
/// that holds the epoch, before it leaves: so a message is sent once, also when notifiers are
/// killed or replaced. One that was on its way then is not repeated (state `unknown`).
class Notifier {
 public:
  void Pass(module::Step& step);

 private:
  using Clock = std::chrono::steady_clock;
  void Start(module::Step& step);
  void QueueNews(module::Step& step);
  bool Send(module::Step& step, const Message& message);

  std::int64_t after_event_ = 0;  ///< all up to this one are queued
  Clock::time_point passed_{}, moved_{};
};

}  // namespace cigri::notifier
