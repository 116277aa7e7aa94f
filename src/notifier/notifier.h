// Notifies subscribers of events: an outbox in the database, sent message by message.
#pragma once
#include <chrono>
#include <map>

#include "module/module.h"
#include "notifier/deliver.h"

namespace cigri::notifier {

/// Each event is queued once for each subscription, and each message is claimed, in a transaction
/// that holds the epoch, before it leaves: so a message is sent once, also when notifiers are
/// killed or replaced. One that was on its way then is not repeated (state `unknown`).
class Notifier {
 public:
  /// `patience`: for a server or a command that does not answer.
  explicit Notifier(std::chrono::seconds patience = std::chrono::seconds(20))
      : patience_(patience) {}
  void Pass(module::Step& step);

 private:
  using Clock = std::chrono::steady_clock;
  void Start(module::Step& step);
  void QueueNews(module::Step& step);
  bool Send(module::Step& step, const Message& message);

  std::chrono::seconds patience_;
  std::int64_t after_event_ = 0;  ///< all up to this one are queued
  Clock::time_point passed_{}, moved_{};
  std::string served_{};  ///< the user whom the last message was for
  /// Mail (true), or what else there is: it did not answer, and is left alone until then.
  std::map<bool, Clock::time_point> paused_;
};

}  // namespace cigri::notifier
