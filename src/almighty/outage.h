// How long the database was away, for the event of whoever leads after it.
#pragma once
#include <chrono>
#include <optional>

namespace cigri::almighty {

/// What one almighty has seen of the database. It has been away when a session that worked was lost
/// and nobody answered for a while; a lost session alone is no outage, and neither is a start.
class Outage {
 public:
  using Clock = std::chrono::steady_clock;
  /// A session of ours has broken.
  void SessionLost(Clock::time_point now = Clock::now());
  /// No server has let us in.
  void NoDatabase(Clock::time_point now = Clock::now());
  /// The database is there, and its leader reports what was.
  void LedByAnother();
  /// We lead: how long the database was away, if it was. Forgets it.
  std::optional<std::chrono::milliseconds> Take(Clock::time_point now = Clock::now());

 private:
  bool seen_ = false;     // a session of ours has worked
  bool refused_ = false;  // since then nobody has let us in
  std::optional<Clock::time_point> since_;
};

}  // namespace cigri::almighty
