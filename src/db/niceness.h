// The priority of the server process behind a session.
#pragma once

namespace cigri::db {

/// Makes the server process of a session as nice as our own process, or nicer, where both run on
/// this machine and we may: work that lets others go first, or goes first, does so in the database,
/// too.
class Niceness {
 public:
  Niceness() = default;
  /// `socket` of the session, `backend` its server process as the server numbers it, which is to be
  /// `nicer` than we are.
  Niceness(int socket, int backend, int nicer);
  /// Says it again, if the kernel did not hear it yet.
  void Repeat();

 private:
  void Say();
  int backend_ = 0;  // 0: there is nothing to say
  int nice_ = 0;
};

}  // namespace cigri::db
