// How a session begins where several servers may be the one that takes writes.
#pragma once
#include <pqxx/pqxx>
#include <string>

namespace cigri::db {

/// Asks the servers of a connection string in their order, as RFC 8305 asks addresses: the next one
/// when one has refused, and also, together with it, when it is silent for a quarter of a second.
/// libpq waits for each of them until its connect_timeout is over. Who has refused is asked again
/// while another one is silent: it may become the primary meanwhile. The first session that one
/// gives (a standby gives none where target_session_attrs says so) is taken. A name that has
/// several addresses is one server, with one connect_timeout. Throws pqxx::broken_connection with
/// what each of them said.
class FirstServer : public pqxx::connectionpolicy {
 public:
  using connectionpolicy::connectionpolicy;
  handle do_startconnect(handle existing) override;
  handle do_disconnect(handle existing) noexcept override;
  /// What libpq says last of the session; libpqxx says what it could not do without one.
  std::string LastWords() const;

 private:
  handle session_ = nullptr;
};

class PqxxConnection : public pqxx::connection_base {
 public:
  explicit PqxxConnection(const std::string& conninfo)
      : connection_base(servers_), servers_(conninfo) {
    init();
  }
  ~PqxxConnection() noexcept { close(); }
  /// How it ended: "the database session has ended: terminating connection due to ...".
  std::string HowItEnded() const;

 private:
  FirstServer servers_;
};

}  // namespace cigri::db
