// Who leads: an advisory lock that lives as long as a session, and an epoch that outlives it.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "db/db.h"

namespace cigri::almighty {

/// The session that holds the leader's lock. Lost with the session: whoever has it must then stop
/// everything it has started.
struct Leadership {
  std::unique_ptr<db::Connection> session;
  std::int64_t epoch = 0;
};

class Candidate {
 public:
  explicit Candidate(std::string conninfo) : conninfo_(std::move(conninfo)) {}
  /// Tries once, without waiting; nothing when another leads. Throws Fatal(kExitUnavailable) or
  /// db::Broken when there is no database, Fatal(kExitConfig) when its schema is not ours.
  std::optional<Leadership> Try();

 private:
  std::string conninfo_;
  std::unique_ptr<db::Connection> connection_;
};

}  // namespace cigri::almighty
