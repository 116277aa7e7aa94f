// The private PostgreSQL of an embedded grid: made on first use, owned by `postgres` when we are
// root, reached through a unix socket that nobody else may enter.
#pragma once
#include <string>

#include "embedded/home.h"

namespace cigri::embedded {

/// True when `home` has a database cluster of its own.
bool HasPostgres(const Home& home);
/// Makes it if there is none, starts it if it does not run; the conninfo, also written to
/// home.conninfo_file(). Any number of processes may call it at once. Throws Fatal with what to do.
std::string StartPostgres(const Home& home);
/// Starts it if it does not run. Throws Fatal, also where there is none: an empty database in the
/// place of one that is away would hide its campaigns.
void RestartPostgres(const Home& home);
/// Ends it (fast: open transactions are rolled back). Nothing when it does not run.
void StopPostgres(const Home& home);
/// Path of PostgreSQL's program `name` ("pg_dump"): of the version of the private server of `home`,
/// else the newest that is installed.
std::string PostgresProgram(const Home* home, const std::string& name);
/// The process of the running server, 0 when there is none.
int PostgresPid(const Home& home);

}  // namespace cigri::embedded
