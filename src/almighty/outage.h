// How long the database was away, for the event of whoever leads after it.
#pragma once
#include <chrono>
#include <optional>

namespace cigri::almighty {

/// What one almighty has seen of the database. It has been away when nobody answered while somebody
/// led; a lost session alone is no outage, and neither is a start.
class Outage {
 public:
  using Clock = std::chrono::steady_clock;
  /// A session of ours has broken.
  void SessionLost(Clock::time_point now = Clock::now());
  /// No server has let us in.
  void NoDatabase(Clock::time_point now = Clock::now());
  /// The database is there, and its leader reports what was.
  void LedByAnother();
  /// We lead since `now`, the last leader did until `last_lease_ended`: how long the database was
  /// away, if it was. Forgets it.
  std::optional<std::chrono::milliseconds> Take(Clock::time_point last_lease_ended,
                                                Clock::time_point now);

 private:
  bool refused_ = false;  // nobody has let us in
  std::optional<Clock::time_point> since_;
};

}  // namespace cigri::almighty
