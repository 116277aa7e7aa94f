// What a connection string of ours always says, whoever wrote it.
#pragma once
#include <string>

namespace cigri::db {

/// `conninfo` (keywords or a URI, as libpq reads it) with what it leaves open: connect_timeout and
/// the keepalives, without which a host that has vanished is noticed after two hours, and
/// target_session_attrs=read-write when it names several hosts. What it says itself stays. Returns
/// it unchanged when libpq cannot read it: libpq's own message then says why.
std::string WithConnectionDefaults(const std::string& conninfo);
/// `conninfo` with its hosts in the order in which a new session should try them: first the one that
/// gave this process its last session (NoteSession), last those that answered nobody when it asked
/// (WasSilent). A standby costs a session that it refuses, a silent server the connect_timeout.
std::string LikelyServersFirst(const std::string& conninfo);
/// `server` (ServerName) has given a session that takes writes. Thread-safe.
void NoteSession(const std::string& server);
/// Sets the environment variables that tell PostgreSQL's own programs what `conninfo` says.
void ExportConninfo(const std::string& conninfo);

}  // namespace cigri::db
