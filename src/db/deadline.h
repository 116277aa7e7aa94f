// Ends a wait for a database that does not answer.
#pragma once
#include <chrono>
#include <cstdint>

namespace cigri::db {

/// While it lives, what waits on the socket `fd` waits until `limit` at most: then the socket is
/// shut down, and libpq sees a lost connection. A statement_timeout would be the server's, and a
/// server that stands still keeps none. Nothing is cancelled: a cancelled COMMIT that waits for its
/// standby would look done here and be lost there. A limit of 0 is none. Thread-safe.
class Deadline {
 public:
  Deadline(int fd, std::chrono::milliseconds limit);
  ~Deadline();
  Deadline(const Deadline&) = delete;
  /// Whether the limit has passed and the socket was shut down.
  bool passed() const;

 private:
  std::uint64_t id_ = 0;
};

}  // namespace cigri::db
