// Hands a message to a mail server, or to the command or the address of the operator.
#pragma once
#include <chrono>
#include <string>

#include "core/config.h"
#include "notifier/decide.h"

namespace cigri::notifier {

struct Delivery {
  bool sent = false;
  bool permanent = false;  ///< another attempt would not help: no such address
  bool timed_out = false;  ///< nobody answered
  std::string error{};
};

/// Mail goes to NOTIFICATIONS_SENDMAIL or NOTIFICATIONS_SMTP_SERVER, all else to
/// NOTIFICATIONS_COMMAND or NOTIFICATIONS_WEBHOOK, which get the message as JSON. All are the
/// operator's: no user names a server, a program or an address on the web. Takes `patience` at
/// most.
Delivery Deliver(const Config& config, const Message& message, const std::string& message_id,
                 std::chrono::seconds patience);

}  // namespace cigri::notifier
