// Ends a wait for a database that does not answer.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

namespace cigri::db {

/// While it lives, what waits on the socket `fd` waits until `limit` at most: then the socket is
/// shut down, and libpq sees a lost connection. A statement_timeout would be the server's, and a
/// server that stands still keeps none. A wait of more than half a second asks `server` ("host=...
/// port=...") whether it answers anybody, then every second; when it does not, the wait ends too,
/// and each OpenSession with that server.
/// Nothing is cancelled: a cancelled COMMIT that waits for its standby would look done here and be
/// lost there.
/// A limit of 0 is none. Thread-safe.
class Deadline {
 public:
  enum class End { kNone, kLimit, kServerSilent };
  Deadline(int fd, std::chrono::milliseconds limit, std::string server);
  ~Deadline();
  Deadline(const Deadline&) = delete;
  /// Why the socket was shut down, if it was.
  End ended() const;

 private:
  std::uint64_t id_ = 0;
};

/// A session of this process: it ends when a wait of another one finds that `server` answers
/// nobody. Else whoever uses it next would wait for seconds, and its notices would not come. To be
/// destroyed before the socket `fd` is closed.
class OpenSession {
 public:
  OpenSession(int fd, std::string server);
  ~OpenSession();
  OpenSession(const OpenSession&) = delete;
  /// It was ended so.
  bool silent() const;

 private:
  std::uint64_t id_ = 0;
};

/// The name of a server, for Deadline: "host='db1' port=5432".
std::string ServerName(const std::string& host, const std::string& port);

}  // namespace cigri::db
