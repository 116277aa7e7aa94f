// What a connection string of ours always says, whoever wrote it.
#pragma once
#include <chrono>
#include <string>
#include <vector>

namespace cigri::db {

/// `conninfo` (keywords or a URI, as libpq reads it) with what it leaves open: connect_timeout and
/// the keepalives, without which a host that has vanished is noticed after two hours, and
/// target_session_attrs=read-write when it names several hosts. What it says itself stays. Returns
/// it unchanged when libpq cannot read it: libpq's own message then says why.
std::string WithConnectionDefaults(const std::string& conninfo);
/// `conninfo` with what it leaves open and the PG* variables of this process say: it names the same
/// database in another shell. Unchanged when libpq cannot read it.
std::string WithEnvironment(const std::string& conninfo);
/// `conninfo` with the host first that gave this process its last session (NoteSession): a standby
/// costs a session that it refuses.
std::string LastServerFirst(const std::string& conninfo);
/// One of several servers: `conninfo` names it alone. `timeout`: 0 is none.
struct Server {
  std::string host, port, conninfo;
  std::chrono::seconds timeout{0};
};
/// The servers that `conninfo` itself names (not PGHOST), in its order; none when that cannot be
/// said: libpq says why.
std::vector<Server> ServersOf(const std::string& conninfo);
/// `server` (ServerName) has given a session that takes writes. Thread-safe.
void NoteSession(const std::string& server);
/// Our environment, and before it what tells PostgreSQL's own programs what `conninfo` says: lines
/// NAME=value.
std::vector<std::string> EnvironmentOf(const std::string& conninfo);

}  // namespace cigri::db
