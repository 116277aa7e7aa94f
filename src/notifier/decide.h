// Which events concern a subscription, and which of them go out together, now. Pure functions.
#pragma once
#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

namespace cigri::notifier {

/// Something that a subscription is to be notified of, and has not been.
struct Waiting {
  std::int64_t id = 0;
  int subscription = 0;
  std::string grid_user, type, identity;  ///< "ann", "mail", "ann@site.org": an address
  std::optional<std::int64_t> campaign_id;
  std::string campaign;  ///< its name
  std::string severity, code, message;
  double age_s = 0;
  int attempts = 0;
  std::int64_t sent_lately = 0;  ///< messages to this address in the last hour
  std::string quiet_hours;       ///< "20-8,Sat": nothing leaves then
  std::optional<int> digest_minutes;  ///< instead of Limits::window_s
};

/// One message: all that waits for a subscription about one campaign, or about the grid. The last
/// one that an address may get for now is of all its campaigns.
struct Message {
  std::vector<std::int64_t> ids;
  std::vector<int> attempts;  ///< of each of these, before this one
  std::string grid_user, type, identity, severity, subject, body;
  std::optional<std::int64_t> campaign_id;  ///< nothing: of the grid, or of several
  std::vector<std::string> codes;
};

struct Limits {
  double window_s = 60;  ///< events of a campaign within so long are one message
  int per_hour = 30;     ///< messages to an address; what is more waits, and is one message
  std::string tag = "[CIGRI]";
  std::time_t now = 0;  ///< for quiet hours, in local time
  std::string after{};  ///< the user who was served last: those after him come first
};

/// "medium" or "high", as CiGri 3 has them.
std::string SeverityOf(const std::string& code);
/// Codes of severity medium. No event that is sent is of severity low.
const std::vector<std::string>& MediumCodes();
/// The messages that leave now, in their order: one of each user in turn, and of his addresses in
/// turn; first those with something that was never tried. REQUIRES: `waiting` in the order of
/// WaitingNotifications.
std::vector<Message> Due(const std::vector<Waiting>& waiting, const Limits& limits);
/// Seconds until a message that could not be delivered is tried again; nothing: never.
std::optional<double> RetryIn(int attempts, bool permanent);

}  // namespace cigri::notifier
