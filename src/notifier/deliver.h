// Hands a message to a mail server, or to the command of the operator.
#pragma once
#include <string>

#include "core/config.h"
#include "notifier/decide.h"

namespace cigri::notifier {

struct Delivery {
  bool sent = false;
  bool permanent = false;  ///< another attempt would not help: no such address
  std::string error;
};

/// Mail goes to NOTIFICATIONS_SMTP_SERVER, all else to NOTIFICATIONS_COMMAND, which gets the
/// message as JSON. Both are the operator's: no user names a server or a program. Takes 20 s at
/// most.
Delivery Deliver(const Config& config, const Message& message, const std::string& message_id);

}  // namespace cigri::notifier
