// What a connection string of ours always says, whoever wrote it.
#pragma once
#include <string>

namespace cigri::db {

/// `conninfo` (keywords or a URI, as libpq reads it) with what it leaves open: connect_timeout and
/// the keepalives, without which a host that has vanished is noticed after two hours, and
/// target_session_attrs=read-write when it names several hosts. What it says itself stays. Returns
/// it unchanged when libpq cannot read it: libpq's own message then says why.
std::string WithConnectionDefaults(const std::string& conninfo);
/// `conninfo` with those of its hosts last that answered nobody when this process asked (WasSilent):
/// each would cost a new session its connect_timeout, although another one answers.
std::string SilentServersLast(const std::string& conninfo);
/// Sets the environment variables that tell PostgreSQL's own programs what `conninfo` says.
void ExportConninfo(const std::string& conninfo);

}  // namespace cigri::db
